//! Fast paths for adapters whose callers do not state by which preference they read, or which lock they release. If
//! these fail nothing has happened, and the adapter finds that out before it calls the general ones.

use super::Prefer;
use super::raw::{COUNT, RawRwSem, WRITER};
use crate::platform::{Platform, Word};
use crate::raw::{RawLock, RawRwLock};
use core::sync::atomic::Ordering::Relaxed;

impl<P: Platform> RawRwSem<P> {
    /// Acquires the lock for reading if nothing bars any reader, whatever the preference; returns whether it did. A
    /// failure is not counted.
    #[inline(always)]
    pub fn try_read_unbarred(&self) -> bool {
        let unbarred = self.word.load(Relaxed) & Prefer::Writers.barred() == 0;
        unbarred && self.enter(Prefer::Writers) && self.counters.attempt(true)
    }

    /// Releases the read lock or the write lock, whichever is held, if no thread sleeps; returns whether it did. Calls
    /// `writes_no_more` before it releases the write lock.
    ///
    /// # Safety
    /// The caller has a read lock or the write lock, if any thread has one.
    #[inline(always)]
    pub unsafe fn unlock_without_sleepers(&self, writes_no_more: impl FnOnce()) -> bool {
        // One load is enough: no other thread releases what the caller has, and a release sees new sleepers.
        let word = self.word.load(Relaxed);
        if word == WRITER {
            writes_no_more();
            // SAFETY: contract of `RawLock::unlock`: a writer has the lock, so it is the caller.
            unsafe { self.unlock() };
            return true;
        }
        let read = word.wrapping_sub(1) < COUNT;
        if read {
            // SAFETY: contract of `RawRwLock::unlock_read`: only readers have the lock, so the caller is one.
            unsafe { self.unlock_read() };
        }
        read
    }
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::rwsem::raw::{READERS, WRITERS};

    /// Releases by the fast path; returns whether it did, and whether it reported that a writer leaves.
    fn unlock(lock: &RawRwSem) -> (bool, bool) {
        let mut wrote = false;
        // SAFETY: the tests hold what they release.
        (unsafe { lock.unlock_without_sleepers(|| wrote = true) }, wrote)
    }

    #[test]
    fn whichever_is_held_is_released() {
        let lock = RawRwSem::new();
        assert_eq!(unlock(&lock), (false, false), "no thread has it");
        assert!(lock.try_read_unbarred() && lock.try_read_unbarred());
        assert_eq!([unlock(&lock), unlock(&lock), unlock(&lock)], [(true, false), (true, false), (false, false)]);
        assert!(lock.try_lock() && !lock.try_read_unbarred());
        assert_eq!([unlock(&lock), unlock(&lock)], [(true, true), (false, false)]);
        assert!(!lock.is_locked());
    }

    #[test]
    fn who_may_have_to_be_woken_is_left_to_the_others() {
        for flags in [READERS | WRITERS, WRITERS] {
            let lock = RawRwSem::new();
            assert!(lock.try_read_unbarred());
            lock.word.fetch_or(flags, Relaxed);
            assert!(!lock.try_read_unbarred(), "a writer that sleeps bars readers under one preference");
            assert_eq!(unlock(&lock), (false, false));
            lock.word.store(WRITER | flags, Relaxed);
            assert_eq!(unlock(&lock), (false, false));
        }
    }

    #[test]
    fn an_upgradable_reader_is_no_reader() {
        let lock = RawRwSem::new();
        assert!(lock.try_upgradable_read());
        assert_eq!(unlock(&lock), (false, false));
        assert!(lock.try_read_unbarred());
        assert_eq!(unlock(&lock), (false, false), "two may be meant");
    }
}
