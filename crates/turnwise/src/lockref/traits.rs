//! The lock half's implementations of the traits of locks without data: without guards, unseen by the order checker.

use super::LockRef;
use super::raw::{LOCK, WAITERS, wake_after};
use crate::platform::{Deadline, IntWord, Platform};
use crate::raw::{GuardNoSend, RawLock, RawTimedLock};
use core::sync::atomic::Ordering::Release;

// SAFETY: invariant 1 of `raw`; an owner acquires (lockref.lock) what others released (lockref.unlock). Waiters query
// whether the owner's thread runs, so guards stay on it.
unsafe impl<P: Platform> RawLock for LockRef<P> {
    const NAME: &'static str = "LockRefCell";
    type Platform = P;
    type GuardMarker = GuardNoSend;

    /// Creates an unlocked [`LockRef`] without references.
    #[cfg_attr(feature = "order-check", track_caller)]
    fn new_in() -> Self {
        Self::new_in(0)
    }

    #[inline]
    fn lock(&self) {
        self.counters.acquisition_by(self.take(), || self.lock_slow(None));
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.counters.attempt(self.take() || self.seize())
    }

    #[inline]
    unsafe fn unlock(&self) {
        // ORDERING lockref.unlock: pairs with lockref.lock and lockref.found: shows what we wrote.
        let word = self.word.fetch_and(!LOCK, Release);
        if word & WAITERS != 0 {
            wake_after::<P>(word);
        }
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.stats()
    }
}

// SAFETY: it acquires as `lock` does.
unsafe impl<P: Platform> RawTimedLock for LockRef<P> {
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.counters.acquisition_by(self.take(), || self.lock_slow(Some(deadline)))
    }
}

shows!([P: Platform] LockRef<P>, |refs| count: refs.count(), dead: refs.is_dead(), locked: refs.is_locked());
