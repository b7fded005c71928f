//! `tw_cond`.

use crate::mutex::tw_mutex;
use crate::result::{TW_INVALID, timed, tw_result};
use crate::{stands_for, time};
use core::ffi::c_int;
use turnwise::RawCondvar;

/// A condition variable for `tw_mutex`. A wait may return for no reason: look at the condition again. Threads may wait
/// with different mutexes, though one is quicker. `TW_COND_INIT` or zero bytes: nobody waits.
#[repr(C)]
pub struct tw_cond {
    /// Not for the program.
    pub opaque: [u32; 3],
}
stands_for!(tw_cond, RawCondvar);

/// Makes a condition variable that nobody waits for, as TW_COND_INIT does. Its memory may be freed when no thread is
/// in a wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_init(cond: *mut tw_cond) {
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { cond.write(tw_cond { opaque: [0; 3] }) }
}

/// Releases `mutex`, which the caller has, waits for a signal, and acquires it again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_wait(cond: *mut tw_cond, mutex: *mut tw_mutex) {
    // SAFETY: the caller's objects; it has the mutex.
    unsafe { tw_cond::of(cond).wait(tw_mutex::of(mutex), None) };
}

/// Like tw_cond_wait: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds. The caller has the mutex either way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_wait_for(cond: *mut tw_cond, mutex: *mut tw_mutex, timeout_ns: u64) -> tw_result {
    // SAFETY: as above.
    let ended = unsafe { tw_cond::of(cond).wait(tw_mutex::of(mutex), Some(time::after(timeout_ns))) };
    timed(!ended.timed_out())
}

/// Like tw_cond_wait: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID at once if there is no such
/// clock. The caller has the mutex in any case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_wait_until(
    cond: *mut tw_cond,
    mutex: *mut tw_mutex,
    clock: c_int,
    at_ns: u64,
) -> tw_result {
    let Some(deadline) = time::at(clock, at_ns) else { return TW_INVALID };
    // SAFETY: as above.
    let ended = unsafe { tw_cond::of(cond).wait(tw_mutex::of(mutex), Some(deadline)) };
    timed(!ended.timed_out())
}

/// Wakes one of the threads that wait, if there is any: who has slept longest, but real-time threads first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_signal(cond: *mut tw_cond) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_cond::of(cond) }.notify_one();
}

/// Wakes all threads that wait: one at once, each of the others when the mutex is free for it; all at once if there
/// were ever waiters with different mutexes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_cond_broadcast(cond: *mut tw_cond) {
    // SAFETY: contract of `of`: the header requires a pointer to a live object.
    unsafe { tw_cond::of(cond) }.notify_all();
}
