//! Implements lock_api's traits of readers-writer locks.

use crate::platform::{Deadline, DefaultPlatform};
use crate::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwsem::RawRwSem;
use core::time::Duration;
use lock_api::GuardNoSend;

fn after(timeout: Duration) -> Deadline {
    Deadline::after::<DefaultPlatform>(timeout)
}

/// Defines lock_api's methods that acquire the lock in one mode, for any thread, by ours.
macro_rules! acquires {
    ($($wait:ident = $ours:ident, $try:ident = $tries:ident;)*) => {$(
        #[inline]
        fn $wait(&self) -> GuardNoSend {
            self.$ours();
            GuardNoSend::new()
        }

        #[inline]
        fn $try(&self) -> Option<GuardNoSend> {
            self.$tries().then(GuardNoSend::new)
        }
    )*};
    ($($for:ident, $until:ident = $tries:ident, $ours:ident;)*) => {$(
        fn $for(&self, timeout: Duration) -> Option<GuardNoSend> {
            (self.$tries() || self.$ours(after(timeout))).then(GuardNoSend::new)
        }

        fn $until(&self, deadline: Deadline) -> Option<GuardNoSend> {
            self.$ours(deadline).then(GuardNoSend::new)
        }
    )*};
}

/// Defines lock_api's methods that release the lock in one mode, or go from one to another, by ours.
macro_rules! releases {
    ($($name:ident $(-> $out:ty)? = $ours:ident;)*) => {$(
        #[inline]
        unsafe fn $name(&self, _guard: GuardNoSend) $(-> $out)? {
            // SAFETY: contract of lock_api's method, which is that of ours: the caller has the lock in that mode.
            unsafe { RawRwSem::$ours(self) };
            $(<$out>::new())?
        }
    )*};
}

// SAFETY: `RawRwSem` admits readers or one writer, and orders them (rwsem.read, rwsem.write, rwsem.unlock_read,
// rwsem.release); a locked one without waiters may be moved or dropped, since nothing points to it; no operation
// unwinds.
unsafe impl lock_api::RawRwLock for RawRwSem {
    const INIT: Self = RawRwSem::new();
    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    acquires! {
        lock_shared = read, try_lock_shared = try_read;
        lock_exclusive = lock, try_lock_exclusive = try_lock;
    }

    releases! {
        unlock_shared = unlock_read;
        unlock_exclusive = unlock;
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
    releases! { downgrade -> GuardNoSend = downgrade; }
}

// SAFETY: the timed forms acquire like the others: by rwsem.read and rwsem.write.
unsafe impl lock_api::RawRwLockTimed for RawRwSem {
    type Duration = Duration;
    type Instant = Deadline;

    acquires! {
        try_lock_shared_for, try_lock_shared_until = try_read, read_until;
        try_lock_exclusive_for, try_lock_exclusive_until = try_lock, lock_until;
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

    acquires! { lock_upgradable = upgradable_read, try_lock_upgradable = try_upgradable_read; }

    releases! {
        unlock_upgradable = unlock_upgradable;
        upgrade -> GuardNoSend = upgrade;
    }

    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contract of `RawRwSem::try_upgrade`: the caller has the upgradable read lock.
        upgraded(unsafe { RawRwSem::try_upgrade(self) }, guard)
    }
}

// SAFETY: the downgrades release (rwsem.release) and keep, in one exchange, a read lock that excludes writers.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwSem {
    releases! {
        downgrade_upgradable -> GuardNoSend = downgrade_upgradable;
        downgrade_to_upgradable -> GuardNoSend = downgrade_to_upgradable;
    }
}

// SAFETY: the timed forms acquire like the others: by rwsem.write.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwSem {
    acquires! { try_lock_upgradable_for, try_lock_upgradable_until = try_upgradable_read, upgradable_read_until; }

    unsafe fn try_upgrade_for(&self, guard: GuardNoSend, timeout: Duration) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contracts of `RawRwSem::try_upgrade` and `upgrade_until`: the caller has the upgradable read lock.
        upgraded(unsafe { RawRwSem::try_upgrade(self) || self.upgrade_until(after(timeout)) }, guard)
    }

    unsafe fn try_upgrade_until(&self, guard: GuardNoSend, deadline: Deadline) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contract of `RawRwSem::upgrade_until`: the caller has the upgradable read lock.
        upgraded(unsafe { self.upgrade_until(deadline) }, guard)
    }
}
