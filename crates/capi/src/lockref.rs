//! The reference count with a lock of the C API: `tw_lockref`.

use crate::result::{TW_INVALID, TW_OK, timed, tried, tw_result};
use crate::time::{self, until};
use crate::{functions, stands_for};
use core::ffi::c_int;
use core::mem;
use turnwise::lockref::COUNT_MAX;
use turnwise::raw::{RawLock, RawTimedLock};
use turnwise::{LockRef, LockRefGuard};

/// The maximum number of references of a `tw_lockref`.
pub const TW_REFERENCES_MAX: u32 = 0x7fff_ffff;
const _: () = assert!(TW_REFERENCES_MAX == COUNT_MAX);

/// A reference count and a lock in 8 bytes: the count changes without the lock while the lock is free. It only counts;
/// what the count keeps alive is the program's business. One reference too many or too few aborts the process with a
/// message instead of wrapping. Initialised by `TW_LOCKREF_INIT(references)`, or by zero bytes: unlocked, no
/// references.
#[repr(C)]
pub struct tw_lockref {
    /// Private: programs do not access it.
    pub opaque: u64,
}
stands_for!(tw_lockref, LockRef);

/// Initialises an unlocked `tw_lockref` with `references` references, as TW_LOCKREF_INIT does: TW_OK, or TW_INVALID
/// above TW_REFERENCES_MAX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_init(lockref: *mut tw_lockref, references: u32) -> tw_result {
    if references > COUNT_MAX {
        return TW_INVALID;
    }
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { lockref.cast::<LockRef>().write(LockRef::new(references)) };
    TW_OK
}

functions! {
    /// Adds a reference; the caller already has one.
    tw_lockref_get(lockref: *mut tw_lockref) = lockref.get();
    /// Adds a reference if the count is not 0 and the object is not dead; returns whether it did.
    #[must_use]
    tw_lockref_get_not_zero(lockref: *mut tw_lockref) -> bool = lockref.get_not_zero();
    /// Adds a reference, even if the count is 0, unless the object is dead; returns whether it did.
    #[must_use]
    tw_lockref_get_not_dead(lockref: *mut tw_lockref) -> bool = lockref.get_not_dead().is_some();
    /// Adds a reference like tw_lockref_get_not_zero and returns true, or changes nothing, acquires the lock and
    /// returns false: the caller may then revive the object by tw_lockref_get_locked.
    #[must_use]
    tw_lockref_get_or_lock(lockref: *mut tw_lockref) -> bool = done_or_locked(lockref.get_or_lock());
    /// Drops a reference and returns how many are left. The thread that drops the last one sees what the others wrote
    /// before they dropped theirs.
    tw_lockref_put(lockref: *mut tw_lockref) -> u32 = lockref.put();
    /// Drops a reference unless it is the last; returns whether it did.
    #[must_use]
    tw_lockref_put_not_last(lockref: *mut tw_lockref) -> bool = lockref.put_not_last();
    /// Drops a reference and returns true unless it is the last. Otherwise returns false: the caller keeps the
    /// reference and holds the lock, and can take the object out of wherever others find it, mark it dead, and then
    /// unlock.
    #[must_use]
    tw_lockref_put_or_lock(lockref: *mut tw_lockref) -> bool = done_or_locked(lockref.put_or_lock());
}

/// Keeps the lock if there is a guard; returns whether there is none.
fn done_or_locked(guard: Option<LockRefGuard<'_>>) -> bool {
    guard.map(mem::forget).is_none()
}

functions! {
    /// Marks the object dead: get_not_zero, get_not_dead and get_or_lock add no reference from now on. The caller does
    /// not hold the lock.
    tw_lockref_mark_dead(lockref: *mut tw_lockref) = lockref.mark_dead();
    /// Returns the number of references at this moment.
    tw_lockref_count(lockref: *const tw_lockref) -> u32 = lockref.count();
    /// Returns whether the object has been marked dead.
    tw_lockref_is_dead(lockref: *const tw_lockref) -> bool = lockref.is_dead();
    /// Acquires the lock: no other thread can lock, nor change the count.
    tw_lockref_lock(lockref: *mut tw_lockref) = RawLock::lock(lockref);
    /// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_lockref_trylock(lockref: *mut tw_lockref) -> tw_result = tried(RawLock::try_lock(lockref));
    /// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_lockref_lock_for(lockref: *mut tw_lockref, timeout_ns: u64) -> tw_result =
        timed(lockref.lock_until(time::after(timeout_ns)));
    /// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
    #[must_use]
    tw_lockref_lock_until(lockref: *mut tw_lockref, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| lockref.lock_until(at));
    /// Releases the lock, which the calling thread holds.
    tw_lockref_unlock(lockref: *mut tw_lockref) = lockref.unlock();
    /// Adds a reference, even if the count is 0, and returns how many there were. The caller holds the lock.
    tw_lockref_get_locked(lockref: *mut tw_lockref) -> u32 = with_lock(lockref, |guard| guard.get());
    /// Drops a reference and returns how many are left. The caller holds the lock.
    tw_lockref_put_locked(lockref: *mut tw_lockref) -> u32 = with_lock(lockref, |guard| guard.put());
    /// Marks the object dead, like tw_lockref_mark_dead. The caller holds the lock.
    tw_lockref_mark_dead_locked(lockref: *mut tw_lockref) = with_lock(lockref, |guard| guard.mark_dead());
}

/// Runs `change` with a guard of the lock, which stays held.
///
/// # Safety
/// The caller holds the lock.
unsafe fn with_lock<R>(lockref: &LockRef, change: impl FnOnce(&LockRefGuard<'_>) -> R) -> R {
    // SAFETY: contract of `with_lock`; every function here forgets its guard, including this one.
    let guard = mem::ManuallyDrop::new(unsafe { lockref.guard_unchecked() });
    change(&guard)
}
