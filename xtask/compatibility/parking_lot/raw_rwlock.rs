//! parking_lot 0.12's raw readers-writer lock on Turnwise's: replaces that crate's file of this name.
//!
//! Readers that read again overtake waiting writers ([`Prefer::Readers`]); no other release is fairer than another.

use crate::raw_mutex::deadline;
use core::time::Duration;
use lock_api::GuardNoSend;
use std::time::Instant;
use turnwise::RawRwSem;
use turnwise::platform::{Deadline, Native};
use turnwise::rwsem::Prefer;

/// Raw readers-writer lock type backed by Turnwise.
pub struct RawRwLock(RawRwSem);

fn after(timeout: Duration) -> Deadline {
    Deadline::after::<Native>(timeout)
}

// SAFETY: `RawRwSem` lets in readers or one writer, and orders them; the guards stay on their threads.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: RawRwLock = RawRwLock(RawRwSem::new());
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        self.0.read();
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.0.try_read()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller has a read lock.
        unsafe { self.0.unlock_read() }
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.0.write();
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.0.try_write()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller has the write lock.
        unsafe { self.0.unlock_write() }
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_write_locked()
    }
}

// SAFETY: as `RawRwLock`: a waiter that waited too long claims the lock itself, whichever thread releases it.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller has a read lock.
        unsafe { self.0.unlock_read() }
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller has the write lock.
        unsafe { self.0.unlock_write() }
    }
}

// SAFETY: writers stay excluded.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        // SAFETY: the caller has the write lock.
        unsafe { self.0.downgrade() }
    }
}

// SAFETY: as `RawRwLock`.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.0.try_read() || self.0.read_until(after(timeout))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        self.0.try_read() || self.0.read_until(deadline(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.0.try_write() || self.0.write_until(after(timeout))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        self.0.try_write() || self.0.write_until(deadline(timeout))
    }
}

// SAFETY: as `RawRwLock`.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    fn lock_shared_recursive(&self) {
        self.0.read_with(Prefer::Readers, None);
    }

    fn try_lock_shared_recursive(&self) -> bool {
        self.0.try_read_with(Prefer::Readers)
    }
}

// SAFETY: as `RawRwLock`.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.0.read_with(Prefer::Readers, Some(after(timeout)))
    }

    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        self.0.read_with(Prefer::Readers, Some(deadline(timeout)))
    }
}

// SAFETY: one upgradable reader at a time, alongside readers.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    fn lock_upgradable(&self) {
        self.0.upgradable_read();
    }

    fn try_lock_upgradable(&self) -> bool {
        self.0.try_upgradable_read()
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.unlock_upgradable() }
    }

    unsafe fn upgrade(&self) {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.upgrade() }
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.try_upgrade() }
    }
}

// SAFETY: as `RawRwLockFair`.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.unlock_upgradable() }
    }
}

// SAFETY: writers stay excluded.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.downgrade_upgradable() }
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller has the write lock.
        unsafe { self.0.downgrade_to_upgradable() }
    }
}

// SAFETY: as `RawRwLockUpgrade`.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.0.upgradable_read_until(after(timeout))
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> bool {
        self.0.upgradable_read_until(deadline(timeout))
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.upgrade_until(after(timeout)) }
    }

    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.0.upgrade_until(deadline(timeout)) }
    }
}
