//! `pthread_mutex_*`, and glibc's aliases of them.

use crate::alone;
use crate::real;
use libc::{c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use turnwise_interpose::export_with_caller;
use turnwise_recording::{Class, Op};

/// Makes a call's attempt before it waits.
///
/// # Safety
/// As POSIX says of `pthread_mutex_lock`.
#[inline(always)]
unsafe fn attempt(object: *mut pthread_mutex_t) -> c_int {
    match alone::has_it_at_once(object) {
        // SAFETY: the caller's mutex.
        true => unsafe { real::mutex_lock(object) },
        // SAFETY: the caller's mutex.
        false => unsafe { real::mutex_trylock(object) },
    }
}

acquisitions!(pthread_mutex_t, Class::Mutex, Op::Acquire;
    lock = real::mutex_lock, attempt; trylock = real::mutex_trylock;
    timedlock = real::mutex_timedlock; clocklock = real::mutex_clocklock);
init!(pthread_mutex_t, *const pthread_mutexattr_t, Class::Mutex, real::mutex_init);
endings!(pthread_mutex_t; pthread_mutex_unlock __pthread_mutex_unlock = real::mutex_unlock;
    pthread_mutex_destroy __pthread_mutex_destroy = real::mutex_destroy);

export_with_caller! {
    /// Acquires the mutex.
    pthread_mutex_lock(*mut pthread_mutex_t) -> lock, "rsi", "x1";
    /// Acquires the mutex if it is available immediately, or returns EBUSY.
    pthread_mutex_trylock(*mut pthread_mutex_t) -> trylock, "rsi", "x1";
    /// Acquires the mutex, or returns ETIMEDOUT at a time on the wall clock.
    pthread_mutex_timedlock(*mut pthread_mutex_t, *const timespec) -> timedlock, "rdx", "x2";
    /// Acquires the mutex, or returns ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_mutex_clocklock(*mut pthread_mutex_t, clockid_t, *const timespec) -> clocklock, "rcx", "x3";
    /// Makes a mutex.
    pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> init, "rdx", "x2";
    /// glibc's alias of `pthread_mutex_lock`.
    __pthread_mutex_lock(*mut pthread_mutex_t) -> lock, "rsi", "x1";
    /// glibc's alias of `pthread_mutex_trylock`.
    __pthread_mutex_trylock(*mut pthread_mutex_t) -> trylock, "rsi", "x1";
    /// glibc's alias of `pthread_mutex_init`.
    __pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> init, "rdx", "x2";
}
