//! The functions `pthread_mutex_*`.

use crate::layout::Mutex;
use crate::mutex::Path;
use crate::rules::Caller;
use crate::{mutex, real, time};
use libc::{c_int, clockid_t, pthread_mutex_t, timespec};
use turnwise::raw::RawLock;
use turnwise_interpose::{c, exports, with_caller};

exports! {
    // The fast path is one load of the kind, one of the policy, one compare-exchange, and for kinds that store their
    // owner a load and a store of it.
    pthread_mutex_lock(object) => match Mutex::of(object).path() {
        Path::Plain => mutex::lock_plain(object),
        Path::Owned => mutex::lock_owned(object),
        Path::Slow => lock_slowly(object),
    };
    pthread_mutex_unlock(object) => match Mutex::of(object).path() {
        Path::Plain => mutex::unlock_plain(object),
        Path::Owned => mutex::unlock_owned(object),
        Path::Slow => mutex::unlock(object),
    };
    pthread_mutex_trylock(object) => {
        let mutex = Mutex::of(object);
        match mutex.path() {
            Path::Plain if mutex.lock.adaptive().try_lock() => 0,
            Path::Plain => libc::EBUSY,
            Path::Owned => mutex::try_lock_owned(object),
            Path::Slow => try_lock_slowly(object),
        }
    };
    pthread_mutex_init -> mutex::init;
    pthread_mutex_destroy(object) => mutex::destroy(Mutex::of(object));
    pthread_mutex_timedlock -> timedlock;
    pthread_mutex_clocklock -> clocklock;
    __pthread_mutex_init -> mutex::init;
    __pthread_mutex_lock(object) => pthread_mutex_lock(object);
    __pthread_mutex_unlock(object) => pthread_mutex_unlock(object);
    __pthread_mutex_trylock(object) => pthread_mutex_trylock(object);
    __pthread_mutex_destroy(object) => pthread_mutex_destroy(object);
}

with_caller! {
    /// Jumps to [`mutex::lock`] from a fast path.
    lock_slowly(*mut pthread_mutex_t) -> mutex::lock;
    /// Jumps to [`mutex::try_lock`] from a fast path.
    try_lock_slowly(*mut pthread_mutex_t) -> mutex::try_lock;
}

until! {
    c::Mutex;
    timedlock() => lock_until() or real::pthread_mutex_timedlock;
    clocklock(clock) => lock_until() or real::pthread_mutex_clocklock;
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
