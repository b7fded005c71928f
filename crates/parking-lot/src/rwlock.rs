//! The readers-writer lock.
//!
//! Readers that read again overtake waiting writers ([`Prefer::Readers`]); no other release is fairer than another.

use crate::mutex::{after, deadline};
use core::time::Duration;
use lock_api::GuardNoSend;
use std::time::Instant;
use turnwise::RawRwSem;
use turnwise::raw::{RawLock as _, RawRwLock as _, RawTimedLock as _, RawTimedRwLock as _};
use turnwise::rwsem::Prefer;

/// A readers-writer lock.
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
/// A guard of a reader.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// A guard of the writer.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;
/// A guard of a reader that may become the writer.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;
/// A reader's guard of part of the data.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;
/// The writer's guard of part of the data.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// Creates an unlocked lock.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::const_new(<RawRwLock as lock_api::RawRwLock>::INIT, value)
}

/// The lock of a [`RwLock`], without data.
pub struct RawRwLock(RawRwSem);

// SAFETY: `RawRwSem` lets in readers or one writer, and orders them; the guards stay on their threads.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: RawRwLock = RawRwLock(RawRwSem::new());
    type GuardMarker = GuardNoSend;

    any_thread! {
        lock_shared() = |lock| lock.read();
        try_lock_shared() -> bool = |lock| lock.try_read();
        lock_exclusive() = |lock| lock.lock();
        try_lock_exclusive() -> bool = |lock| lock.try_lock();
        is_locked() -> bool = |lock| lock.is_locked();
        is_locked_exclusive() -> bool = |lock| lock.is_write_locked();
    }
    owner! {
        unlock_shared() = unlock_read();
        unlock_exclusive() = unlock();
    }
}

// SAFETY: as `RawRwLock`: a waiter that waited too long claims the lock itself, whichever thread releases it.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    owner! {
        unlock_shared_fair() = unlock_read();
        unlock_exclusive_fair() = unlock();
    }
}

// SAFETY: writers stay excluded.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    owner! { downgrade() = downgrade(); }
}

// SAFETY: as `RawRwLock`.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    any_thread! {
        try_lock_shared_for(timeout: Duration) -> bool = |lock| lock.try_read() || lock.read_until(after(timeout));
        try_lock_shared_until(at: Instant) -> bool = |lock| lock.try_read() || lock.read_until(deadline(at));
        try_lock_exclusive_for(timeout: Duration) -> bool = |lock| lock.try_lock() || lock.lock_until(after(timeout));
        try_lock_exclusive_until(at: Instant) -> bool = |lock| lock.try_lock() || lock.lock_until(deadline(at));
    }
}

// SAFETY: as `RawRwLock`.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    any_thread! {
        lock_shared_recursive() = |lock| {
            lock.read_with(Prefer::Readers, None);
        };
        try_lock_shared_recursive() -> bool = |lock| lock.try_read_with(Prefer::Readers);
    }
}

// SAFETY: as `RawRwLock`.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    any_thread! {
        try_lock_shared_recursive_for(timeout: Duration) -> bool =
            |lock| lock.read_with(Prefer::Readers, Some(after(timeout)));
        try_lock_shared_recursive_until(at: Instant) -> bool =
            |lock| lock.read_with(Prefer::Readers, Some(deadline(at)));
    }
}

// SAFETY: one upgradable reader at a time, alongside readers.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    any_thread! {
        lock_upgradable() = |lock| lock.upgradable_read();
        try_lock_upgradable() -> bool = |lock| lock.try_upgradable_read();
    }
    owner! {
        unlock_upgradable() = unlock_upgradable();
        upgrade() = upgrade();
        try_upgrade() -> bool = try_upgrade();
    }
}

// SAFETY: as `RawRwLockFair`.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    owner! { unlock_upgradable_fair() = unlock_upgradable(); }
}

// SAFETY: writers stay excluded.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    owner! {
        downgrade_upgradable() = downgrade_upgradable();
        downgrade_to_upgradable() = downgrade_to_upgradable();
    }
}

// SAFETY: as `RawRwLockUpgrade`.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    any_thread! {
        try_lock_upgradable_for(timeout: Duration) -> bool = |lock| lock.upgradable_read_until(after(timeout));
        try_lock_upgradable_until(at: Instant) -> bool = |lock| lock.upgradable_read_until(deadline(at));
    }
    owner! {
        try_upgrade_for(timeout: Duration) -> bool = upgrade_until(after(timeout));
        try_upgrade_until(at: Instant) -> bool = upgrade_until(deadline(at));
    }
}
