//! The mutex, and one of which each release goes to the longest sleeper.

use core::time::Duration;
use lock_api::GuardNoSend;
use std::time::Instant;
use turnwise::platform::{Deadline, Native};
use turnwise::{RawLock as _, RawTimedLock as _};

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

/// Converts a point in time of std to Turnwise's.
pub(crate) fn deadline(instant: Instant) -> Deadline {
    after(instant.saturating_duration_since(Instant::now()))
}

/// Returns the point in time after `timeout`.
pub(crate) fn after(timeout: Duration) -> Deadline {
    Deadline::after::<Native>(timeout)
}

/// Defines a lock without data, whose guards release it by `$unlock`.
macro_rules! raw_mutex {
    ($(#[$about:meta])* $name:ident releases by $unlock:ident) => {
        $(#[$about])*
        pub struct $name(pub(crate) turnwise::RawMutex);

        // SAFETY: contract of `turnwise::RawLock`: one owner at a time, ordered; the guard stays on its thread.
        unsafe impl lock_api::RawMutex for $name {
            const INIT: $name = $name(turnwise::RawMutex::new());
            type GuardMarker = GuardNoSend;

            any_thread! {
                lock() = |lock| lock.lock();
                try_lock() -> bool = |lock| lock.try_lock();
                is_locked() -> bool = |lock| lock.is_locked();
            }
            owner! { unlock() = $unlock(); }
        }

        // SAFETY: as above; the thread that is granted the lock acquires what was released before.
        unsafe impl lock_api::RawMutexFair for $name {
            owner! { unlock_fair() = unlock_fair(); }
        }

        // SAFETY: contract of `turnwise::RawTimedLock`.
        unsafe impl lock_api::RawMutexTimed for $name {
            type Duration = Duration;
            type Instant = Instant;

            any_thread! {
                try_lock_for(timeout: Duration) -> bool = |lock| lock.lock_until(after(timeout));
                try_lock_until(at: Instant) -> bool = |lock| lock.lock_until(deadline(at));
            }
        }
    };
}

raw_mutex! {
    /// The lock of a [`Mutex`], without data.
    RawMutex releases by unlock
}

raw_mutex! {
    /// The lock of a [`FairMutex`], without data.
    RawFairMutex releases by unlock_fair
}
