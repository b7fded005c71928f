//! The reference count with a lock of the C API: `tw_lockref`.

use crate::result::{TW_INVALID, TW_OK, timed, tried, tw_result};
use crate::{stands_for, time};
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

/// Adds a reference; the caller already has one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_get(lockref: *mut tw_lockref) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.get();
}

/// Adds a reference if the count is not 0 and the object is not dead; returns whether it did.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_get_not_zero(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.get_not_zero()
}

/// Adds a reference, even if the count is 0, unless the object is dead; returns whether it did.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_get_not_dead(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.get_not_dead().is_some()
}

/// Adds a reference like tw_lockref_get_not_zero and returns true, or changes nothing, acquires the lock and returns
/// false: the caller may then revive the object by tw_lockref_get_locked.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_get_or_lock(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    done_or_locked(unsafe { tw_lockref::of(lockref) }.get_or_lock())
}

/// Drops a reference and returns how many are left. The thread that drops the last one sees what the others wrote
/// before they dropped theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_put(lockref: *mut tw_lockref) -> u32 {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.put()
}

/// Drops a reference unless it is the last; returns whether it did.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_put_not_last(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.put_not_last()
}

/// Drops a reference and returns true unless it is the last. Otherwise returns false: the caller keeps the reference
/// and holds the lock, and can take the object out of wherever others find it, mark it dead, and then unlock.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_put_or_lock(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    done_or_locked(unsafe { tw_lockref::of(lockref) }.put_or_lock())
}

/// Keeps the lock if there is a guard; returns whether there is none.
fn done_or_locked(guard: Option<LockRefGuard<'_>>) -> bool {
    guard.map(mem::forget).is_none()
}

/// Marks the object dead: get_not_zero, get_not_dead and get_or_lock add no reference from now on. The caller does not
/// hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_mark_dead(lockref: *mut tw_lockref) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.mark_dead();
}

/// Returns the number of references at this moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_count(lockref: *const tw_lockref) -> u32 {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.count()
}

/// Returns whether the object has been marked dead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_is_dead(lockref: *const tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.is_dead()
}

/// Acquires the lock: no other thread can lock, nor change the count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_lock(lockref: *mut tw_lockref) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    RawLock::lock(unsafe { tw_lockref::of(lockref) });
}

/// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_trylock(lockref: *mut tw_lockref) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    tried(RawLock::try_lock(unsafe { tw_lockref::of(lockref) }))
}

/// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_lock_for(lockref: *mut tw_lockref, timeout_ns: u64) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    timed(unsafe { tw_lockref::of(lockref) }.lock_until(time::after(timeout_ns)))
}

/// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_lock_until(lockref: *mut tw_lockref, clock: c_int, at_ns: u64) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    time::at(clock, at_ns).map_or(TW_INVALID, |at| timed(unsafe { tw_lockref::of(lockref) }.lock_until(at)))
}

/// Releases the lock, which the calling thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_unlock(lockref: *mut tw_lockref) {
    // SAFETY: contract of `tw_lockref_unlock`: the caller holds the lock; every function here forgets its guard.
    unsafe { tw_lockref::of(lockref).unlock() }
}

/// Adds a reference, even if the count is 0, and returns how many there were. The caller holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_get_locked(lockref: *mut tw_lockref) -> u32 {
    // SAFETY: contract of `tw_lockref_get_locked`, which is that of `with_lock`: the caller holds the lock.
    unsafe { with_lock(lockref, |guard| guard.get()) }
}

/// Drops a reference and returns how many are left. The caller holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_put_locked(lockref: *mut tw_lockref) -> u32 {
    // SAFETY: contract of `tw_lockref_put_locked`, which is that of `with_lock`: the caller holds the lock.
    unsafe { with_lock(lockref, |guard| guard.put()) }
}

/// Marks the object dead, like tw_lockref_mark_dead. The caller holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_mark_dead_locked(lockref: *mut tw_lockref) {
    // SAFETY: contract of `tw_lockref_mark_dead_locked`, which is that of `with_lock`: the caller holds the lock.
    unsafe { with_lock(lockref, |guard| guard.mark_dead()) }
}

/// Runs `change` with a guard of the lock, which stays held.
///
/// # Safety
/// `lockref` points to a live object, and the caller holds its lock.
unsafe fn with_lock<R>(lockref: *mut tw_lockref, change: impl FnOnce(&LockRefGuard<'_>) -> R) -> R {
    // SAFETY: contract of `with_lock`; every function here forgets its guard, including this one.
    let guard = mem::ManuallyDrop::new(unsafe { tw_lockref::of(lockref).guard_unchecked() });
    change(&guard)
}
