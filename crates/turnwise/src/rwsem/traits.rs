//! The readers-writer lock's implementations of the traits of locks without data.

use super::RawRwSem;
use crate::platform::{Deadline, Platform};
use crate::raw::{GuardNoSend, RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use core::fmt;

// SAFETY: there is one writer at a time, and no reader alongside it; it acquires (rwsem.write) what others released
// (rwsem.release, rwsem.unlock_read). The owner's word names its thread, so guards stay on it.
unsafe impl<P: Platform> RawLock for RawRwSem<P> {
    const NAME: &'static str = "RwSem";
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    #[inline]
    fn lock(&self) {
        self.write();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.try_write()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `RawLock::unlock`: the caller has the write lock.
        unsafe { self.unlock_write() }
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.stats()
    }
}

// SAFETY: `write_until` acquires by rwsem.write, as `write` does, alongside no other writer or reader.
unsafe impl<P: Platform> RawTimedLock for RawRwSem<P> {
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.write_until(deadline)
    }
}

// SAFETY: readers enter (rwsem.read) while there is no writer, leave by rwsem.unlock_read, which rwsem.write acquires.
unsafe impl<P: Platform> RawRwLock for RawRwSem<P> {
    #[inline]
    fn read(&self) {
        self.read();
    }

    #[inline]
    fn try_read(&self) -> bool {
        self.try_read()
    }

    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: contract of `RawRwLock::unlock_read`: the caller has a read lock.
        unsafe { self.unlock_read() }
    }
}

// SAFETY: `read_until` acquires by rwsem.read, as `read` does.
unsafe impl<P: Platform> RawTimedRwLock for RawRwSem<P> {
    #[inline]
    fn read_until(&self, deadline: Deadline) -> bool {
        self.read_until(deadline)
    }
}

impl<P: Platform> fmt::Debug for RawRwSem<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRwSem").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}
