//! Implements the raw traits of the [lock_api](https://docs.rs/lock_api) crate, so that
//! `lock_api::Mutex<turnwise::RawMutex, T>` and code built on it work with these locks.
//!
//! | type | traits | guard moves between threads |
//! |---|---|---|
//! | [`RawMutex`] | `RawMutex`, `RawMutexFair`, `RawMutexTimed` | no: the word names the owner |
//! | [`RawRwSem`] | `RawRwLock` and all its extensions except the `Fair` ones | no: holders are recorded per thread |
//! | [`RawSpinLock`], [`RawTicketLock`], [`RawQueuedSpinLock`] | `RawMutex`, `RawMutexTimed` | yes |
//!
//! Times are [`core::time::Duration`] and [`Deadline`]: there is no `Instant` without std, and none that could name a
//! point on another platform's clock.
//!
//! [`RawRwSem`] cannot be released to the longest sleeper, so it has no `Fair` traits: a thread that has waited too
//! long requests a hand-off itself.
//!
//! [`crate::RawMcsLock`] does not implement them: lock_api keeps the state of an acquisition in the guard, which moves
//! and may be forgotten, while an MCS node must stay in place; without allocation there is no place for it.

use crate::backoff::Backoff;
use crate::mutex::RawMutex;
use crate::platform::{Deadline, DefaultPlatform};
use crate::raw::{RawLock, RawTimedLock};
use crate::spin::{RawQueuedSpinLock, RawSpinLock, RawTicketLock};
use core::time::Duration;
use lock_api::{GuardNoSend, GuardSend};

#[cfg(doc)]
use crate::RawRwSem;

fn after(timeout: Duration) -> Deadline {
    Deadline::after::<DefaultPlatform>(timeout)
}

/// Defines lock_api's methods that acquire the lock in one mode, for any thread, by ours.
macro_rules! acquires {
    ($guard:ident; $($wait:ident = $ours:path, $try:ident = $tries:path;)*) => {$(
        #[inline]
        fn $wait(&self) -> $guard {
            $ours(self);
            $guard::new()
        }

        #[inline]
        fn $try(&self) -> Option<$guard> {
            $tries(self).then($guard::new)
        }
    )*};
    ($guard:ident; $($for:ident, $until:ident = $tries:path, $ours:path;)*) => {$(
        fn $for(&self, timeout: Duration) -> Option<$guard> {
            ($tries(self) || $ours(self, after(timeout))).then($guard::new)
        }

        fn $until(&self, deadline: Deadline) -> Option<$guard> {
            $ours(self, deadline).then($guard::new)
        }
    )*};
}

/// Defines lock_api's methods that release the lock in one mode, or go from one to another, by ours.
macro_rules! releases {
    ($guard:ident; $($name:ident $(-> $out:ty)? = $ours:path;)*) => {$(
        #[inline]
        unsafe fn $name(&self, _guard: $guard) $(-> $out)? {
            // SAFETY: contract of lock_api's method, which is that of ours: the caller has the lock in that mode.
            unsafe { $ours(self) };
            $(<$out>::new())?
        }
    )*};
}

mod rwlock;

/// Implements the two traits for a [`RawTimedLock`] with a const constructor.
macro_rules! raw_mutex {
    ($($generics:ident)?, $lock:ty, $init:expr, $guard:ident) => {
        // SAFETY: `RawLock` guarantees exclusion, order, and release from any thread if `$guard` is `Send`; a locked
        // one without waiters may be moved or dropped, since nothing points to it; no operation unwinds.
        unsafe impl$(<$generics: Backoff>)? lock_api::RawMutex for $lock {
            const INIT: Self = $init;
            type Guard = $guard;

            acquires! { $guard; lock = RawLock::lock, try_lock = RawLock::try_lock; }

            releases! { $guard; unlock = RawLock::unlock; }

            fn is_locked(&self) -> bool {
                RawLock::is_locked(self)
            }
        }

        // SAFETY: contract of `RawTimedLock`: what `RawLock` says of `try_lock` holds for `lock_until`.
        unsafe impl$(<$generics: Backoff>)? lock_api::RawMutexTimed for $lock {
            type Duration = Duration;
            type Instant = Deadline;

            acquires! { $guard; try_lock_for, try_lock_until = RawLock::try_lock, RawTimedLock::lock_until; }
        }
    };
}

raw_mutex!(, RawMutex, RawMutex::new(), GuardNoSend);
raw_mutex!(B, RawSpinLock<B>, RawSpinLock::const_new_in(), GuardSend);
raw_mutex!(B, RawTicketLock<B>, RawTicketLock::const_new_in(), GuardSend);
raw_mutex!(, RawQueuedSpinLock, RawQueuedSpinLock::new(), GuardSend);

// SAFETY: contract of `RawLock`, which `unlock_fair` keeps: the thread that is granted the lock acquires
// (mutex.acquire) what was released before.
unsafe impl lock_api::RawMutexFair for RawMutex {
    releases! { GuardNoSend; unlock_fair = RawMutex::unlock_fair; }
}
