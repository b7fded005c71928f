//! The spin lock of the C API: `tw_spinlock`.

use crate::result::{timed, tried, tw_result};
use crate::time::{self, until};
use crate::{functions, stands_for};
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

functions! {
    /// Acquires the lock; spins until it is free.
    tw_spinlock_lock(lock: *mut tw_spinlock) = lock.lock();
    /// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_spinlock_trylock(lock: *mut tw_spinlock) -> tw_result = tried(lock.try_lock());
    /// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_spinlock_lock_for(lock: *mut tw_spinlock, timeout_ns: u64) -> tw_result =
        timed(lock.lock_until(time::after(timeout_ns)));
    /// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
    #[must_use]
    tw_spinlock_lock_until(lock: *mut tw_spinlock, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| lock.lock_until(at));
    /// Releases the lock, which the caller holds.
    tw_spinlock_unlock(lock: *mut tw_spinlock) = lock.unlock();
}
