//! `pthread_rwlock_*`.

use super::mutex::alias;
use crate::layout::RwLock;
use crate::{real, rwlock, time};
use libc::{CLOCK_REALTIME, EINVAL, c_int, clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use turnwise::platform::Deadline;

/// Makes a lock.
///
/// # Safety
/// As POSIX says; so for all functions here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_init(
    object: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
) -> c_int {
    // SAFETY: the caller's memory.
    unsafe { rwlock::init(object, attributes) }
}

/// Ends a lock's life; as in the C library, there is nothing to do and nothing that can fail.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_destroy(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { either(object, |_| 0, real::rwlock_destroy) }
}

/// # Safety
/// `object` is the caller's lock.
#[inline(always)]
unsafe fn either(
    object: *mut pthread_rwlock_t,
    ours: impl FnOnce(&RwLock) -> c_int,
    theirs: unsafe fn(*mut pthread_rwlock_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let lock = unsafe { RwLock::of(object) };
    if lock.is_foreign() {
        // SAFETY: it is the C library's.
        return unsafe { theirs(object) };
    }
    ours(lock)
}

/// Acquires by `wait`, or ETIMEDOUT at a time on a clock. Unlike a mutex, a free lock is refused to bad arguments, too.
///
/// # Safety
/// `object` and `at` are the caller's. `None`: the C library's lock.
unsafe fn timed(
    object: *mut pthread_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
    wait: fn(&RwLock, Option<Deadline>) -> c_int,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let (lock, at) = unsafe { (RwLock::of(object), at.as_ref()) };
    if lock.is_foreign() {
        return None;
    }
    let deadline = time::clock(clock).and_then(|clock| time::deadline(clock, at.ok_or(EINVAL)?));
    Some(deadline.map_or_else(|errno| errno, |deadline| wait(lock, Some(deadline))))
}

/// Acquires for reading; EDEADLK to the thread that has the write lock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_rdlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { either(object, |lock| rwlock::read(lock, None), real::rwlock_rdlock) }
}

/// Acquires for reading if that is possible at once, or EBUSY.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_tryrdlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { either(object, rwlock::try_read, real::rwlock_tryrdlock) }
}

/// Acquires for reading, or ETIMEDOUT at a time on the wall clock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_timedrdlock(
    object: *mut pthread_rwlock_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the caller's lock and time.
    unsafe { timed(object, CLOCK_REALTIME, at, rwlock::read) }
        // SAFETY: the C library's lock.
        .unwrap_or_else(|| unsafe { real::rwlock_timedrdlock(object, at) })
}

/// Acquires for reading, or ETIMEDOUT at a time on a clock of the caller's choice.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_clockrdlock(
    object: *mut pthread_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the caller's lock and time.
    unsafe { timed(object, clock, at, rwlock::read) }
        // SAFETY: the C library's lock.
        .unwrap_or_else(|| unsafe { real::rwlock_clockrdlock(object, clock, at) })
}

/// Acquires for writing; EDEADLK to the thread that has the write lock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_wrlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { either(object, |lock| rwlock::write(lock, None), real::rwlock_wrlock) }
}

/// Acquires for writing if that is possible at once, or EBUSY.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_trywrlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { either(object, rwlock::try_write, real::rwlock_trywrlock) }
}

/// Acquires for writing, or ETIMEDOUT at a time on the wall clock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_timedwrlock(
    object: *mut pthread_rwlock_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the caller's lock and time.
    unsafe { timed(object, CLOCK_REALTIME, at, rwlock::write) }
        // SAFETY: the C library's lock.
        .unwrap_or_else(|| unsafe { real::rwlock_timedwrlock(object, at) })
}

/// Acquires for writing, or ETIMEDOUT at a time on a clock of the caller's choice.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_clockwrlock(
    object: *mut pthread_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the caller's lock and time.
    unsafe { timed(object, clock, at, rwlock::write) }
        // SAFETY: the C library's lock.
        .unwrap_or_else(|| unsafe { real::rwlock_clockwrlock(object, clock, at) })
}

/// Releases a read or the write lock, whichever the caller has.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_unlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { either(object, rwlock::unlock, real::rwlock_unlock) }
}

alias! {
    __pthread_rwlock_destroy = pthread_rwlock_destroy(object: *mut pthread_rwlock_t);
    __pthread_rwlock_rdlock = pthread_rwlock_rdlock(object: *mut pthread_rwlock_t);
    __pthread_rwlock_tryrdlock = pthread_rwlock_tryrdlock(object: *mut pthread_rwlock_t);
    __pthread_rwlock_wrlock = pthread_rwlock_wrlock(object: *mut pthread_rwlock_t);
    __pthread_rwlock_trywrlock = pthread_rwlock_trywrlock(object: *mut pthread_rwlock_t);
    __pthread_rwlock_unlock = pthread_rwlock_unlock(object: *mut pthread_rwlock_t);
    __pthread_rwlock_init
        = pthread_rwlock_init(object: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t);
}
