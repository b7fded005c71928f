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
use crate::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwsem::RawRwSem;
use crate::spin::{RawQueuedSpinLock, RawSpinLock, RawTicketLock};
use core::time::Duration;
use lock_api::{GuardNoSend, GuardSend};

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

// SAFETY: `RawRwSem` admits readers or one writer, and orders them (rwsem.read, rwsem.write, rwsem.unlock_read,
// rwsem.release); a locked one without waiters may be moved or dropped, since nothing points to it; no operation
// unwinds.
unsafe impl lock_api::RawRwLock for RawRwSem {
    const INIT: Self = RawRwSem::new();
    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    acquires! { GuardNoSend;
        lock_shared = RawRwLock::read, try_lock_shared = RawRwLock::try_read;
        lock_exclusive = RawLock::lock, try_lock_exclusive = RawLock::try_lock;
    }

    releases! { GuardNoSend;
        unlock_shared = RawRwLock::unlock_read;
        unlock_exclusive = RawLock::unlock;
    }

    fn is_locked(&self) -> bool {
        RawLock::is_locked(self)
    }

    fn is_locked_exclusive(&self) -> bool {
        self.is_write_locked()
    }
}

// SAFETY: `RawRwSem::downgrade` releases (rwsem.release) and keeps, in one exchange, a read lock that excludes writers.
unsafe impl lock_api::RawRwLockDowngrade for RawRwSem {
    releases! { GuardNoSend; downgrade -> GuardNoSend = RawRwSem::downgrade; }
}

// SAFETY: the timed forms acquire like the others: by rwsem.read and rwsem.write.
unsafe impl lock_api::RawRwLockTimed for RawRwSem {
    type Duration = Duration;
    type Instant = Deadline;

    acquires! { GuardNoSend;
        try_lock_shared_for, try_lock_shared_until = RawRwLock::try_read, RawTimedRwLock::read_until;
        try_lock_exclusive_for, try_lock_exclusive_until = RawLock::try_lock, RawTimedLock::lock_until;
    }
}

/// Returns the guard of the mode that the caller has after an attempt to upgrade.
fn upgraded(yes: bool, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
    if yes { Ok(guard) } else { Err(guard) }
}

// SAFETY: one upgradable reader is admitted alongside readers (rwsem.write); its upgrade acquires (rwsem.write) what
// the readers that it waited for released.
unsafe impl lock_api::RawRwLockUpgrade for RawRwSem {
    type UpgradableGuard = GuardNoSend;

    acquires! { GuardNoSend;
        lock_upgradable = RawRwSem::upgradable_read, try_lock_upgradable = RawRwSem::try_upgradable_read;
    }

    releases! { GuardNoSend;
        unlock_upgradable = RawRwSem::unlock_upgradable;
        upgrade -> GuardNoSend = RawRwSem::upgrade;
    }

    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contract of `RawRwSem::try_upgrade`: the caller has the upgradable read lock.
        upgraded(unsafe { RawRwSem::try_upgrade(self) }, guard)
    }
}

// SAFETY: the downgrades release (rwsem.release) and keep, in one exchange, a read lock that excludes writers.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwSem {
    releases! { GuardNoSend;
        downgrade_upgradable -> GuardNoSend = RawRwSem::downgrade_upgradable;
        downgrade_to_upgradable -> GuardNoSend = RawRwSem::downgrade_to_upgradable;
    }
}

// SAFETY: the timed forms acquire like the others: by rwsem.write.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwSem {
    acquires! { GuardNoSend;
        try_lock_upgradable_for, try_lock_upgradable_until =
            RawRwSem::try_upgradable_read, RawRwSem::upgradable_read_until;
    }

    unsafe fn try_upgrade_for(&self, guard: GuardNoSend, timeout: Duration) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contracts of `RawRwSem::try_upgrade` and `upgrade_until`: the caller has the upgradable read lock.
        upgraded(unsafe { RawRwSem::try_upgrade(self) || self.upgrade_until(after(timeout)) }, guard)
    }

    unsafe fn try_upgrade_until(&self, guard: GuardNoSend, deadline: Deadline) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contract of `RawRwSem::upgrade_until`: the caller has the upgradable read lock.
        upgraded(unsafe { self.upgrade_until(deadline) }, guard)
    }
}
