//! `pthread_cond_*`. The waits jump into `c/wait.c`, which calls back through [`OPS`].

use crate::cond::{self, Wait};
use crate::real;
use core::ffi::c_void;
use libc::{c_int, pthread_cond_t, pthread_condattr_t};
use turnwise_interpose::{c, exports};
use turnwise_recording::{Class, Op};

/// # Safety
/// As POSIX says; so for all functions here.
pub(super) unsafe extern "C" fn signal(object: *mut pthread_cond_t, site: u64) -> c_int {
    cond::signalled(object.cast(), site, Op::Signal);
    // SAFETY: the caller's object.
    unsafe { real::pthread_cond_signal(object) }
}

/// # Safety
/// As POSIX says.
pub(super) unsafe extern "C" fn broadcast(object: *mut pthread_cond_t, site: u64) -> c_int {
    cond::signalled(object.cast(), site, Op::Broadcast);
    // SAFETY: the caller's object.
    unsafe { real::pthread_cond_broadcast(object) }
}

life! {
    pthread_cond_t, Class::Condition;
    init pthread_cond_init(*const pthread_condattr_t) = real::pthread_cond_init;
    destroy pthread_cond_destroy = real::pthread_cond_destroy
}

exports! {
    pthread_cond_signal -> signal;
    pthread_cond_broadcast -> broadcast;
    pthread_cond_wait -> turnwise_record_wait with OPS;
    pthread_cond_timedwait -> turnwise_record_timedwait with OPS;
    pthread_cond_clockwait -> turnwise_record_clockwait with OPS;
}

/// `struct recorder_ops` of `c/wait.c`.
#[repr(C)]
pub(super) struct Ops {
    begin: extern "C" fn(&mut Wait),
    end: extern "C" fn(&Wait, c_int),
    wait: extern "C" fn() -> *mut c_void,
    timedwait: extern "C" fn() -> *mut c_void,
    clockwait: extern "C" fn() -> *mut c_void,
}

/// The functions that `c/wait.c` may call.
pub(super) static OPS: Ops = Ops {
    begin: cond::begin,
    end: cond::end,
    wait: real::pthread_cond_wait::address,
    timedwait: real::pthread_cond_timedwait::address,
    clockwait: real::pthread_cond_clockwait::address,
};
