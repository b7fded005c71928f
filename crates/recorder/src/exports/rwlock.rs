//! `pthread_rwlock_*`, and glibc's aliases of them.

use crate::real;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use turnwise_interpose::export_with_caller;
use turnwise_recording::{Class, Op};

acquisitions!(pthread_rwlock_t, Class::RwLock, Op::Read;
    rdlock = real::rwlock_rdlock, real::rwlock_tryrdlock; tryrdlock = real::rwlock_tryrdlock;
    timedrdlock = real::rwlock_timedrdlock; clockrdlock = real::rwlock_clockrdlock);
acquisitions!(pthread_rwlock_t, Class::RwLock, Op::Acquire;
    wrlock = real::rwlock_wrlock, real::rwlock_trywrlock; trywrlock = real::rwlock_trywrlock;
    timedwrlock = real::rwlock_timedwrlock; clockwrlock = real::rwlock_clockwrlock);
init!(pthread_rwlock_t, *const pthread_rwlockattr_t, Class::RwLock, real::rwlock_init);
endings!(pthread_rwlock_t; pthread_rwlock_unlock __pthread_rwlock_unlock = real::rwlock_unlock;
    pthread_rwlock_destroy __pthread_rwlock_destroy = real::rwlock_destroy);

export_with_caller! {
    /// Acquires the lock for reading.
    pthread_rwlock_rdlock(*mut pthread_rwlock_t) -> rdlock, "rsi", "x1";
    /// Acquires the lock for reading if it is available immediately, or returns EBUSY.
    pthread_rwlock_tryrdlock(*mut pthread_rwlock_t) -> tryrdlock, "rsi", "x1";
    /// Acquires the lock for reading, or returns ETIMEDOUT at a time on the wall clock.
    pthread_rwlock_timedrdlock(*mut pthread_rwlock_t, *const timespec) -> timedrdlock, "rdx", "x2";
    /// Acquires the lock for reading, or returns ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_rwlock_clockrdlock(*mut pthread_rwlock_t, clockid_t, *const timespec) -> clockrdlock, "rcx", "x3";
    /// Acquires the lock for writing.
    pthread_rwlock_wrlock(*mut pthread_rwlock_t) -> wrlock, "rsi", "x1";
    /// Acquires the lock for writing if it is available immediately, or returns EBUSY.
    pthread_rwlock_trywrlock(*mut pthread_rwlock_t) -> trywrlock, "rsi", "x1";
    /// Acquires the lock for writing, or returns ETIMEDOUT at a time on the wall clock.
    pthread_rwlock_timedwrlock(*mut pthread_rwlock_t, *const timespec) -> timedwrlock, "rdx", "x2";
    /// Acquires the lock for writing, or returns ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_rwlock_clockwrlock(*mut pthread_rwlock_t, clockid_t, *const timespec) -> clockwrlock, "rcx", "x3";
    /// Makes a readers-writer lock.
    pthread_rwlock_init(*mut pthread_rwlock_t, *const pthread_rwlockattr_t) -> init, "rdx", "x2";
    /// glibc's alias of `pthread_rwlock_rdlock`.
    __pthread_rwlock_rdlock(*mut pthread_rwlock_t) -> rdlock, "rsi", "x1";
    /// glibc's alias of `pthread_rwlock_tryrdlock`.
    __pthread_rwlock_tryrdlock(*mut pthread_rwlock_t) -> tryrdlock, "rsi", "x1";
    /// glibc's alias of `pthread_rwlock_wrlock`.
    __pthread_rwlock_wrlock(*mut pthread_rwlock_t) -> wrlock, "rsi", "x1";
    /// glibc's alias of `pthread_rwlock_trywrlock`.
    __pthread_rwlock_trywrlock(*mut pthread_rwlock_t) -> trywrlock, "rsi", "x1";
    /// glibc's alias of `pthread_rwlock_init`.
    __pthread_rwlock_init(*mut pthread_rwlock_t, *const pthread_rwlockattr_t) -> init, "rdx", "x2";
}
