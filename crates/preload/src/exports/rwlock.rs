//! The functions `pthread_rwlock_*`.

use crate::layout::RwLock;
use crate::rules::Caller;
use crate::{real, rwlock, time};
use libc::{EINVAL, c_int, clockid_t, pthread_rwlock_t, timespec};
use turnwise::platform::Deadline;
use turnwise_interpose::{c, exports, with_caller};

type Object = *mut pthread_rwlock_t;

exports! {
    pthread_rwlock_init -> rwlock::init;
    pthread_rwlock_destroy(object) => either(object, Caller::UNKNOWN, |_| 0, real::pthread_rwlock_destroy);
    pthread_rwlock_timedrdlock -> timedrdlock;
    pthread_rwlock_clockrdlock -> clockrdlock;
    pthread_rwlock_timedwrlock -> timedwrlock;
    pthread_rwlock_clockwrlock -> clockwrlock;
    pthread_rwlock_unlock(object) => {
        let lock = RwLock::of(object);
        if lock.is_fast() && rwlock::unlock_quickly(lock) { 0 } else { unlock_slowly(object) }
    };
    __pthread_rwlock_init -> rwlock::init;
    __pthread_rwlock_destroy(object) => pthread_rwlock_destroy(object);
    __pthread_rwlock_rdlock(object) => pthread_rwlock_rdlock(object);
    __pthread_rwlock_tryrdlock(object) => pthread_rwlock_tryrdlock(object);
    __pthread_rwlock_wrlock(object) => pthread_rwlock_wrlock(object);
    __pthread_rwlock_trywrlock(object) => pthread_rwlock_trywrlock(object);
    __pthread_rwlock_unlock(object) => pthread_rwlock_unlock(object);
}

/// Defines the functions that acquire without a time limit: the fast path, a jump, and the function that it jumps to.
macro_rules! acquire {
    ($($name:ident, $slow:ident, $slowly:ident: $quick:expr, $ours:expr, $theirs:path;)*) => {
        $(
            exports! {
                $name(object) => {
                    let lock = RwLock::of(object);
                    match if lock.is_fast() { $quick(lock) } else { None } {
                        Some(answer) => answer,
                        None => $slowly(object),
                    }
                };
            }

            with_caller! {
                /// Jumps to the function that acquires, whatever the policy.
                $slowly(Object) -> $slow;
            }

            #[doc = concat!("Does what [`", stringify!($name), "`] does, whatever the policy.")]
            ///
            /// # Safety
            /// As POSIX says.
            pub(crate) unsafe extern "C" fn $slow(object: Object, caller: Caller) -> c_int {
                // SAFETY: contract of `$slow`, which includes that of `either`.
                unsafe { either(object, caller, |lock| $ours(lock, caller), $theirs) }
            }
        )*
    };
}

/// Acquires a lock that is certainly ours for reading, if it is available immediately.
fn read_quickly(lock: &RwLock) -> Option<c_int> {
    lock.lock.try_read_unbarred().then_some(0)
}

acquire! {
    // Acquires the lock for reading; EDEADLK for the thread that holds it for writing, EAGAIN at 2^20 read locks.
    pthread_rwlock_rdlock, rdlock, rdlock_slowly:
        read_quickly, |lock, caller| rwlock::read(lock, None, caller), real::pthread_rwlock_rdlock;
    // Acquires the lock for reading if it is available immediately; EBUSY otherwise, EAGAIN at 2^20 read locks.
    pthread_rwlock_tryrdlock, tryrdlock, tryrdlock_slowly:
        read_quickly, |lock, _| rwlock::try_read(lock), real::pthread_rwlock_tryrdlock;
    // Acquires the lock for writing; EDEADLK for the thread that holds it for writing.
    pthread_rwlock_wrlock, wrlock, wrlock_slowly:
        rwlock::write_quickly, |lock, caller| rwlock::write(lock, None, caller), real::pthread_rwlock_wrlock;
    // Acquires the lock for writing if it is available immediately; EBUSY otherwise.
    pthread_rwlock_trywrlock, trywrlock, trywrlock_slowly:
        |lock| Some(rwlock::try_write(lock)), |lock, _| rwlock::try_write(lock), real::pthread_rwlock_trywrlock;
}

/// Calls `ours`, or `theirs` if the lock is the C library's.
///
/// # Safety
/// `object` is the caller's lock, for which `theirs` may be called.
#[inline(always)]
unsafe fn either(
    object: Object,
    caller: Caller,
    ours: impl FnOnce(&RwLock) -> c_int,
    theirs: unsafe extern "C" fn(Object) -> c_int,
) -> c_int {
    // SAFETY: contract of `either`: the pointer is to a live object.
    let lock = unsafe { RwLock::of(object) };
    if !lock.is_fast() && lock.is_foreign(caller) {
        // SAFETY: contract of `either`; the object is the C library's.
        return unsafe { theirs(object) };
    }
    ours(lock)
}

/// Acquires the lock by `wait`, or gives up with ETIMEDOUT when `clock` shows `at`. Unlike a mutex, bad arguments are
/// refused even if the lock is free. `None`: the lock is the C library's.
///
/// # Safety
/// `object` is the caller's lock; `at` is null or points to a time.
unsafe fn timed(
    object: Object,
    clock: clockid_t,
    at: *const timespec,
    caller: Caller,
    wait: fn(&RwLock, Option<Deadline>, Caller) -> c_int,
) -> Option<c_int> {
    // SAFETY: contract of `timed`: the pointer is to a live object, and `at` is null or points to a time.
    let (lock, at) = unsafe { (RwLock::of(object), at.as_ref()) };
    if !lock.is_fast() && lock.is_foreign(caller) {
        return None;
    }
    let deadline = time::clock(clock).and_then(|clock| time::deadline(clock, at.ok_or(EINVAL)?));
    Some(deadline.map_or_else(|errno| errno, |deadline| wait(lock, Some(deadline), caller)))
}

until! {
    Object;
    timedrdlock() => timed(rwlock::read) or real::pthread_rwlock_timedrdlock;
    clockrdlock(clock) => timed(rwlock::read) or real::pthread_rwlock_clockrdlock;
    timedwrlock() => timed(rwlock::write) or real::pthread_rwlock_timedwrlock;
    clockwrlock(clock) => timed(rwlock::write) or real::pthread_rwlock_clockwrlock;
}

/// Releases the lock for [`pthread_rwlock_unlock`], off its fast path.
///
/// # Safety
/// As POSIX says of `pthread_rwlock_unlock`.
#[cold]
unsafe extern "C" fn unlock_slowly(object: Object) -> c_int {
    // SAFETY: contract of `unlock_slowly`, which includes that of `either`.
    unsafe { either(object, Caller::UNKNOWN, rwlock::unlock, real::pthread_rwlock_unlock) }
}
