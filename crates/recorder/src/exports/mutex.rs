//! `pthread_mutex_*`.

use crate::acquire::{self, Acquisition};
use crate::alone;
use crate::locks::Kind;
use crate::real;
use libc::{c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use turnwise_interpose::export_with_caller;
use turnwise_recording::Op;

#[inline(always)]
fn place(object: *mut pthread_mutex_t, site: u64) -> Acquisition {
    Acquisition { kind: Kind::Mutex, address: object as u64, site: Op::Acquire.at(site) }
}

/// # Safety
/// As POSIX says; so for all functions here.
pub(super) unsafe extern "C" fn lock(object: *mut pthread_mutex_t, site: u64) -> c_int {
    let attempt = move || match alone::has_it_at_once(object) {
        // SAFETY: the caller's mutex.
        true => unsafe { real::mutex_lock(object) },
        // SAFETY: the caller's mutex.
        false => unsafe { real::mutex_trylock(object) },
    };
    // SAFETY: the caller's mutex.
    acquire::lock(place(object, site), attempt, move || unsafe { real::mutex_lock(object) })
}

/// # Safety
/// As POSIX says.
pub(super) unsafe extern "C" fn trylock(object: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the caller's mutex.
    acquire::try_lock(place(object, site), move || unsafe { real::mutex_trylock(object) })
}

/// # Safety
/// As POSIX says.
pub(super) unsafe extern "C" fn timedlock(object: *mut pthread_mutex_t, at: *const timespec, site: u64) -> c_int {
    // SAFETY: the caller's mutex.
    let attempt = move || unsafe { real::mutex_trylock(object) };
    // SAFETY: the caller's mutex and time.
    acquire::lock(place(object, site), attempt, move || unsafe { real::mutex_timedlock(object, at) })
}

/// # Safety
/// As POSIX says.
unsafe extern "C" fn clocklock(
    object: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the caller's mutex.
    let attempt = move || unsafe { real::mutex_trylock(object) };
    // SAFETY: the caller's mutex and time.
    acquire::lock(place(object, site), attempt, move || unsafe { real::mutex_clocklock(object, clock, at) })
}

/// # Safety
/// As POSIX says.
pub(super) unsafe extern "C" fn init(
    object: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    site: u64,
) -> c_int {
    // SAFETY: the caller's memory.
    let result = unsafe { real::mutex_init(object, attributes) };
    if result == 0 {
        acquire::created(Kind::Mutex, object as u64, site);
    }
    result
}

export_with_caller! {
    /// Acquires.
    pthread_mutex_lock(*mut pthread_mutex_t) -> lock, "rsi", "x1";
    /// Acquires if that is possible at once, or EBUSY.
    pthread_mutex_trylock(*mut pthread_mutex_t) -> trylock, "rsi", "x1";
    /// Acquires, or ETIMEDOUT at a time on the wall clock.
    pthread_mutex_timedlock(*mut pthread_mutex_t, *const timespec) -> timedlock, "rdx", "x2";
    /// Acquires, or ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_mutex_clocklock(*mut pthread_mutex_t, clockid_t, *const timespec) -> clocklock, "rcx", "x3";
    /// Makes a mutex.
    pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> init, "rdx", "x2";
    /// Another name.
    __pthread_mutex_lock(*mut pthread_mutex_t) -> lock, "rsi", "x1";
    /// Another name.
    __pthread_mutex_trylock(*mut pthread_mutex_t) -> trylock, "rsi", "x1";
    /// Another name.
    __pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> init, "rdx", "x2";
}

/// Releases.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_unlock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's mutex.
    acquire::unlock(object as u64, move || unsafe { real::mutex_unlock(object) })
}

/// Ends a mutex's life.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_destroy(object: *mut pthread_mutex_t) -> c_int {
    acquire::destroyed(object as u64);
    // SAFETY: the caller's mutex.
    unsafe { real::mutex_destroy(object) }
}

/// Another name.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __pthread_mutex_unlock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the same function.
    unsafe { pthread_mutex_unlock(object) }
}

/// Another name.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __pthread_mutex_destroy(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the same function.
    unsafe { pthread_mutex_destroy(object) }
}
