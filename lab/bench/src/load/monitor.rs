//! Threads that wait for each other: a lock and two condition variables.

use super::body::Load;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Workload};
use anyhow::ensure;

/// What is to be notified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tell {
    /// No thread.
    Nobody,
    /// One waiter for this condition.
    One(usize),
    /// All of them.
    All(usize),
}

impl Tell {
    /// Notifies them, by these functions, whose results are ignored.
    #[inline]
    pub(crate) fn by<A, B>(self, one: impl FnOnce(usize) -> A, all: impl FnOnce(usize) -> B) {
        match self {
            Tell::Nobody => {}
            Tell::One(condition) => {
                one(condition);
            }
            Tell::All(condition) => {
                all(condition);
            }
        }
    }
}

/// A lock with data inside, and the condition variables 0 and 1.
pub trait Monitor<T>: Sync + 'static {
    /// Creates an unlocked one.
    fn new(value: T) -> Self;
    /// Acquires, sleeps on a condition variable while `wait` is true, runs `f`, notifies whom `f` names, releases.
    fn enter<R>(&self, on: usize, wait: impl FnMut(&mut T) -> bool, f: impl FnOnce(&mut T) -> (R, Tell)) -> R;
}

/// How threads wait for each other.
pub trait Pattern: Copy + Send + Sync + 'static {
    /// What they share.
    type State: Send + 'static;

    /// Returns the state before the first turn.
    fn state(threads: usize) -> Self::State;
    /// Returns the condition variable that a thread waits on.
    fn waits_on(thread: usize, threads: usize) -> usize;
    /// Returns whether it is not yet the thread's turn, its `turn`th.
    fn waits(state: &Self::State, thread: usize, threads: usize, turn: u64) -> bool;
    /// Takes the turn.
    fn take(state: &mut Self::State, thread: usize, threads: usize) -> Tell;
}

/// Two threads by turns: request and answer.
#[derive(Clone, Copy)]
pub struct PingPong;

impl Pattern for PingPong {
    /// The thread whose turn it is.
    type State = usize;

    fn state(_threads: usize) -> usize {
        0
    }
    fn waits_on(thread: usize, _threads: usize) -> usize {
        thread
    }
    fn waits(whose: &usize, thread: usize, _threads: usize, _turn: u64) -> bool {
        *whose != thread
    }
    fn take(whose: &mut usize, thread: usize, _threads: usize) -> Tell {
        *whose = 1 - thread;
        Tell::One(1 - thread)
    }
}

/// A queue with room for 64: the first half of the threads put something in, the others take something out.
#[derive(Clone, Copy)]
pub struct Queue;

const ROOM: usize = 64;

impl Queue {
    fn puts(thread: usize, threads: usize) -> bool {
        thread < threads / 2
    }
}

impl Pattern for Queue {
    /// What is in it.
    type State = usize;

    fn state(_threads: usize) -> usize {
        0
    }
    fn waits_on(thread: usize, threads: usize) -> usize {
        usize::from(!Queue::puts(thread, threads))
    }
    fn waits(filled: &usize, thread: usize, threads: usize, _turn: u64) -> bool {
        *filled == if Queue::puts(thread, threads) { ROOM } else { 0 }
    }
    fn take(filled: &mut usize, thread: usize, threads: usize) -> Tell {
        if Queue::puts(thread, threads) {
            *filled += 1;
            Tell::One(1)
        } else {
            *filled -= 1;
            Tell::One(0)
        }
    }
}

/// The first thread notifies all others at once, and waits until each has received it.
#[derive(Clone, Copy)]
pub struct Broadcast;

/// What the threads of a broadcast share.
pub struct Rounds {
    /// Broadcasts made.
    made: u64,
    /// Threads that have received the last one.
    heard: usize,
}

impl Pattern for Broadcast {
    type State = Rounds;

    fn state(threads: usize) -> Rounds {
        Rounds { made: 0, heard: threads - 1 }
    }
    fn waits_on(thread: usize, _threads: usize) -> usize {
        usize::from(thread == 0)
    }
    fn waits(rounds: &Rounds, thread: usize, threads: usize, turn: u64) -> bool {
        if thread == 0 { rounds.heard < threads - 1 } else { rounds.made == turn }
    }
    fn take(rounds: &mut Rounds, thread: usize, threads: usize) -> Tell {
        if thread == 0 {
            (rounds.made, rounds.heard) = (rounds.made + 1, 0);
            return Tell::All(0);
        }
        rounds.heard += 1;
        if rounds.heard == threads - 1 { Tell::One(1) } else { Tell::Nobody }
    }
}

/// What the monitor protects.
pub struct Inside<S> {
    state: S,
    /// Turns taken.
    turns: u64,
    /// The sample is over: no thread waits any more, and the state stays as it is.
    over: bool,
    /// A thread took another thread's turn.
    early: bool,
}

/// Runs one sample of `plan` with a fresh monitor.
///
/// # Errors
/// When a thread cannot be started, when turns got lost, or when a wait ended too early.
pub fn sample<M: Monitor<Inside<T::State>>, T: Pattern>(plan: &Plan) -> anyhow::Result<Outcome> {
    run::sample(plan, Load::<(Turns, M, T), _>::of(plan.threads))
}

/// The kind of the workload; besides it, the number of threads.
enum Turns {}

/// A thread's private state.
struct Local {
    thread: usize,
    /// Turns that it has taken.
    turns: u64,
}

impl<T: Pattern, M: Monitor<Inside<T::State>>> Workload for Load<(Turns, M, T), usize> {
    type Shared = M;
    type Local = Local;

    fn shared(self) -> M {
        M::new(Inside { state: T::state(self.body), turns: 0, over: false, early: false })
    }

    fn local(self, _roles: Roles, thread: usize) -> Local {
        Local { thread, turns: 0 }
    }

    /// The wait is for the turn.
    #[inline(always)]
    fn operate<P: Probe>(self, monitor: &M, local: &mut Local, probe: &mut P) -> Kind {
        let (thread, threads, turn) = (local.thread, self.body, local.turns);
        let asked = probe.mark();
        let acquired = monitor.enter(
            T::waits_on(thread, threads),
            |inside| !inside.over && T::waits(&inside.state, thread, threads, turn),
            |inside| {
                let acquired = probe.mark();
                inside.turns += 1;
                if inside.over {
                    return (acquired, Tell::Nobody);
                }
                inside.early |= T::waits(&inside.state, thread, threads, turn);
                (acquired, T::take(&mut inside.state, thread, threads))
            },
        );
        local.turns += 1;
        probe.record(Kind::Write, asked, acquired);
        Kind::Write
    }

    fn stop(monitor: &M) {
        for condition in [0, 1] {
            monitor.enter(
                condition,
                |_| false,
                |inside| {
                    inside.over = true;
                    ((), Tell::All(condition))
                },
            );
        }
    }

    /// Checks that no turn was lost, and that none was taken too early.
    fn check(monitor: &M, done: Counts, _torn: bool) -> anyhow::Result<()> {
        let (turns, early) = monitor.enter(0, |_| false, |inside| ((inside.turns, inside.early), Tell::Nobody));
        ensure!(!early, "a wait ended although what it was for had not happened");
        let total = done.write;
        ensure!(
            turns == total,
            "the lock let two threads in at once: {total} turns, but the data behind it count {turns}"
        );
        Ok(())
    }
}
