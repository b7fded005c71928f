//! The mutex of the C API: `tw_mutex`.

use crate::result::{timed, tried, tw_result};
use crate::time::{self, until};
use crate::{functions, stands_for};
use core::ffi::c_int;
use turnwise::RawMutex;
use turnwise::raw::{RawLock, RawTimedLock};

/// A mutex. It is not recursive: a thread that locks it twice deadlocks. Waiters spin in a queue while the owner runs,
/// then sleep; no waiter is overtaken for ever. Initialised by `TW_MUTEX_INIT` or zero bytes: unlocked.
#[repr(C)]
pub struct tw_mutex {
    /// Private: programs do not access it.
    pub opaque: [u32; 2],
}
stands_for!(tw_mutex, RawMutex);

/// Initialises an unlocked mutex, as TW_MUTEX_INIT does. There is no function to destroy one: its memory may be freed
/// as soon as no thread uses it, even right after the last unlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_init(mutex: *mut tw_mutex) {
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { mutex.write(tw_mutex { opaque: [0; 2] }) }
}

functions! {
    /// Acquires the mutex; waits until it is free. The calling thread must not hold it already.
    tw_mutex_lock(mutex: *mut tw_mutex) = mutex.lock();
    /// Acquires the mutex if it is free: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_mutex_trylock(mutex: *mut tw_mutex) -> tw_result = tried(mutex.try_lock());
    /// Acquires the mutex: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_mutex_lock_for(mutex: *mut tw_mutex, timeout_ns: u64) -> tw_result =
        timed(mutex.try_lock() || mutex.lock_until(time::after(timeout_ns)));
    /// Acquires the mutex: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
    #[must_use]
    tw_mutex_lock_until(mutex: *mut tw_mutex, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| mutex.lock_until(at));
    /// Releases the mutex, which the calling thread holds.
    tw_mutex_unlock(mutex: *mut tw_mutex) = mutex.unlock();
    /// Releases the mutex to the thread that has slept for it longest, if one sleeps: slower, but newcomers cannot take
    /// it.
    tw_mutex_unlock_fair(mutex: *mut tw_mutex) = mutex.unlock_fair();
    /// Returns whether the mutex is held at this moment: for assertions.
    tw_mutex_is_locked(mutex: *const tw_mutex) -> bool = mutex.is_locked();
}
