//! The spin lock of the C API: `tw_spinlock`.

use crate::result::{TW_INVALID, timed, tried, tw_result};
use crate::{stands_for, time};
use core::ffi::c_int;
use turnwise::RawSpinLock;
use turnwise::backoff::Exponential;
use turnwise::raw::{RawLock, RawTimedLock};

type Lock = RawSpinLock<Exponential>;

/// A spin lock: waiters poll, less and less often, and never sleep. For sections of a few instructions, with no more
/// threads than CPUs; everywhere else use `tw_mutex`. Waiters acquire it in no particular order. Initialised by
/// `TW_SPINLOCK_INIT` or zero bytes: free.
#[repr(C)]
pub struct tw_spinlock {
    /// Private: programs do not access it.
    pub opaque: u32,
}
stands_for!(tw_spinlock, Lock);

/// Initialises a free spin lock, as TW_SPINLOCK_INIT does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_spinlock_init(lock: *mut tw_spinlock) {
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { lock.write(tw_spinlock { opaque: 0 }) }
}

/// Acquires the lock; spins until it is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_spinlock_lock(lock: *mut tw_spinlock) {
    // SAFETY: contract of `of`: the header requires a pointer to a live spin lock.
    unsafe { tw_spinlock::of(lock) }.lock();
}

/// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_spinlock_trylock(lock: *mut tw_spinlock) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live spin lock.
    tried(unsafe { tw_spinlock::of(lock) }.try_lock())
}

/// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_spinlock_lock_for(lock: *mut tw_spinlock, timeout_ns: u64) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live spin lock.
    timed(unsafe { tw_spinlock::of(lock) }.lock_until(time::after(timeout_ns)))
}

/// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_spinlock_lock_until(lock: *mut tw_spinlock, clock: c_int, at_ns: u64) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live spin lock.
    time::at(clock, at_ns).map_or(TW_INVALID, |at| timed(unsafe { tw_spinlock::of(lock) }.lock_until(at)))
}

/// Releases the lock, which the caller holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_spinlock_unlock(lock: *mut tw_spinlock) {
    // SAFETY: contract of `tw_spinlock_unlock`: the pointer is to a live spin lock, and the caller holds the lock.
    unsafe { tw_spinlock::of(lock).unlock() }
}
