//! What the engine knows about a thread: where it is, what it waits for, which sections it is in.

use super::charge::{Doing, Scope};
use super::fibers::Suspender;
use crate::spec::Ps;
use std::fmt::Write;
use std::panic::Location;
use turnwise::platform::{Lane, Parked};

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At {
    /// In the queue of its CPU.
    Ready,
    /// On its CPU.
    Running,
    /// Asleep on a word, or until its alarm.
    Asleep { word: Option<usize>, lane: Lane },
    /// Its body has returned.
    Ended,
}

/// A thread. The order of fields puts what each event reads on one line of the host.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// How it suspends itself, once it has begun.
    pub(super) suspender: *const Suspender,
    pub(crate) scope: Scope,
    pub(crate) spin_ended: SpinEnded,
    /// The CPU that it is on, or was on last.
    pub(crate) cpu: u32,
    pub(crate) sections: Sections,
    /// CPU time had, weighed as the scheduler does.
    pub(super) vruntime: Ps,
    /// Alarms with another number are void.
    pub(crate) alarm: u32,
    pub(crate) bound: bool,
    pub(crate) at: At,
    /// The rest of its computation, and what that is.
    pub(super) rest: Option<(Ps, Doing)>,
    pub(crate) watch: Option<Watch>,
    pub(crate) parked: Parked,
    pub(crate) asks: Option<(u32, Ps)>,
    /// When its CPU had switched away from it, or will have.
    pub(super) off_at: Ps,
    /// Since when its CPU has been able to look ahead at what comes next.
    pub(super) ahead_from: Ps,
    /// The place in the source of its last park.
    pub(crate) parked_at: Option<&'static std::panic::Location<'static>>,
}

impl Thread {
    pub(crate) fn new(cpu: u32, bound: bool) -> Thread {
        Thread {
            at: At::Ready,
            cpu,
            bound,
            vruntime: 0,
            rest: None,
            watch: None,
            spin_ended: SpinEnded::Rescheduled,
            parked: Parked::Woken,
            alarm: 0,
            asks: None,
            off_at: 0,
            ahead_from: 0,
            parked_at: None,
            sections: Sections::default(),
            scope: Scope::default(),
            suspender: std::ptr::null(),
        }
    }
}

/// What a spinning thread waits for.
pub(crate) struct Watch {
    lines: [u32; 2],
    count: u8,
    /// Whether it also ends when another thread wants its CPU.
    pub(super) need_resched: bool,
    /// Whether its wait is over, by the present values. Lives on the stack of the suspended thread.
    pub(super) ready: *mut dyn FnMut() -> bool,
}

impl Watch {
    /// # Safety
    /// `ready` stays in place until [`Engine::watch`]'s suspension ends.
    pub(crate) unsafe fn new(
        line: u32,
        other: Option<u32>,
        need_resched: bool,
        ready: *mut dyn FnMut() -> bool,
    ) -> Watch {
        Watch { lines: [line, other.unwrap_or(0)], count: 1 + u8::from(other.is_some()), need_resched, ready }
    }

    pub(super) fn lines(&self) -> &[u32] {
        &self.lines[..self.count as usize]
    }
}

/// Why a parked spinner continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpinEnded {
    /// A line was written, and its copy has come.
    Reloaded,
    /// Its time is over, or another thread wants its CPU.
    Deadline,
    /// It was preempted, and runs again.
    Rescheduled,
}

pub(super) type CallSite = &'static Location<'static>;

/// The sections that a thread is in.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sections {
    /// How many sections with preemption off it is in.
    pub(super) depth: u32,
    /// Calls into the kernel: in one of them the thread may sleep.
    pub(super) calls: u32,
    /// Where the outermost section began.
    pub(super) since: Option<CallSite>,
}

impl Sections {
    pub(super) fn any(&self) -> bool {
        self.depth > 0 || self.calls > 0
    }

    /// Notes that preemption is off, in a report or a panic.
    pub(super) fn describe(&self, text: &mut String) {
        if let Some(since) = self.since.filter(|_| self.depth > 0) {
            let _ = write!(text, ", with preemption off since {}:{}", since.file(), since.line());
        }
    }
}
