//! The functions `pthread_mutex_*`.

use crate::layout::Mutex;
use crate::mutex::Path;
use crate::rules::Caller;
use crate::{mutex, real, time};
use libc::{CLOCK_REALTIME, c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use turnwise::raw::RawLock;
use turnwise_interpose::{export_with_caller, with_caller};

export_with_caller! {
    /// Acquires the mutex, or gives up with ETIMEDOUT at a time on the wall clock.
    pthread_mutex_timedlock(*mut pthread_mutex_t, *const timespec) -> timedlock, "rdx", "x2";
    /// Acquires the mutex, or gives up with ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_mutex_clocklock(*mut pthread_mutex_t, clockid_t, *const timespec) -> clocklock, "rcx", "x3";
    /// Initialises a mutex.
    pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> mutex::init, "rdx", "x2";
    /// Initialises a mutex: glibc's alias of [`pthread_mutex_init`].
    __pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> mutex::init, "rdx", "x2";
}

with_caller! {
    /// Jumps to [`mutex::lock`] from a fast path.
    lock_slowly(*mut pthread_mutex_t) -> mutex::lock, "rsi", "x1";
    /// Jumps to [`mutex::try_lock`] from a fast path.
    try_lock_slowly(*mut pthread_mutex_t) -> mutex::try_lock, "rsi", "x1";
}

/// Acquires the mutex. The fast path is one load of the kind, one of the policy, one compare-exchange, and for kinds
/// that store their owner a load and a store of it.
///
/// # Safety
/// As POSIX states; also for all functions below.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_lock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: contract of `pthread_mutex_lock` (POSIX): the pointer is to a live object.
    let mutex = unsafe { Mutex::of(object) };
    match mutex.path() {
        // SAFETY: contract of `pthread_mutex_lock` (POSIX), which includes that of `lock_plain`.
        Path::Plain => unsafe { mutex::lock_plain(object) },
        // SAFETY: contract of `pthread_mutex_lock` (POSIX), which includes that of `lock_owned`.
        Path::Owned => unsafe { mutex::lock_owned(object) },
        // SAFETY: contract of `pthread_mutex_lock` (POSIX), which includes that of `lock_slowly`.
        Path::Slow => unsafe { lock_slowly(object) },
    }
}

/// Releases the mutex.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_unlock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: contract of `pthread_mutex_unlock` (POSIX): the pointer is to a live object.
    let mutex = unsafe { Mutex::of(object) };
    match mutex.path() {
        // SAFETY: contract of `pthread_mutex_unlock` (POSIX): the caller holds the mutex.
        Path::Plain => unsafe { mutex::unlock_plain(object) },
        // SAFETY: contract of `pthread_mutex_unlock` (POSIX), which includes that of `unlock_owned`.
        Path::Owned => unsafe { mutex::unlock_owned(object) },
        // SAFETY: contract of `pthread_mutex_unlock` (POSIX), which includes that of `unlock`.
        Path::Slow => unsafe { mutex::unlock(object) },
    }
}

/// Acquires the mutex if it is available immediately; EBUSY otherwise.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_trylock(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: contract of `pthread_mutex_trylock` (POSIX): the pointer is to a live object.
    let mutex = unsafe { Mutex::of(object) };
    match mutex.path() {
        Path::Plain if mutex.lock.adaptive().try_lock() => 0,
        Path::Plain => libc::EBUSY,
        // SAFETY: contract of `pthread_mutex_trylock` (POSIX), which includes that of `try_lock_owned`.
        Path::Owned => unsafe { mutex::try_lock_owned(object) },
        // SAFETY: contract of `pthread_mutex_trylock` (POSIX), which includes that of `try_lock_slowly`.
        Path::Slow => unsafe { try_lock_slowly(object) },
    }
}

/// Implements `pthread_mutex_timedlock`.
///
/// # Safety
/// As POSIX says of `pthread_mutex_timedlock`.
pub(super) unsafe extern "C" fn timedlock(object: *mut pthread_mutex_t, at: *const timespec, caller: Caller) -> c_int {
    // SAFETY: contract of `timedlock`, which includes that of `lock_until`.
    unsafe { lock_until(object, CLOCK_REALTIME, at, caller) }
        // SAFETY: contract of `timedlock`, which is that of `real::mutex_timedlock`: the object is the C library's.
        .unwrap_or_else(|| unsafe { real::mutex_timedlock(object, at) })
}

/// Implements `pthread_mutex_clocklock`.
///
/// # Safety
/// As POSIX says of `pthread_mutex_clocklock`.
unsafe extern "C" fn clocklock(
    object: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: contract of `clocklock`, which includes that of `lock_until`.
    unsafe { lock_until(object, clock, at, caller) }
        // SAFETY: contract of `clocklock`, which is that of `real::mutex_clocklock`: the object is the C library's.
        .unwrap_or_else(|| unsafe { real::mutex_clocklock(object, clock, at) })
}

/// Acquires the mutex, or gives up with ETIMEDOUT when `clock` shows `at`. `None`: the mutex is the C library's.
///
/// # Safety
/// `object` is the caller's mutex; `at` is null or points to a time.
unsafe fn lock_until(
    object: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
    caller: Caller,
) -> Option<c_int> {
    // SAFETY: contract of `lock_until`: the pointer is to a live object, and `at` is null or points to a time.
    let (mutex, at) = unsafe { (Mutex::of(object), at.as_ref()) };
    match (time::clock(clock), at) {
        (Ok(clock), Some(at)) => mutex::lock_until(mutex, caller, time::deadline(clock, at)),
        _ if mutex::is_foreign(mutex) => None,
        _ => Some(libc::EINVAL),
    }
}

/// Destroys a mutex; EBUSY while it is in use.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_destroy(object: *mut pthread_mutex_t) -> c_int {
    // SAFETY: contract of `pthread_mutex_destroy` (POSIX): the pointer is to a live object.
    mutex::destroy(unsafe { Mutex::of(object) })
}

/// Defines aliases of functions, as glibc exports them for old binaries.
macro_rules! alias {
    ($($alias:ident = $name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            #[doc = concat!("glibc's alias of [`", stringify!($name), "`].")]
            ///
            /// # Safety
            /// As POSIX says.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $alias($($arg: $type),*) -> c_int {
                // SAFETY: contract of `$alias`, which is that of `$name`.
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
}
