//! What a thread does with a lock, written once for both engines. The models and the checks state how many threads do
//! what, on which machine, and what must be seen.

mod rwsem;
mod shared;

pub(crate) use rwsem::{read_first, role};
pub(crate) use shared::{Pages, Role, read, shared_role, tries, write};

use crate::platform::saw;
use Who::Writer;
use turnwise::platform::{Deadline, Platform};
use turnwise::raw::{RawLock, RawTimedLock};
use turnwise::reentrant::Threads;
use turnwise::{RawBigReaderLock, RawMutex, RawReentrantMutex, RawRwSem, Semaphore};

/// An engine, as its threads see it.
pub(crate) trait Engine: Platform {
    /// What a lock protects.
    type Section: Section;

    /// A point in time that the clock stays below, even if it jumps, unless a sleeper's time runs out.
    const SOON: Deadline;

    /// Fails if this does not hold, where one more operation does not make another scenario.
    fn expect(what: impl FnOnce() -> bool, or: &str);
}

/// As what a thread is inside.
#[derive(Clone, Copy)]
pub(crate) enum Who {
    Writer,
    Reader,
    /// A reader that may write next.
    Upgradable,
}

/// What a lock protects. Each call is made in the step of the operation before it, so that no thread intervenes.
pub(crate) trait Section: 'static {
    fn new() -> Self;

    /// A thread enters and does its work (`by` 1), or reads once more and leaves (-1).
    fn count(&self, who: Who, by: i32);

    /// The single owner enters and does its work, which is counted.
    fn alone(&self);

    /// A thread leaves with its next operation, which releases the lock.
    fn leave(&self, who: Who) {
        self.count(who, -1);
    }
}

/// The stage on which a scene runs.
pub(crate) trait Stage {
    /// The machine.
    type P: Platform;

    /// Puts `value` where all threads see it to the end.
    fn keep<T: 'static>(&self, value: T) -> &'static T;

    /// Adds a thread.
    fn spawn(&self, body: impl FnOnce() + Copy + 'static);

    /// Adds what holds when all threads are done.
    fn at_end(&self, holds: impl Fn() + 'static);
}

/// A lock that begins with a word of 32 bits.
///
/// # Safety
/// It is `repr(C)`, and its first field is that word.
pub(crate) unsafe trait FirstWord<P: Platform>: Sized {
    /// Returns the word.
    fn word(&self) -> &P::U32 {
        // SAFETY: guaranteed by the implementer.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }
}

// SAFETY: the word comes first in the `repr(C)` lock.
unsafe impl<P: Platform> FirstWord<P> for RawMutex<P> {}
// SAFETY: the word comes first in the `repr(C)` lock.
unsafe impl<P: Platform> FirstWord<P> for RawRwSem<P> {}
// SAFETY: the word of the gate comes first in the `repr(C)` lock.
unsafe impl<P: Platform> FirstWord<P> for RawBigReaderLock<2, P> {}
// SAFETY: the word comes first in the `repr(C)` lock.
unsafe impl<const FAIR: bool, P: Platform> FirstWord<P> for Semaphore<FAIR, P> {}

/// A lock, and what it protects.
pub(crate) struct Guarded<L: RawLock<Platform: Engine>> {
    pub(crate) raw: L,
    pub(crate) section: <L::Platform as Engine>::Section,
}

impl<L: RawLock<Platform: Engine>> Guarded<L> {
    pub(crate) fn new() -> Self {
        Guarded { raw: L::new_in(), section: Section::new() }
    }

    /// Acquires the lock, and does the work.
    pub(crate) fn enter(&self) {
        self.raw.lock();
        self.section.alone();
    }

    pub(crate) fn round(&self) {
        self.raw.lock();
        self.leave();
    }

    /// Does the work of a thread that has the lock, and releases it.
    pub(crate) fn leave(&self) {
        self.section.alone();
        self.release();
    }

    /// Releases the lock, when its work is done.
    pub(crate) fn release(&self) {
        self.section.leave(Writer);
        // SAFETY: the caller has the lock.
        unsafe { self.raw.unlock() };
    }
}

impl<E: Engine> Guarded<RawMutex<E>> {
    /// Does that work, and releases fairly.
    pub(crate) fn leave_fairly(&self) {
        self.section.alone();
        self.section.leave(Writer);
        // SAFETY: the caller has the lock.
        unsafe { self.raw.unlock_fair() };
    }
}

impl<E: Engine + Threads> Guarded<RawReentrantMutex<E>> {
    /// Runs with the lock held once: locks twice more, and releases all.
    pub(crate) fn leave_reentered(&self) {
        self.section.alone();
        assert!(self.raw.try_lock(), "the owner may lock again");
        self.raw.lock();
        saw("entered again");
        // SAFETY: locked three times.
        unsafe {
            self.raw.unlock();
            self.raw.unlock();
            assert!(self.raw.is_mine(), "released once too often");
            self.section.leave(Writer);
            self.raw.unlock();
        }
    }
}

impl<L: RawTimedLock<Platform: Engine>> Guarded<L> {
    /// Acquires if there is time.
    pub(crate) fn round_soon(&self) {
        if in_time(self.raw.lock_until(L::Platform::SOON)) {
            self.leave();
        }
    }
}

/// Notes whether a wait with a deadline got what it waited for.
pub(crate) fn in_time(got: bool) -> bool {
    saw(if got { "got it after all" } else { "gave up" });
    got
}

/// Notes whether an attempt got the lock.
pub(crate) fn at_once(got: bool) -> bool {
    saw(if got { "got it" } else { "did not" });
    got
}
