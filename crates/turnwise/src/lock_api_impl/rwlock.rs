//! Implements lock_api's traits of readers-writer locks.

use crate::platform::{Deadline, DefaultPlatform};
use crate::rwsem::RawRwSem;
use core::time::Duration;
use lock_api::GuardNoSend;

fn after(timeout: Duration) -> Deadline {
    Deadline::after::<DefaultPlatform>(timeout)
}

// SAFETY: `RawRwSem` admits readers or one writer, and orders them (rwsem.read, rwsem.write, rwsem.unlock_read,
// rwsem.release); a locked one without waiters may be moved or dropped, since nothing points to it; no operation
// unwinds.
unsafe impl lock_api::RawRwLock for RawRwSem {
    const INIT: Self = RawRwSem::new();
    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    #[inline]
    fn lock_shared(&self) -> GuardNoSend {
        self.read();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardNoSend> {
        self.try_read().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock_shared(&self, _guard: GuardNoSend) {
        // SAFETY: contract of `RawRwSem::unlock_read`: the caller has a read lock.
        unsafe { self.unlock_read() }
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardNoSend {
        self.write();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardNoSend> {
        self.try_write().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _guard: GuardNoSend) {
        // SAFETY: contract of `RawRwSem::unlock_write`: the caller has the write lock.
        unsafe { self.unlock_write() }
    }

    fn is_locked(&self) -> bool {
        RawRwSem::is_locked(self)
    }

    fn is_locked_exclusive(&self) -> bool {
        self.is_write_locked()
    }
}

// SAFETY: `RawRwSem::downgrade` releases (rwsem.release) and keeps, in one exchange, a read lock that excludes writers.
unsafe impl lock_api::RawRwLockDowngrade for RawRwSem {
    unsafe fn downgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: contract of `RawRwSem::downgrade`: the caller has the write lock.
        unsafe { RawRwSem::downgrade(self) };
        guard
    }
}

// SAFETY: the timed forms acquire like the others: by rwsem.read and rwsem.write.
unsafe impl lock_api::RawRwLockTimed for RawRwSem {
    type Duration = Duration;
    type Instant = Deadline;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        (self.try_read() || self.read_until(after(timeout))).then(GuardNoSend::new)
    }

    fn try_lock_shared_until(&self, deadline: Deadline) -> Option<GuardNoSend> {
        self.read_until(deadline).then(GuardNoSend::new)
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        (self.try_write() || self.write_until(after(timeout))).then(GuardNoSend::new)
    }

    fn try_lock_exclusive_until(&self, deadline: Deadline) -> Option<GuardNoSend> {
        self.write_until(deadline).then(GuardNoSend::new)
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

    fn lock_upgradable(&self) -> GuardNoSend {
        self.upgradable_read();
        GuardNoSend::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        self.try_upgradable_read().then(GuardNoSend::new)
    }

    unsafe fn unlock_upgradable(&self, _guard: GuardNoSend) {
        // SAFETY: contract of `RawRwSem::unlock_upgradable`: the caller has the upgradable read lock.
        unsafe { RawRwSem::unlock_upgradable(self) }
    }

    unsafe fn upgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: contract of `RawRwSem::upgrade`: the caller has the upgradable read lock.
        unsafe { RawRwSem::upgrade(self) };
        guard
    }

    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: contract of `RawRwSem::try_upgrade`: the caller has the upgradable read lock.
        upgraded(unsafe { RawRwSem::try_upgrade(self) }, guard)
    }
}

// SAFETY: the downgrades release (rwsem.release) and keep, in one exchange, a read lock that excludes writers.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwSem {
    unsafe fn downgrade_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: contract of `RawRwSem::downgrade_upgradable`: the caller has the upgradable read lock.
        unsafe { RawRwSem::downgrade_upgradable(self) };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: contract of `RawRwSem::downgrade_to_upgradable`: the caller has the write lock.
        unsafe { RawRwSem::downgrade_to_upgradable(self) };
        guard
    }
}

// SAFETY: the timed forms acquire like the others: by rwsem.write.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwSem {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        (self.try_upgradable_read() || self.upgradable_read_until(after(timeout))).then(GuardNoSend::new)
    }

    fn try_lock_upgradable_until(&self, deadline: Deadline) -> Option<GuardNoSend> {
        self.upgradable_read_until(deadline).then(GuardNoSend::new)
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
