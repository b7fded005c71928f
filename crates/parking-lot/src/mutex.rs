//! The mutex.

use core::time::Duration;
use lock_api::GuardNoSend;
use std::time::Instant;
use turnwise::RawLock;
use turnwise::platform::{Deadline, Native};

/// A mutex.
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// A guard of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// A guard of part of a [`Mutex`]'s data.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// Creates an unlocked mutex.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::const_new(<RawMutex as lock_api::RawMutex>::INIT, value)
}

/// The lock of a [`Mutex`], without data.
pub struct RawMutex(pub(crate) turnwise::RawMutex);

/// Converts a point in time of std to Turnwise's.
pub(crate) fn deadline(instant: Instant) -> Deadline {
    Deadline::after::<Native>(instant.saturating_duration_since(Instant::now()))
}

// SAFETY: contract of `turnwise::RawLock`: one owner at a time, ordered; the guard stays on its thread.
unsafe impl lock_api::RawMutex for RawMutex {
    const INIT: RawMutex = RawMutex(turnwise::RawMutex::new());
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
        unsafe { self.0.unlock() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above; the thread that is granted the lock acquires what was released before.
unsafe impl lock_api::RawMutexFair for RawMutex {
    unsafe fn unlock_fair(&self) {
        // SAFETY: contract of `lock_api::RawMutexFair::unlock_fair`: the caller has the lock.
        unsafe { self.0.unlock_fair() }
    }
}

// SAFETY: contract of `turnwise::RawTimedLock`.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        turnwise::RawTimedLock::lock_until(&self.0, Deadline::after::<Native>(timeout))
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        turnwise::RawTimedLock::lock_until(&self.0, deadline(timeout))
    }
}
