//! A mutex of which each release goes to the longest sleeper.

use crate::mutex::RawMutex;
use core::time::Duration;
use lock_api::{GuardNoSend, RawMutexFair as _};
use std::time::Instant;

/// A mutex that is always released fairly: to the thread that has slept longest for it, if there is one.
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;
/// A guard of a [`FairMutex`].
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;
/// A guard of part of a [`FairMutex`]'s data.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;

/// Creates an unlocked mutex.
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::const_new(<RawFairMutex as lock_api::RawMutex>::INIT, value)
}

/// The lock of a [`FairMutex`], without data.
pub struct RawFairMutex(RawMutex);

// SAFETY: contract of `RawMutex`, of which it only chooses the release.
unsafe impl lock_api::RawMutex for RawFairMutex {
    const INIT: RawFairMutex = RawFairMutex(RawMutex::INIT);
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `lock_api::RawMutex::unlock`: the caller has the lock.
        unsafe { self.0.unlock_fair() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: contract of `RawMutexFair`, which the mutex inside keeps.
unsafe impl lock_api::RawMutexFair for RawFairMutex {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: contract of `lock_api::RawMutexFair::unlock_fair`: the caller has the lock.
        unsafe { self.0.unlock_fair() }
    }
}

// SAFETY: contract of `RawMutexTimed`, which the mutex inside keeps.
unsafe impl lock_api::RawMutexTimed for RawFairMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.0.try_lock_for(timeout)
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.0.try_lock_until(timeout)
    }
}
