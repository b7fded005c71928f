//! Putting a thread to sleep on a futex and waking it, with the calls that our locks use.

use super::clock::now;
use super::team::{Broken, Team, together};
use anyhow::Result;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;
use turnwise::platform::{Lane, Native, Platform};

/// What runs alongside the sleeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beside {
    /// Nothing: its CPU is idle when it is woken.
    Nothing,
    /// A thread that spins. The sleeper is in the batch class, so that it does not preempt at once.
    Spinner,
    /// The waker itself. The sleeper is in the batch class.
    Waker,
}

/// Which thread to wake where, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) waker: u32,
    pub(super) sleeper: u32,
    pub(super) beside: Beside,
    /// How long the sleeper sleeps: from the first to the second, evenly.
    pub(super) slept_ns: (u64, u64),
    /// Wake-ups that come first and do not count.
    pub(super) before: u32,
    pub(super) samples: u32,
}

impl Plan {
    fn wake_ups(&self) -> u32 {
        self.before + self.samples
    }
}

/// The times of one wake-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wakeup {
    /// The call that wakes.
    pub(super) call_ns: f64,
    /// From before that call until the sleeper runs again.
    pub(super) until_runs_ns: f64,
}

#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// What waker, sleeper and spinner share.
#[derive(Default)]
struct Bed {
    /// The word to sleep on: the number of the last wake-up.
    word: Apart<AtomicU32>,
    /// The sleeper is about to sleep for the wake-up of this number.
    sleeps: Apart<AtomicU32>,
    ran_at: Apart<AtomicU64>,
    /// The spinner keeps its CPU.
    busy: Apart<AtomicBool>,
    over: AtomicBool,
}

/// Wakes a thread `samples` times. Times at which the sleeper was not yet asleep do not count.
///
/// # Errors
/// A thread cannot be started or pinned.
pub(super) fn wake_ups(plan: Plan) -> Result<Vec<Wakeup>> {
    let bed = Bed::default();
    let mut cpus = vec![plan.waker, plan.sleeper];
    if plan.beside == Beside::Spinner {
        cpus.push(plan.sleeper);
    }
    let member = |place: usize, team: &Team| match place {
        0 => {
            // However it ends, the others must.
            let wakeups = bed.wakes(plan, team);
            bed.over.store(true, SeqCst);
            wakeups
        }
        1 => {
            bed.sleeps(plan);
            Ok(Vec::new())
        }
        _ => {
            bed.spins();
            Ok(Vec::new())
        }
    };
    Ok(together(&cpus, member)?.swap_remove(0))
}

impl Bed {
    fn sleeps(&self, plan: Plan) {
        if plan.beside != Beside::Nothing {
            batch_class();
        }
        for number in 1..=plan.wake_ups() {
            self.sleeps.0.store(number, SeqCst);
            while self.word.0.load(SeqCst) != number {
                Native::park(&self.word.0, number - 1, Lane::Waiters, None);
            }
            self.ran_at.0.store(now(), SeqCst);
        }
        self.sleeps.0.store(plan.wake_ups() + 1, SeqCst);
    }

    /// Lets the sleeper have the CPU where it is the waker's own.
    fn until(&self, plan: Plan, team: &Team, ready: impl Fn() -> bool) -> Result<(), Broken> {
        if plan.beside != Beside::Waker {
            return team.until(ready);
        }
        team.until_yielding(ready)?;
        // It has announced it, but has not called the kernel yet.
        (0..3).for_each(|_| thread::yield_now());
        Ok(())
    }

    fn wakes(&self, plan: Plan, team: &Team) -> Result<Vec<Wakeup>, Broken> {
        let mut wakeups = Vec::new();
        for number in 1..=plan.wake_ups() {
            let asleep = || self.sleeps.0.load(SeqCst) == number;
            self.until(plan, team, asleep)?;
            let (shortest, longest) = plan.slept_ns;
            let slept_ns = shortest + (longest - shortest) * u64::from(number % plan.samples) / u64::from(plan.samples);
            spin_ns(slept_ns / 2);
            self.busy.0.store(true, SeqCst);
            spin_ns(slept_ns / 2);
            self.word.0.store(number, SeqCst);
            let begin = now();
            let woken = Native::wake(&self.word.0, Lane::Waiters, 1);
            let end = now();
            self.busy.0.store(false, SeqCst);
            let again = || self.sleeps.0.load(SeqCst) == number + 1;
            self.until(plan, team, again)?;
            if woken == 1 && number > plan.before {
                let ran_at = self.ran_at.0.load(SeqCst);
                let since = |time: u64| time.saturating_sub(begin) as f64;
                wakeups.push(Wakeup { call_ns: since(end), until_runs_ns: since(ran_at) });
            }
        }
        Ok(wakeups)
    }

    fn spins(&self) {
        while !self.over.load(SeqCst) {
            match self.busy.0.load(SeqCst) {
                true => std::hint::spin_loop(),
                false => thread::yield_now(),
            }
        }
    }
}

fn spin_ns(ns: u64) {
    let end = now() + ns;
    while now() < end {
        std::hint::spin_loop();
    }
}

/// Puts the calling thread into the batch class: when woken, it does not preempt threads with which it shares a CPU.
fn batch_class() {
    // SAFETY: all bytes zero is a valid parameter, the one that the class wants; it is only read.
    unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameter);
    }
}

/// Makes two threads on one CPU wake each other in turn, `hops` times in all. Returns the time of a hop for each batch:
/// a call that wakes, one that sleeps, and a switch from one to the other.
///
/// # Errors
/// A thread cannot be started or pinned.
pub(super) fn ping_pong(cpu: u32, batches: u32, hops: u32) -> Result<Vec<f64>> {
    let word = [Apart(AtomicU32::new(0)), Apart(AtomicU32::new(0))];
    let member = |place: usize, _: &Team| {
        batch_class();
        let (mine, other) = (&word[place].0, &word[1 - place].0);
        let mut times = Vec::new();
        for batch in 0..batches {
            let begin = now();
            for hop in 1..=hops / 2 {
                let number = batch * (hops / 2) + hop;
                if place == 0 {
                    other.store(number, SeqCst);
                    Native::wake(other, Lane::Waiters, 1);
                }
                while mine.load(SeqCst) != number {
                    Native::park(mine, number - 1, Lane::Waiters, None);
                }
                if place == 1 {
                    other.store(number, SeqCst);
                    Native::wake(other, Lane::Waiters, 1);
                }
            }
            times.push((now() - begin) as f64 / f64::from(hops));
        }
        Ok(times)
    };
    Ok(together(&[cpu, cpu], member)?.swap_remove(0))
}
