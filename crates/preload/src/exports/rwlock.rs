//! The functions `pthread_rwlock_*`.

use crate::layout::RwLock;
use crate::rules::Caller;
use crate::{real, rwlock, time};
use libc::{EINVAL, c_int, clockid_t, timespec};
use turnwise::platform::Deadline;
use turnwise_interpose::{c, exports, with_caller};

exports! {
    pthread_rwlock_init -> rwlock::init;
    pthread_rwlock_destroy(object) => {
        either(RwLock::of(object), Caller::UNKNOWN, rwlock::destroy, real::pthread_rwlock_destroy)
    };
    pthread_rwlock_timedrdlock -> timedrdlock;
    pthread_rwlock_clockrdlock -> clockrdlock;
    pthread_rwlock_timedwrlock -> timedwrlock;
    pthread_rwlock_clockwrlock -> clockwrlock;
    pthread_rwlock_unlock(object) => {
        let lock = RwLock::of(object);
        if lock.is_fast() && rwlock::unlock_quickly(lock) { 0 } else { unlock_slowly(lock) }
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
                        None => $slowly(lock),
                    }
                };
            }

            with_caller! {
                /// Jumps to the function that acquires, whatever the policy.
                $slowly(&RwLock) -> $slow;
            }

            #[doc = concat!("Does what [`", stringify!($name), "`] does, whatever the policy.")]
            pub(crate) extern "C" fn $slow(lock: &RwLock, caller: Caller) -> c_int {
                either(lock, caller, |lock| $ours(lock, caller), $theirs)
            }
        )*
    };
}

acquire! {
    // Acquires the lock for reading; EDEADLK for the thread that holds it for writing, EAGAIN at 2^20 read locks.
    pthread_rwlock_rdlock, rdlock, rdlock_slowly:
        rwlock::read_quickly, |lock, caller| rwlock::read(lock, None, caller), real::pthread_rwlock_rdlock;
    // Acquires the lock for reading if it is available immediately; EBUSY otherwise, EAGAIN at 2^20 read locks.
    pthread_rwlock_tryrdlock, tryrdlock, tryrdlock_slowly:
        rwlock::read_quickly, |lock, _| rwlock::try_read(lock), real::pthread_rwlock_tryrdlock;
    // Acquires the lock for writing; EDEADLK for the thread that holds it for writing.
    pthread_rwlock_wrlock, wrlock, wrlock_slowly:
        rwlock::write_quickly, |lock, caller| rwlock::write(lock, None, caller), real::pthread_rwlock_wrlock;
    // Acquires the lock for writing if it is available immediately; EBUSY otherwise.
    pthread_rwlock_trywrlock, trywrlock, trywrlock_slowly:
        |lock| Some(rwlock::try_write(lock)), |lock, _| rwlock::try_write(lock), real::pthread_rwlock_trywrlock;
}

/// Calls `ours`, or `theirs` if the lock is the C library's.
#[inline(always)]
fn either(
    lock: &RwLock,
    caller: Caller,
    ours: impl FnOnce(&RwLock) -> c_int,
    theirs: unsafe extern "C" fn(c::RwLock) -> c_int,
) -> c_int {
    if !lock.is_fast() && lock.is_foreign(caller) {
        // SAFETY: the object is the C library's, and the caller uses it as POSIX says.
        return unsafe { theirs(core::ptr::from_ref(lock).cast_mut().cast()) };
    }
    ours(lock)
}

/// Acquires the lock by `wait`, or gives up with ETIMEDOUT when `clock` shows `at`. Unlike a mutex, bad arguments are
/// refused even if the lock is free. `None`: the lock is the C library's.
fn timed(
    lock: &RwLock,
    clock: clockid_t,
    at: Option<&timespec>,
    caller: Caller,
    wait: fn(&RwLock, Option<Deadline>, Caller) -> c_int,
) -> Option<c_int> {
    if !lock.is_fast() && lock.is_foreign(caller) {
        return None;
    }
    let deadline = time::clock(clock).and_then(|clock| time::deadline(clock, at.ok_or(EINVAL)?));
    Some(deadline.map_or_else(|errno| errno, |deadline| wait(lock, Some(deadline), caller)))
}

until! {
    RwLock;
    timedrdlock() => timed(rwlock::read) or real::pthread_rwlock_timedrdlock;
    clockrdlock(clock) => timed(rwlock::read) or real::pthread_rwlock_clockrdlock;
    timedwrlock() => timed(rwlock::write) or real::pthread_rwlock_timedwrlock;
    clockwrlock(clock) => timed(rwlock::write) or real::pthread_rwlock_clockwrlock;
}

/// Releases the lock for [`pthread_rwlock_unlock`], off its fast path.
#[cold]
extern "C" fn unlock_slowly(lock: &RwLock) -> c_int {
    either(lock, Caller::UNKNOWN, rwlock::unlock, real::pthread_rwlock_unlock)
}
