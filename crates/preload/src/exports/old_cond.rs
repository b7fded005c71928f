//! `pthread_cond_*@GLIBC_2.2.5`: condition variables of binaries that were linked on x86-64 before 2003. They have 24
//! bytes, of which ours uses 16, and are never process-shared. No other bytes may be written or read.

use crate::cond;
use crate::layout::Cond;
use libc::{EINVAL, c_int, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use turnwise_interpose::export_with_static;

/// Initialises a condition variable. As in the C library, attributes other than the default ones are refused.
///
/// # Safety
/// As POSIX states; also for all functions below.
#[unsafe(export_name = "turnwise_pthread_cond_init_2_2_5")]
unsafe extern "C" fn init(object: *mut pthread_cond_t, attributes: *const pthread_condattr_t) -> c_int {
    // SAFETY: contract of `init` (POSIX): the attributes are initialised; in this ABI they are an `int`.
    if !attributes.is_null() && unsafe { attributes.cast::<c_int>().read() } != 0 {
        return EINVAL;
    }
    // SAFETY: contract of `init` (POSIX): the memory is writable; zero bytes are a condition variable.
    unsafe { object.cast::<Cond>().write_bytes(0, 1) };
    0
}

/// Destroys a condition variable.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_destroy_2_2_5")]
unsafe extern "C" fn destroy(object: *mut pthread_cond_t) -> c_int {
    // SAFETY: contract of `destroy`: the pointer is to a live object.
    cond::destroy(unsafe { Cond::of(object) });
    0
}

/// Wakes one waiter, if there is any.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_signal_2_2_5")]
unsafe extern "C" fn signal(object: *mut pthread_cond_t) -> c_int {
    // SAFETY: contract of `signal`: the pointer is to a live object.
    cond::signal(unsafe { Cond::of(object) });
    0
}

/// Wakes all waiters, if there are any.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_broadcast_2_2_5")]
unsafe extern "C" fn broadcast(object: *mut pthread_cond_t) -> c_int {
    // SAFETY: contract of `broadcast`: the pointer is to a live object.
    cond::broadcast(unsafe { Cond::of(object) });
    0
}

export_with_static! {
    super::cond::OLD_OPS;
    /// Releases the mutex, waits, and acquires the mutex again.
    #[unsafe(export_name = "turnwise_pthread_cond_wait_2_2_5")]
    wait(*mut pthread_cond_t, *mut pthread_mutex_t) -> turnwise_cond_wait, "rdx", "x2";
    /// Waits like `pthread_cond_wait`, until a time on the wall clock.
    #[unsafe(export_name = "turnwise_pthread_cond_timedwait_2_2_5")]
    timedwait(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> turnwise_cond_timedwait, "rcx", "x3";
}

// SAFETY: `c/wait.c` defines them; they are jumped to, never called, so their arguments do not appear here.
unsafe extern "C" {
    fn turnwise_cond_wait();
    fn turnwise_cond_timedwait();
}
