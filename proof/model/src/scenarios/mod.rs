//! What a thread does with a lock, written once for both engines. The models and the checks state how many threads do
//! what, on which machine, and what must be seen.

mod rwsem;
mod shared;

pub(crate) use rwsem::{read_first, role};
pub(crate) use shared::{Pages, Role, read, shared_role, tries, write};

use crate::platform::saw;
use turnwise::RawMutex;
use turnwise::platform::{Deadline, Platform};
use turnwise::raw::{RawLock, RawTimedLock};

/// An engine, as its threads see it.
pub(crate) trait Engine: Platform {
    /// What a lock protects.
    type Section: Section;

    /// A point in time that the clock stays below, even if it jumps, unless a sleeper's time runs out.
    const SOON: Deadline;

    /// Fails if this does not hold, where one more operation does not make another scenario.
    fn expect(what: impl FnOnce() -> bool, or: &str);
}

/// What a lock protects. Each call is made in the step of the operation before it, so that no thread intervenes.
pub(crate) trait Section: 'static {
    fn new() -> Self;

    /// A writer enters and does its work (`by` 1), or leaves (-1).
    fn write(&self, by: i32);

    /// A reader enters and reads, or reads once more and leaves.
    fn read(&self, by: i32);

    /// A reader that may write next enters, or leaves.
    fn upgradable(&self, by: i32);

    /// The single owner enters and does its work, which is counted.
    fn alone(&self);

    /// The writer leaves with its next operation, which releases the lock.
    fn leave_writing(&self) {
        self.write(-1);
    }

    /// A reader leaves likewise.
    fn leave_reading(&self) {
        self.read(-1);
    }

    /// A reader that may write next leaves likewise.
    fn leave_upgradable(&self) {
        self.upgradable(-1);
    }
}

/// A lock, and what it protects.
pub(crate) struct Guarded<L: RawLock<Platform: Engine>> {
    pub(crate) raw: L,
    pub(crate) section: <L::Platform as Engine>::Section,
}

impl<L: RawLock<Platform: Engine>> Guarded<L> {
    pub(crate) fn new() -> Self {
        Guarded { raw: L::new_in(), section: Section::new() }
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
        self.section.leave_writing();
        // SAFETY: the caller has the lock.
        unsafe { self.raw.unlock() };
    }
}

impl<E: Engine> Guarded<RawMutex<E>> {
    /// Does that work, and releases fairly.
    pub(crate) fn leave_fairly(&self) {
        self.section.alone();
        self.section.leave_writing();
        // SAFETY: the caller has the lock.
        unsafe { self.raw.unlock_fair() };
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
