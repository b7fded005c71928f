//! `pthread_rwlock_*`, and glibc's aliases of them.

use crate::real;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t};
use turnwise_interpose::{c, exports};
use turnwise_recording::{Class, Op};

acquisitions! {
    pthread_rwlock_t, Class::RwLock, Op::Read; tryrdlock = real::pthread_rwlock_tryrdlock;
    rdlock() = real::pthread_rwlock_rdlock, real::pthread_rwlock_tryrdlock;
    timedrdlock(at: c::Time) = real::pthread_rwlock_timedrdlock, real::pthread_rwlock_tryrdlock;
    clockrdlock(clock: clockid_t, at: c::Time) = real::pthread_rwlock_clockrdlock, real::pthread_rwlock_tryrdlock;
}
acquisitions! {
    pthread_rwlock_t, Class::RwLock, Op::Acquire; trywrlock = real::pthread_rwlock_trywrlock;
    wrlock() = real::pthread_rwlock_wrlock, real::pthread_rwlock_trywrlock;
    timedwrlock(at: c::Time) = real::pthread_rwlock_timedwrlock, real::pthread_rwlock_trywrlock;
    clockwrlock(clock: clockid_t, at: c::Time) = real::pthread_rwlock_clockwrlock, real::pthread_rwlock_trywrlock;
}
init!(pthread_rwlock_t, *const pthread_rwlockattr_t, Class::RwLock, real::pthread_rwlock_init);
endings!(pthread_rwlock_unlock __pthread_rwlock_unlock = real::pthread_rwlock_unlock;
    pthread_rwlock_destroy __pthread_rwlock_destroy = real::pthread_rwlock_destroy);

exports! {
    pthread_rwlock_rdlock -> rdlock;
    pthread_rwlock_tryrdlock -> tryrdlock;
    pthread_rwlock_timedrdlock -> timedrdlock;
    pthread_rwlock_clockrdlock -> clockrdlock;
    pthread_rwlock_wrlock -> wrlock;
    pthread_rwlock_trywrlock -> trywrlock;
    pthread_rwlock_timedwrlock -> timedwrlock;
    pthread_rwlock_clockwrlock -> clockwrlock;
    pthread_rwlock_init -> init;
    __pthread_rwlock_rdlock -> rdlock;
    __pthread_rwlock_tryrdlock -> tryrdlock;
    __pthread_rwlock_wrlock -> wrlock;
    __pthread_rwlock_trywrlock -> trywrlock;
    __pthread_rwlock_init -> init;
}
