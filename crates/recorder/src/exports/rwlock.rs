//! `pthread_rwlock_*`.

use crate::acquire::{self, Acquisition};
use crate::locks::Kind;
use crate::real;
use libc::{c_int, clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use turnwise_interpose::export_with_caller;
use turnwise_recording::Op;

#[inline(always)]
fn place(object: *mut pthread_rwlock_t, op: Op, site: u64) -> Acquisition {
    Acquisition { kind: Kind::RwLock, address: object as u64, site: op.at(site) }
}

/// Defines what the exported functions jump to, for readers and writers.
macro_rules! acquire {
    ($op:expr, $try:path; $lock:ident = $real:path, $trylock:ident, $timed:ident = $real_timed:path,
     $clocked:ident = $real_clocked:path) => {
        /// # Safety
        /// As POSIX says.
        unsafe extern "C" fn $lock(object: *mut pthread_rwlock_t, site: u64) -> c_int {
            // SAFETY: the caller's lock.
            let attempt = move || unsafe { $try(object) };
            // SAFETY: the caller's lock.
            acquire::lock(place(object, $op, site), attempt, move || unsafe { $real(object) })
        }

        /// # Safety
        /// As POSIX says.
        unsafe extern "C" fn $trylock(object: *mut pthread_rwlock_t, site: u64) -> c_int {
            // SAFETY: the caller's lock.
            acquire::try_lock(place(object, $op, site), move || unsafe { $try(object) })
        }

        /// # Safety
        /// As POSIX says.
        unsafe extern "C" fn $timed(object: *mut pthread_rwlock_t, at: *const timespec, site: u64) -> c_int {
            // SAFETY: the caller's lock.
            let attempt = move || unsafe { $try(object) };
            // SAFETY: the caller's lock and time.
            acquire::lock(place(object, $op, site), attempt, move || unsafe { $real_timed(object, at) })
        }

        /// # Safety
        /// As POSIX says.
        unsafe extern "C" fn $clocked(
            object: *mut pthread_rwlock_t,
            clock: clockid_t,
            at: *const timespec,
            site: u64,
        ) -> c_int {
            // SAFETY: the caller's lock.
            let attempt = move || unsafe { $try(object) };
            // SAFETY: the caller's lock and time.
            acquire::lock(place(object, $op, site), attempt, move || unsafe { $real_clocked(object, clock, at) })
        }
    };
}

acquire!(Op::Read, real::rwlock_tryrdlock; rdlock = real::rwlock_rdlock, tryrdlock,
    timedrdlock = real::rwlock_timedrdlock, clockrdlock = real::rwlock_clockrdlock);
acquire!(Op::Acquire, real::rwlock_trywrlock; wrlock = real::rwlock_wrlock, trywrlock,
    timedwrlock = real::rwlock_timedwrlock, clockwrlock = real::rwlock_clockwrlock);

/// # Safety
/// As POSIX says.
unsafe extern "C" fn init(object: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t, site: u64) -> c_int {
    // SAFETY: the caller's memory.
    let result = unsafe { real::rwlock_init(object, attributes) };
    if result == 0 {
        acquire::created(Kind::RwLock, object as u64, site);
    }
    result
}

export_with_caller! {
    /// Acquires for reading.
    pthread_rwlock_rdlock(*mut pthread_rwlock_t) -> rdlock, "rsi", "x1";
    /// The same if that is possible at once, or EBUSY.
    pthread_rwlock_tryrdlock(*mut pthread_rwlock_t) -> tryrdlock, "rsi", "x1";
    /// The same, or ETIMEDOUT at a time on the wall clock.
    pthread_rwlock_timedrdlock(*mut pthread_rwlock_t, *const timespec) -> timedrdlock, "rdx", "x2";
    /// The same, or ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_rwlock_clockrdlock(*mut pthread_rwlock_t, clockid_t, *const timespec) -> clockrdlock, "rcx", "x3";
    /// Acquires for writing.
    pthread_rwlock_wrlock(*mut pthread_rwlock_t) -> wrlock, "rsi", "x1";
    /// The same if that is possible at once, or EBUSY.
    pthread_rwlock_trywrlock(*mut pthread_rwlock_t) -> trywrlock, "rsi", "x1";
    /// The same, or ETIMEDOUT at a time on the wall clock.
    pthread_rwlock_timedwrlock(*mut pthread_rwlock_t, *const timespec) -> timedwrlock, "rdx", "x2";
    /// The same, or ETIMEDOUT at a time on a clock of the caller's choice.
    pthread_rwlock_clockwrlock(*mut pthread_rwlock_t, clockid_t, *const timespec) -> clockwrlock, "rcx", "x3";
    /// Makes a readers-writer lock.
    pthread_rwlock_init(*mut pthread_rwlock_t, *const pthread_rwlockattr_t) -> init, "rdx", "x2";
    /// Another name.
    __pthread_rwlock_rdlock(*mut pthread_rwlock_t) -> rdlock, "rsi", "x1";
    /// Another name.
    __pthread_rwlock_tryrdlock(*mut pthread_rwlock_t) -> tryrdlock, "rsi", "x1";
    /// Another name.
    __pthread_rwlock_wrlock(*mut pthread_rwlock_t) -> wrlock, "rsi", "x1";
    /// Another name.
    __pthread_rwlock_trywrlock(*mut pthread_rwlock_t) -> trywrlock, "rsi", "x1";
    /// Another name.
    __pthread_rwlock_init(*mut pthread_rwlock_t, *const pthread_rwlockattr_t) -> init, "rdx", "x2";
}

/// Releases.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_unlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    acquire::unlock(object as u64, move || unsafe { real::rwlock_unlock(object) })
}

/// Ends a lock's life.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_rwlock_destroy(object: *mut pthread_rwlock_t) -> c_int {
    acquire::destroyed(object as u64);
    // SAFETY: the caller's lock.
    unsafe { real::rwlock_destroy(object) }
}

/// Another name.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __pthread_rwlock_unlock(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the same function.
    unsafe { pthread_rwlock_unlock(object) }
}

/// Another name.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __pthread_rwlock_destroy(object: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the same function.
    unsafe { pthread_rwlock_destroy(object) }
}
