//! The condition variable of the C API: `tw_cond`.

use crate::mutex::tw_mutex;
use crate::result::{timed, tw_result};
use crate::time::{self, until};
use crate::{functions, stands_for};
use core::ffi::c_int;
use turnwise::Condvar;

/// A condition variable for `tw_mutex`. A wait may wake up spuriously: check the condition again. Threads may wait
/// with different mutexes, though one is quicker. Initialised by `TW_COND_INIT` or zero bytes: no thread waits.
#[repr(C)]
pub struct tw_cond {
    /// Private: programs do not access it.
    pub opaque: [u32; 4],
}
stands_for!(tw_cond, Condvar);

/// Initialises a condition variable on which no thread waits, as TW_COND_INIT does. Its memory may be freed when no
/// thread is in a wait, nor in a `tw_cond_broadcast` that it calls without the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_init(cond: *mut tw_cond) {
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { cond.write(tw_cond { opaque: [0; 4] }) }
}

functions! {
    /// Releases `mutex`, which the caller holds, waits for a signal, and acquires the mutex again.
    tw_cond_wait(cond: *mut tw_cond, mutex: *mut tw_mutex) = _ = cond.wait_raw(tw_mutex::of(mutex), None);
    /// Waits like tw_cond_wait, for a limited time: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds. The caller
    /// holds the mutex either way.
    tw_cond_wait_for(cond: *mut tw_cond, mutex: *mut tw_mutex, timeout_ns: u64) -> tw_result =
        timed(!cond.wait_raw(tw_mutex::of(mutex), Some(time::after(timeout_ns))).timed_out());
    /// Waits like tw_cond_wait, until a point in time: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID
    /// at once if there is no such clock. The caller holds the mutex in any case.
    tw_cond_wait_until(cond: *mut tw_cond, mutex: *mut tw_mutex, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| !cond.wait_raw(tw_mutex::of(mutex), Some(at)).timed_out());
    /// Wakes one waiting thread, if there is one: the one that has slept longest, but real-time threads first.
    tw_cond_signal(cond: *mut tw_cond) = cond.notify_one();
    /// Wakes all waiting threads: one at once and each of the others when the mutex is free for it; all at once if
    /// there were ever waiters with different mutexes.
    tw_cond_broadcast(cond: *mut tw_cond) = cond.notify_all();
}
