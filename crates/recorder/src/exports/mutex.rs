//! `pthread_mutex_*`, and glibc's aliases of them.

use crate::alone;
use crate::real;
use libc::{c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t};
use turnwise_interpose::c;
use turnwise_recording::{Class, Op};

/// Makes a call's attempt before it waits.
///
/// # Safety
/// As POSIX says of `pthread_mutex_lock`.
#[inline(always)]
unsafe fn attempt(object: *mut pthread_mutex_t) -> c_int {
    match alone::has_it_at_once(object) {
        // SAFETY: the caller's mutex.
        true => unsafe { real::pthread_mutex_lock(object) },
        // SAFETY: the caller's mutex.
        false => unsafe { real::pthread_mutex_trylock(object) },
    }
}

acquisitions! {
    pthread_mutex_t, Class::Mutex, Op::Acquire;
    trylock(pthread_mutex_trylock __pthread_mutex_trylock) = real::pthread_mutex_trylock;
    lock(pthread_mutex_lock __pthread_mutex_lock)() = real::pthread_mutex_lock, attempt;
    timedlock(pthread_mutex_timedlock)(at: c::Time) = real::pthread_mutex_timedlock, real::pthread_mutex_trylock;
    clocklock(pthread_mutex_clocklock)(clock: clockid_t, at: c::Time) =
        real::pthread_mutex_clocklock, real::pthread_mutex_trylock;
}

life! {
    pthread_mutex_t, Class::Mutex;
    init pthread_mutex_init __pthread_mutex_init(*const pthread_mutexattr_t) = real::pthread_mutex_init;
    unlock pthread_mutex_unlock __pthread_mutex_unlock = real::pthread_mutex_unlock;
    destroy pthread_mutex_destroy __pthread_mutex_destroy = real::pthread_mutex_destroy
}
