//! Implements lock_api's traits of readers-writer locks.

use super::after;
use crate::platform::Deadline;
use crate::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwsem::RawRwSem;
use core::time::Duration;
use lock_api::GuardNoSend;

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
