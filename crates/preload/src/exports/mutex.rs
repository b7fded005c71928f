//! `pthread_mutex_*`.

use crate::layout::Mutex;
use crate::{mutex, real, time};
use libc::{CLOCK_REALTIME, c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};

/// Acquires; the fast path is one load of the kind, one of the policy, one compare-exchange.
///
/// # Safety
/// As POSIX says; so for all functions here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_lock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's mutex.
    let mutex = unsafe { Mutex::of(object) };
    if mutex.is_fast() {
        mutex.lock.adaptive().lock();
        return 0;
    }
    mutex::lock(mutex)
}

/// Releases.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_unlock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's mutex.
    let mutex = unsafe { Mutex::of(object) };
    if mutex.is_fast() {
        // SAFETY: POSIX requires that the caller has it.
        unsafe { mutex.lock.adaptive().unlock() };
        return 0;
    }
    mutex::unlock(mutex)
}

/// Acquires if that is possible at once, or EBUSY.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_trylock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's mutex.
    let mutex = unsafe { Mutex::of(object) };
    if mutex.is_fast() {
        return if mutex.lock.adaptive().try_lock() { 0 } else { libc::EBUSY };
    }
    mutex::try_lock(mutex)
}

/// Acquires, or ETIMEDOUT at a time on the wall clock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_timedlock(object: *mut pthread_mutex_t, at: *const timespec) -> c_int {
    // SAFETY: the caller's mutex and time.
    unsafe { lock_until(object, CLOCK_REALTIME, at) }
        // SAFETY: the C library's mutex.
        .unwrap_or_else(|| unsafe { real::mutex_timedlock(object, at) })
}

/// Acquires, or ETIMEDOUT at a time on a clock of the caller's choice.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_clocklock(
    object: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the caller's mutex and time.
    unsafe { lock_until(object, clock, at) }
        // SAFETY: the C library's mutex.
        .unwrap_or_else(|| unsafe { real::mutex_clocklock(object, clock, at) })
}

/// # Safety
/// `object` and `at` are the caller's. `None`: the C library's mutex.
unsafe fn lock_until(object: *mut pthread_mutex_t, clock: clockid_t, at: *const timespec) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let (mutex, at) = unsafe { (Mutex::of(object), at.as_ref()) };
    match (time::clock(clock), at) {
        (Ok(clock), Some(at)) => mutex::lock_until(mutex, time::deadline(clock, at)),
        _ if mutex::is_foreign(mutex) => None,
        _ => Some(libc::EINVAL),
    }
}

/// Makes a mutex.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_init(
    object: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    // SAFETY: the caller's memory.
    unsafe { mutex::init(object, attributes) }
}

/// Ends a mutex's life, or EBUSY while it is locked.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_destroy(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's mutex.
    mutex::destroy(unsafe { Mutex::of(object) })
}

/// A second name for a function, as glibc exports it for old binaries.
macro_rules! alias {
    ($($alias:ident = $name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            /// Another name.
            ///
            /// # Safety
            /// As POSIX says.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $alias($($arg: $type),*) -> c_int {
                // SAFETY: the same function.
                unsafe { $name($($arg),*) }
            }
        )*
    };
}
pub(super) use alias;

alias! {
    __pthread_mutex_lock = pthread_mutex_lock(object: *mut pthread_mutex_t);
    __pthread_mutex_unlock = pthread_mutex_unlock(object: *mut pthread_mutex_t);
    __pthread_mutex_trylock = pthread_mutex_trylock(object: *mut pthread_mutex_t);
    __pthread_mutex_destroy = pthread_mutex_destroy(object: *mut pthread_mutex_t);
    __pthread_mutex_init = pthread_mutex_init(object: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t);
}
