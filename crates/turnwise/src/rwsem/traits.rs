//! The readers-writer lock's constructors with data, and implementations of the traits of locks without.

use super::RawRwSem;
use crate::platform::Platform;
use crate::rwlock::RwLock;
use core::fmt;

data_constructors!(RwLock, RawRwSem [] [], "an unlocked lock");

// SAFETY: there is one writer at a time, and no reader alongside it; it acquires (rwsem.write, also with a deadline)
// what others released (rwsem.release, rwsem.unlock_read). Readers enter (rwsem.read, also with a deadline) while there
// is no writer. The owner's word names its thread, so guards stay on it.
raw_rw_lock!([P: Platform] RawRwSem<P>, "RwSem", read, try_read, unlock_read, read_until);

impl<P: Platform> fmt::Debug for RawRwSem<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRwSem").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}
