//! The functions `pthread_mutex_*`.

use crate::layout::Mutex;
use crate::mutex::Path;
use crate::rules::Caller;
use crate::{mutex, real, time};
use libc::{c_int, clockid_t, timespec};
use turnwise_interpose::{c, exports, with_caller};

exports! {
    // The fast path is one load of the kind, one of the policy, one compare-exchange, and for kinds that store their
    // owner a load and a store of it.
    pthread_mutex_lock(object) => {
        let mutex = Mutex::of(object);
        match mutex.path() {
            Path::Plain => mutex::lock_plain(mutex),
            Path::Owned => mutex::lock_owned(mutex),
            Path::Slow => lock_slowly(mutex),
        }
    };
    pthread_mutex_unlock(object) => {
        let mutex = Mutex::of(object);
        match mutex.path() {
            Path::Plain => mutex::unlock_plain(mutex),
            Path::Owned => mutex::unlock_owned(mutex),
            Path::Slow => mutex::unlock(mutex),
        }
    };
    pthread_mutex_trylock(object) => {
        let mutex = Mutex::of(object);
        mutex::try_lock_by(mutex, || try_lock_slowly(mutex))
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
    lock_slowly(&Mutex) -> mutex::lock;
    /// Jumps to [`mutex::try_lock`] from a fast path.
    try_lock_slowly(&Mutex) -> mutex::try_lock;
}

until! {
    Mutex;
    timedlock() => lock_until() or real::pthread_mutex_timedlock;
    clocklock(clock) => lock_until() or real::pthread_mutex_clocklock;
}

/// Acquires the mutex, or gives up with ETIMEDOUT when `clock` shows `at`. `None`: the mutex is the C library's.
fn lock_until(mutex: &Mutex, clock: clockid_t, at: Option<&timespec>, caller: Caller) -> Option<c_int> {
    match (time::clock(clock), at) {
        (Ok(clock), Some(at)) => mutex::lock_until(mutex, caller, time::deadline(clock, at)),
        _ if mutex::is_foreign(mutex) => None,
        _ => Some(libc::EINVAL),
    }
}
