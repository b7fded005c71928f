//! All that is not memory of the threads: what each is about to do, which sleep where, what time it is, and what the
//! environment may still do to them.

use super::setting::{Machine, Size};
use std::cell::Cell;
use std::ptr::null;
use turnwise::platform::{Lane, Parked};

/// Threads that a check may have.
pub(super) const THREADS: usize = 5;
/// Words that a loop may poll between two pauses.
const READS: usize = 4;
/// Ranges of memory that may be freed in one run.
pub(super) const GRAVES: usize = 3;

/// What a suspended thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pending {
    /// Something that no other thread sees.
    Local,
    /// An operation that others may see.
    Operation,
    /// To check a word, and to sleep if it is as expected.
    Park,
    /// To ask whether another thread runs.
    Ask,
    /// To read the clock, which may jump.
    Clock,
    /// To fork, perhaps.
    Fork,
    /// To poll again, after an unsuccessful poll: not before a polled word has changed. Or its spin ends.
    Vain {
        deadline: bool,
        owner: bool,
    },
    Asleep {
        word: usize,
        lane: Lane,
        deadline: Option<u64>,
    },
    /// Nothing, before the process forks.
    Unborn,
    /// Nothing, ever again.
    Stopped,
    Done,
}

/// One way to continue from a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) thread: u8,
    pub(super) alternative: u8,
    /// Time passes or a signal comes: no thread may depend on that to make progress.
    pub(super) rescue: bool,
}

/// Alternatives of a thread after an unsuccessful poll, and of a sleeper.
const LOOK: u8 = 0;
pub(super) const DEADLINE: u8 = 1;
pub(super) const NOT_RUNNING: u8 = 2;
const TIMED_OUT: u8 = 1;
const INTERRUPTED: u8 = 2;
const UNWOKEN: u8 = 3;
/// Of the first thread, where it may be stopped.
const STOPPED: u8 = 4;

#[derive(Clone, Copy)]
pub(super) struct Thread {
    pub(super) pending: Pending,
    pub(super) parked: Parked,
    /// The next operation follows without a pause.
    pub(super) pass: bool,
    /// What it found since its last pause, and whether that is no reason to wait: it did something itself, or saw a
    /// word change, or read too many.
    reads: [(usize, u64); READS],
    pub(super) read: usize,
    pub(super) unsteady: bool,
    /// The counter that counts it inside of a section up to its next operation, or null.
    pub(super) leaves: *const Cell<u32>,
}

impl Thread {
    pub(super) fn forget_reads(&mut self) {
        (self.read, self.unsteady) = (0, false);
    }

    pub(super) fn note_read(&mut self, at: usize, value: u64) {
        match self.reads[..self.read].iter().find(|known| known.0 == at) {
            Some(known) => self.unsteady |= known.1 != value,
            None if self.read == READS => self.unsteady = true,
            None => {
                self.reads[self.read] = (at, value);
                self.read += 1;
            }
        }
    }

    fn may_look_again(&self) -> bool {
        self.unsteady || self.reads[..self.read].iter().any(|&(at, value)| peek(at) != value)
    }
}

/// All that is not memory of the threads.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) threads: [Thread; THREADS],
    /// Longest sleeper first.
    pub(super) sleepers: [u8; THREADS],
    pub(super) asleep: usize,
    pub(super) clock: u64,
    /// How often the environment may still act on the threads.
    pub(super) left: Size,
    /// The first thread may be stopped before each operation, and not only where it sleeps.
    pub(super) stops_anywhere: bool,
    pub(super) generation: u8,
    pub(super) graves: [(usize, usize); GRAVES],
    pub(super) buried: usize,
}

impl State {
    /// Creates the initial state. `threads`: whether each begins after a fork.
    pub(super) fn new(threads: &[bool], size: Size) -> Self {
        let pending = |later: &bool| if *later { Pending::Unborn } else { Pending::Local };
        let thread = |index| Thread {
            pending: threads.get(index).map_or(Pending::Done, pending),
            parked: Parked::Woken,
            pass: false,
            reads: [(0, 0); READS],
            read: 0,
            unsteady: false,
            leaves: null(),
        };
        State {
            threads: std::array::from_fn(thread),
            sleepers: [0; THREADS],
            asleep: 0,
            clock: 1,
            left: size,
            stops_anywhere: false,
            generation: 0,
            graves: [(0, 0); GRAVES],
            buried: 0,
        }
    }

    /// Appends all of it as words. What a thread read counts only while it waits for that to change: until then it adds
    /// nothing to the thread's stack, or costs it one more unsuccessful poll.
    pub(super) fn words(&self, out: &mut Vec<u64>) {
        let Size { jumps, timeouts, interrupts, unwoken, forks, stops, .. } = self.left;
        let budgets = [jumps, timeouts, interrupts, unwoken, forks, stops];
        out.push(budgets.iter().fold(u64::from(self.generation), |all, &budget| all << 8 | u64::from(budget)));
        out.push(self.clock << 1 | u64::from(self.stops_anywhere));
        for thread in &self.threads {
            let kind = match thread.pending {
                Pending::Local => 0,
                Pending::Operation => 1,
                Pending::Ask => 5,
                Pending::Clock => 6,
                Pending::Fork => 7,
                Pending::Vain { deadline, owner } => 2 | u64::from(deadline) << 8 | u64::from(owner) << 9,
                Pending::Asleep { lane, .. } => 3 | (lane as u64) << 8,
                Pending::Done => 4,
                Pending::Unborn => 8,
                Pending::Park => 9,
                Pending::Stopped => 10,
            };
            out.push(kind | u64::from(thread.pass) << 24);
            match thread.pending {
                Pending::Vain { .. } => {
                    out.push(thread.unsteady.into());
                    thread.reads[..thread.read].iter().for_each(|&(at, value)| out.extend([at as u64, value]));
                }
                Pending::Asleep { word, deadline, .. } => out.extend([word as u64, deadline.unwrap_or(0)]),
                _ => {}
            }
        }
        out.extend(self.sleepers[..self.asleep].iter().map(|&thread| u64::from(thread) + 1));
        self.graves[..self.buried].iter().for_each(|&(from, to)| out.extend([from as u64, to as u64]));
    }

    pub(super) fn all_done(&self) -> bool {
        self.threads.iter().all(|t| matches!(t.pending, Pending::Done | Pending::Unborn | Pending::Stopped))
    }

    pub(super) fn is_done(&self, thread: usize) -> bool {
        self.threads[thread].pending == Pending::Done
    }

    /// Finds all ways to continue. A thread whose next step no other thread sees is scheduled alone, since the order
    /// makes no difference; returns `true` then.
    pub(super) fn choices(&self, machine: &Machine, out: &mut Vec<Choice>) -> bool {
        if let Some(thread) = self.threads.iter().position(|t| t.pending == Pending::Local) {
            out.push(Choice { thread: thread as u8, alternative: 0, rescue: false });
            return true;
        }
        let first = out.len();
        for (thread, t) in (0..).zip(&self.threads) {
            let mut add = |alternative, rescue| out.push(Choice { thread, alternative, rescue });
            if thread == 0 && self.may_stop(t.pending) {
                add(STOPPED, true);
            }
            match t.pending {
                Pending::Operation | Pending::Park => add(0, false),
                Pending::Ask => (0..2).for_each(|answer| add(answer, false)),
                Pending::Clock => (0..1 + self.left.jumps.min(1)).for_each(|jump| add(jump, false)),
                Pending::Fork => (0..1 + self.left.forks.min(1)).for_each(|child| add(child, false)),
                Pending::Vain { deadline, owner } => {
                    if t.may_look_again() {
                        add(LOOK, false);
                    }
                    if deadline {
                        add(DEADLINE, false);
                    }
                    if owner {
                        add(NOT_RUNNING, false);
                    }
                }
                Pending::Asleep { deadline, .. } => {
                    if deadline.is_some() && self.left.timeouts > 0 {
                        add(TIMED_OUT, !machine.time_helps);
                    }
                    if self.left.interrupts > 0 {
                        add(INTERRUPTED, true);
                    }
                    if self.left.unwoken > 0 {
                        add(UNWOKEN, true);
                    }
                }
                Pending::Local | Pending::Unborn | Pending::Stopped | Pending::Done => {}
            }
        }
        let time_passes = self.threads[0].pending == Pending::Stopped || machine.naps_end;
        if time_passes && out[first..].iter().all(|choice| choice.rescue) {
            out.extend(self.next_deadline());
        }
        false
    }

    /// Returns whether a thread that is about to do this may be stopped.
    fn may_stop(&self, pending: Pending) -> bool {
        let asleep = matches!(pending, Pending::Park | Pending::Asleep { .. });
        let over = matches!(pending, Pending::Unborn | Pending::Stopped | Pending::Done);
        self.left.stops > 0 && !over && (asleep || self.stops_anywhere)
    }

    /// Returns the sleeper whose deadline passes next.
    fn next_deadline(&self) -> Option<Choice> {
        let asleep = (0..).zip(&self.threads).filter_map(|(thread, t)| match t.pending {
            Pending::Asleep { deadline, .. } => Some((deadline?, thread)),
            _ => None,
        });
        asleep.min().map(|(_, thread)| Choice { thread, alternative: TIMED_OUT, rescue: false })
    }

    /// Updates the bookkeeping for a choice before the thread continues.
    pub(super) fn begin(&mut self, Choice { thread, alternative, .. }: Choice) {
        let thread = usize::from(thread);
        let pending = self.threads[thread].pending;
        if matches!(pending, Pending::Asleep { .. }) {
            self.leave_queue(thread);
        }
        if alternative == STOPPED {
            self.left.stops -= 1;
            self.threads[thread].pending = Pending::Stopped;
            return;
        }
        let Pending::Asleep { deadline, .. } = pending else { return };
        self.threads[thread].parked = match alternative {
            TIMED_OUT => {
                let at = deadline.expect("only a sleeper with a deadline times out");
                self.left.timeouts = self.left.timeouts.saturating_sub(1);
                self.clock = self.clock.max(at);
                Parked::TimedOut
            }
            INTERRUPTED => {
                self.left.interrupts -= 1;
                Parked::Interrupted
            }
            _ => {
                self.left.unwoken -= 1;
                Parked::Woken
            }
        };
    }

    pub(super) fn is_stopped(&self, thread: usize) -> bool {
        self.threads[thread].pending == Pending::Stopped
    }

    fn leave_queue(&mut self, thread: usize) {
        let line = &mut self.sleepers[..self.asleep];
        let place = line.iter().position(|&s| usize::from(s) == thread).expect("a sleeper stands in line");
        line[place..].rotate_left(1);
        self.asleep -= 1;
    }

    pub(super) fn in_queue(&self, at: usize, lane: Option<Lane>) -> Option<usize> {
        self.sleepers[..self.asleep].iter().map(|&s| usize::from(s)).find(|&s| {
            matches!(self.threads[s].pending, Pending::Asleep { word, lane: its, .. }
                if word == at && lane.is_none_or(|lane| lane == its))
        })
    }

    pub(super) fn wake(&mut self, thread: usize) {
        self.leave_queue(thread);
        self.threads[thread].parked = Parked::Woken;
        self.threads[thread].pending = Pending::Local;
    }
}

/// Returns the value of the word at `at`, whose lowest bit, never set in the address of a word, means 64 bits.
fn peek(at: usize) -> u64 {
    // SAFETY: threads look at words in the arena and at no others, in a loop or not.
    unsafe {
        if at & 1 != 0 {
            std::ptr::with_exposed_provenance::<u64>(at & !1).read_volatile()
        } else {
            u64::from(std::ptr::with_exposed_provenance::<u32>(at).read_volatile())
        }
    }
}
