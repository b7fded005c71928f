//! `pthread_rwlock_*`, and glibc's aliases of them.

use crate::real;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t};
use turnwise_interpose::c;
use turnwise_recording::{Class, Op};

acquisitions! {
    pthread_rwlock_t, Class::RwLock, Op::Read;
    tryrdlock(pthread_rwlock_tryrdlock __pthread_rwlock_tryrdlock) = real::pthread_rwlock_tryrdlock;
    rdlock(pthread_rwlock_rdlock __pthread_rwlock_rdlock)() =
        real::pthread_rwlock_rdlock, real::pthread_rwlock_tryrdlock;
    timedrdlock(pthread_rwlock_timedrdlock)(at: c::Time) =
        real::pthread_rwlock_timedrdlock, real::pthread_rwlock_tryrdlock;
    clockrdlock(pthread_rwlock_clockrdlock)(clock: clockid_t, at: c::Time) =
        real::pthread_rwlock_clockrdlock, real::pthread_rwlock_tryrdlock;
}

acquisitions! {
    pthread_rwlock_t, Class::RwLock, Op::Acquire;
    trywrlock(pthread_rwlock_trywrlock __pthread_rwlock_trywrlock) = real::pthread_rwlock_trywrlock;
    wrlock(pthread_rwlock_wrlock __pthread_rwlock_wrlock)() =
        real::pthread_rwlock_wrlock, real::pthread_rwlock_trywrlock;
    timedwrlock(pthread_rwlock_timedwrlock)(at: c::Time) =
        real::pthread_rwlock_timedwrlock, real::pthread_rwlock_trywrlock;
    clockwrlock(pthread_rwlock_clockwrlock)(clock: clockid_t, at: c::Time) =
        real::pthread_rwlock_clockwrlock, real::pthread_rwlock_trywrlock;
}

life! {
    pthread_rwlock_t, Class::RwLock;
    init pthread_rwlock_init __pthread_rwlock_init(*const pthread_rwlockattr_t) = real::pthread_rwlock_init;
    unlock pthread_rwlock_unlock __pthread_rwlock_unlock = real::pthread_rwlock_unlock;
    destroy pthread_rwlock_destroy __pthread_rwlock_destroy = real::pthread_rwlock_destroy
}
