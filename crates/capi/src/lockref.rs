//! `tw_lockref`.

use crate::result::{TW_BUSY, TW_INVALID, TW_OK, TW_TIMEDOUT, tw_result};
use crate::{stands_for, time};
use core::ffi::c_int;
use core::mem;
use turnwise::lockref::COUNT_MAX;
use turnwise::platform::Deadline;
use turnwise::{LockRef, LockRefGuard};

/// The most references of a `tw_lockref`.
pub const TW_REFERENCES_MAX: u32 = 0x7fff_ffff;
const _: () = assert!(TW_REFERENCES_MAX == COUNT_MAX);

/// A reference count and a lock in 8 bytes: the count changes without the lock while the lock is free. It counts; what
/// the count keeps alive is the program's business. One reference too many or too few aborts the process with a message
/// instead of wrapping. `TW_LOCKREF_INIT(references)`; zero bytes: unlocked, no references.
#[repr(C)]
pub struct tw_lockref {
    /// Not for the program.
    pub opaque: u64,
}
stands_for!(tw_lockref, LockRef);

/// Makes an unlocked one with so many references, as TW_LOCKREF_INIT does: TW_OK, or TW_INVALID above
/// TW_REFERENCES_MAX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_init(lockref: *mut tw_lockref, references: u32) -> tw_result {
    if references > COUNT_MAX {
        return TW_INVALID;
    }
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { lockref.cast::<LockRef>().write(LockRef::new(references)) };
    TW_OK
}

/// Adds a reference to those that the caller has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_get(lockref: *mut tw_lockref) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.get();
}

/// Adds a reference if there is any and the object is not dead; whether it did.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_get_not_zero(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.get_not_zero()
}

/// Adds a reference, also to none, unless the object is dead; whether it did.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_get_not_dead(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.get_not_dead().is_some()
}

/// Adds a reference like tw_lockref_get_not_zero: true. False: nothing changed and the caller has the lock; it may
/// revive the object by tw_lockref_get_locked.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_get_or_lock(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    done_or_locked(unsafe { tw_lockref::of(lockref) }.get_or_lock())
}

/// Gives a reference back; how many are left. Who gives the last one back sees what the others wrote before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_put(lockref: *mut tw_lockref) -> u32 {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.put()
}

/// Gives a reference back unless it is the last; whether it did.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_put_not_last(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.put_not_last()
}

/// Gives a reference back: true. False: it is the last, the caller keeps it and has the lock, and can take the object
/// out of wherever others find it, mark it dead, and then unlock.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_put_or_lock(lockref: *mut tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    done_or_locked(unsafe { tw_lockref::of(lockref) }.put_or_lock())
}

/// Keeps the lock if there is a guard; whether there is none.
fn done_or_locked(guard: Option<LockRefGuard<'_>>) -> bool {
    guard.map(mem::forget).is_none()
}

/// Makes the object one that nobody can find any more: get_not_zero and get_or_lock add no reference from now on. The
/// caller does not have the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_mark_dead(lockref: *mut tw_lockref) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.mark_dead();
}

/// The number of references at this moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_count(lockref: *const tw_lockref) -> u32 {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.count()
}

/// Whether the object was marked dead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_is_dead(lockref: *const tw_lockref) -> bool {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_lockref::of(lockref) }.is_dead()
}

/// Acquires the lock: nobody else can lock, nor change the count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_lock(lockref: *mut tw_lockref) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    mem::forget(unsafe { tw_lockref::of(lockref) }.lock());
}

/// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_trylock(lockref: *mut tw_lockref) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    kept(unsafe { tw_lockref::of(lockref) }.try_lock(), TW_BUSY)
}

/// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_lock_for(lockref: *mut tw_lockref, timeout_ns: u64) -> tw_result {
    // SAFETY: contract of `lock_until`: the header requires a pointer to a live object.
    unsafe { lock_until(lockref, time::after(timeout_ns)) }
}

/// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_lockref_lock_until(lockref: *mut tw_lockref, clock: c_int, at_ns: u64) -> tw_result {
    // SAFETY: contract of `lock_until`: the header requires a pointer to a live object.
    time::at(clock, at_ns).map_or(TW_INVALID, |deadline| unsafe { lock_until(lockref, deadline) })
}

/// # Safety
/// `lockref` is the caller's.
unsafe fn lock_until(lockref: *mut tw_lockref, deadline: Deadline) -> tw_result {
    // SAFETY: the caller's promise.
    kept(unsafe { tw_lockref::of(lockref) }.try_lock_until(deadline), TW_TIMEDOUT)
}

/// Keeps the lock if there is a guard, or answers `otherwise`.
fn kept(guard: Option<LockRefGuard<'_>>, otherwise: tw_result) -> tw_result {
    guard.map(mem::forget).map_or(otherwise, |()| TW_OK)
}

/// Releases the lock, which the calling thread has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_unlock(lockref: *mut tw_lockref) {
    // SAFETY: the caller has it, and every function here forgets its guard.
    unsafe { tw_lockref::of(lockref).force_unlock() }
}

/// Adds a reference, also to none, by whoever has the lock; how many there were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_get_locked(lockref: *mut tw_lockref) -> u32 {
    // SAFETY: the caller has the lock.
    unsafe { with_lock(lockref, |guard| guard.get()) }
}

/// Gives a reference back, by whoever has the lock; how many are left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_put_locked(lockref: *mut tw_lockref) -> u32 {
    // SAFETY: the caller has the lock.
    unsafe { with_lock(lockref, |guard| guard.put()) }
}

/// As tw_lockref_mark_dead, by whoever has the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_lockref_mark_dead_locked(lockref: *mut tw_lockref) {
    // SAFETY: the caller has the lock.
    unsafe { with_lock(lockref, |guard| guard.mark_dead()) }
}

/// # Safety
/// `lockref` is the caller's, and it has the lock.
unsafe fn with_lock<R>(lockref: *mut tw_lockref, change: impl FnOnce(&LockRefGuard<'_>) -> R) -> R {
    // SAFETY: the caller's promise; every function here forgets its guard, this one too.
    let guard = mem::ManuallyDrop::new(unsafe { tw_lockref::of(lockref).guard_unchecked() });
    change(&guard)
}
