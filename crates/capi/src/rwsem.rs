//! The readers-writer lock of the C API: `tw_rwsem`.

use crate::result::{timed, tried, tw_result};
use crate::time::{self, until};
use crate::{functions, stands_for};
use core::ffi::c_int;
use turnwise::RawRwSem;
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};

/// A readers-writer lock: many readers, or one writer; beside the readers one upgradable reader. Sleeping writers go
/// before new readers, so a thread that holds it for reading must not acquire it again. Initialised by `TW_RWSEM_INIT`
/// or zero bytes: unlocked.
#[repr(C)]
pub struct tw_rwsem {
    /// Private: programs do not access it.
    pub opaque: [u32; 3],
}
stands_for!(tw_rwsem, RawRwSem);

/// Initialises an unlocked lock, as TW_RWSEM_INIT does. Its memory may be freed as soon as no thread uses it, even
/// right after the last unlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_rwsem_init(sem: *mut tw_rwsem) {
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { sem.write(tw_rwsem { opaque: [0; 3] }) }
}

functions! {
    /// Acquires the lock for reading.
    tw_rwsem_read(sem: *mut tw_rwsem) = sem.read();
    /// Acquires the lock for reading unless a writer holds it or waits: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_rwsem_tryread(sem: *mut tw_rwsem) -> tw_result = tried(sem.try_read());
    /// Acquires the lock for reading: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_rwsem_read_for(sem: *mut tw_rwsem, timeout_ns: u64) -> tw_result =
        timed(sem.read_until(time::after(timeout_ns)));
    /// Acquires the lock for reading: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no
    /// such clock.
    #[must_use]
    tw_rwsem_read_until(sem: *mut tw_rwsem, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| sem.read_until(at));
    /// Releases a read lock.
    tw_rwsem_unlock_read(sem: *mut tw_rwsem) = sem.unlock_read();
    /// Acquires the lock for writing.
    tw_rwsem_write(sem: *mut tw_rwsem) = sem.lock();
    /// Acquires the lock for writing if it is free: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_rwsem_trywrite(sem: *mut tw_rwsem) -> tw_result = tried(sem.try_lock());
    /// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_rwsem_write_for(sem: *mut tw_rwsem, timeout_ns: u64) -> tw_result =
        timed(sem.lock_until(time::after(timeout_ns)));
    /// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no
    /// such clock.
    #[must_use]
    tw_rwsem_write_until(sem: *mut tw_rwsem, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| sem.lock_until(at));
    /// Releases the write lock.
    tw_rwsem_unlock_write(sem: *mut tw_rwsem) = sem.unlock();
    /// Turns the write lock into a read lock, and lets waiting readers in.
    tw_rwsem_downgrade(sem: *mut tw_rwsem) = sem.downgrade();
    /// Acquires the lock for reading with the right to upgrade: beside readers, not beside another upgradable reader.
    tw_rwsem_upgradable(sem: *mut tw_rwsem) = sem.upgradable_read();
    /// Acquires the lock for upgradable reading if no writer and no upgradable reader holds it: TW_OK, or TW_BUSY at
    /// once.
    #[must_use]
    tw_rwsem_tryupgradable(sem: *mut tw_rwsem) -> tw_result = tried(sem.try_upgradable_read());
    /// Acquires the lock for upgradable reading: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_rwsem_upgradable_for(sem: *mut tw_rwsem, timeout_ns: u64) -> tw_result =
        timed(sem.upgradable_read_until(time::after(timeout_ns)));
    /// Acquires the lock for upgradable reading: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if
    /// there is no such clock.
    #[must_use]
    tw_rwsem_upgradable_until(sem: *mut tw_rwsem, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| sem.upgradable_read_until(at));
    /// Releases the upgradable read lock.
    tw_rwsem_unlock_upgradable(sem: *mut tw_rwsem) = sem.unlock_upgradable();
    /// Turns the upgradable read lock into the write lock when the readers have left; no other reader enters meanwhile.
    /// The caller holds no other read lock.
    tw_rwsem_upgrade(sem: *mut tw_rwsem) = sem.upgrade();
    /// Turns the upgradable read lock into the write lock if there are no other readers: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_rwsem_tryupgrade(sem: *mut tw_rwsem) -> tw_result = tried(sem.try_upgrade());
    /// Turns the upgradable read lock into the write lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds, and
    /// then the caller keeps the upgradable read lock.
    #[must_use]
    tw_rwsem_upgrade_for(sem: *mut tw_rwsem, timeout_ns: u64) -> tw_result =
        timed(sem.upgrade_until(time::after(timeout_ns)));
    /// Turns the upgradable read lock into the write lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or
    /// TW_INVALID if there is no such clock. Without success the caller keeps the upgradable read lock.
    #[must_use]
    tw_rwsem_upgrade_until(sem: *mut tw_rwsem, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| sem.upgrade_until(at));
    /// Turns the upgradable read lock into an ordinary read lock.
    tw_rwsem_downgrade_upgradable(sem: *mut tw_rwsem) = sem.downgrade_upgradable();
    /// Turns the write lock into an upgradable read lock, and lets waiting readers in.
    tw_rwsem_downgrade_to_upgradable(sem: *mut tw_rwsem) = sem.downgrade_to_upgradable();
    /// Returns whether the lock is held at this moment, for reading or writing: for assertions.
    tw_rwsem_is_locked(sem: *const tw_rwsem) -> bool = sem.is_locked();
    /// Returns whether a writer holds the lock at this moment: for assertions.
    tw_rwsem_is_write_locked(sem: *const tw_rwsem) -> bool = sem.is_write_locked();
}
