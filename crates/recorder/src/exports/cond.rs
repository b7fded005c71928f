//! `pthread_cond_*`. The waits jump into `c/wait.c`, which calls back through [`OPS`].

use crate::acquire;
use crate::cond::{self, Wait};
use crate::real;
use core::ffi::c_void;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use turnwise_interpose::{export_with_static, with_caller};
use turnwise_recording::{Class, Op};

/// # Safety
/// As POSIX says; so for all functions here.
pub(super) unsafe extern "C" fn signal(object: *mut pthread_cond_t, site: u64) -> c_int {
    cond::signalled(object.cast(), site, Op::Signal);
    // SAFETY: the caller's object.
    unsafe { real::cond_signal(object) }
}

/// # Safety
/// As POSIX says.
pub(super) unsafe extern "C" fn broadcast(object: *mut pthread_cond_t, site: u64) -> c_int {
    cond::signalled(object.cast(), site, Op::Broadcast);
    // SAFETY: the caller's object.
    unsafe { real::cond_broadcast(object) }
}

init!(pthread_cond_t, *const pthread_condattr_t, Class::Condition, real::cond_init);

with_caller! {
    /// Wakes one waiter.
    #[unsafe(export_name = "turnwise_pthread_cond_signal")]
    pub(crate) pthread_cond_signal(*mut pthread_cond_t) -> signal, "rsi", "x1";
    /// Wakes all waiters.
    #[unsafe(export_name = "turnwise_pthread_cond_broadcast")]
    pub(crate) pthread_cond_broadcast(*mut pthread_cond_t) -> broadcast, "rsi", "x1";
    /// Makes a condition variable.
    #[unsafe(export_name = "turnwise_pthread_cond_init")]
    pub(crate) pthread_cond_init(*mut pthread_cond_t, *const pthread_condattr_t) -> init, "rdx", "x2";
}

/// Destroys a condition variable.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_destroy")]
pub(crate) unsafe extern "C" fn pthread_cond_destroy(object: *mut pthread_cond_t) -> c_int {
    acquire::destroyed(object as u64);
    // SAFETY: the caller's object.
    unsafe { real::cond_destroy(object) }
}

export_with_static! {
    OPS;
    /// Releases the mutex, waits, and reacquires it.
    #[unsafe(export_name = "turnwise_pthread_cond_wait")]
    pthread_cond_wait(*mut pthread_cond_t, *mut pthread_mutex_t) -> turnwise_record_wait, "rdx", "x2";
    /// Waits as `pthread_cond_wait` does, until a time on the condition variable's clock.
    #[unsafe(export_name = "turnwise_pthread_cond_timedwait")]
    pthread_cond_timedwait(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec)
        -> turnwise_record_timedwait, "rcx", "x3";
    /// Waits as `pthread_cond_wait` does, until a time on a clock of the caller's choice.
    #[unsafe(no_mangle)]
    pthread_cond_clockwait(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec)
        -> turnwise_record_clockwait, "r8", "x4";
}

// SAFETY: `c/wait.c` defines them; they are jumped to, never called, so their arguments do not appear here.
unsafe extern "C" {
    fn turnwise_record_wait();
    fn turnwise_record_timedwait();
    fn turnwise_record_clockwait();
}

/// `struct recorder_ops` of `c/wait.c`.
#[repr(C)]
pub(super) struct Ops {
    begin: unsafe extern "C" fn(*mut Wait),
    end: unsafe extern "C" fn(*mut Wait, c_int),
    wait: extern "C" fn() -> *mut c_void,
    timedwait: extern "C" fn() -> *mut c_void,
    clockwait: extern "C" fn() -> *mut c_void,
}

/// The functions that `c/wait.c` may call.
pub(super) static OPS: Ops =
    Ops { begin: cond::begin, end: cond::end, wait: next::<0>, timedwait: next::<1>, clockwait: next::<2> };

/// Returns the next library's wait of this number.
extern "C" fn next<const NUMBER: usize>() -> *mut c_void {
    [&real::COND_WAIT, &real::COND_TIMEDWAIT, &real::COND_CLOCKWAIT][NUMBER].get()
}
