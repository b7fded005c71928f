//! C11's `mtx_*` and `cnd_*`. The C library's own call its pthread functions internally, where nothing can be
//! interposed. `mtx_t` and `cnd_t` are the pthread types by another name.

use super::{cond, mutex};
use core::ptr;
use libc::{EBUSY, ENOMEM, ETIMEDOUT, c_int, pthread_cond_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use turnwise_interpose::{export_with_caller, export_with_static};

type Mtx = pthread_mutex_t;
type Cnd = pthread_cond_t;

/// `mtx_recursive`.
const RECURSIVE: c_int = 1;

/// Returns the `thrd_*` code for an errno value.
fn code(errno: c_int) -> c_int {
    match errno {
        0 => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

/// # Safety
/// As C11 says; so for all functions here.
unsafe extern "C" fn init(object: *mut Mtx, kind: c_int, site: u64) -> c_int {
    if kind & RECURSIVE == 0 {
        // SAFETY: the caller's memory.
        return code(unsafe { mutex::init(object, ptr::null(), site) });
    }
    // SAFETY: the caller's memory; the attributes are initialised, used and destroyed here.
    unsafe {
        let mut attributes = core::mem::zeroed::<pthread_mutexattr_t>();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
        let errno = mutex::init(object, &attributes, site);
        libc::pthread_mutexattr_destroy(&mut attributes);
        code(errno)
    }
}

/// Defines functions that call a pthread function and return C11's codes.
macro_rules! coded {
    ($($name:ident($($argument:ident: $type:ty),*) = $target:path;)*) => {$(
        /// # Safety
        /// As C11 says.
        unsafe extern "C" fn $name($($argument: $type,)* site: u64) -> c_int {
            // SAFETY: the caller's object and time.
            code(unsafe { $target($($argument,)* site) })
        }
    )*};
}

coded! {
    lock(object: *mut Mtx) = mutex::lock;
    trylock(object: *mut Mtx) = mutex::trylock;
    timedlock(object: *mut Mtx, at: *const timespec) = mutex::timedlock;
    signal(object: *mut Cnd) = cond::signal;
    broadcast(object: *mut Cnd) = cond::broadcast;
}

/// # Safety
/// As C11 says.
unsafe extern "C" fn make_cnd(object: *mut Cnd, site: u64) -> c_int {
    // SAFETY: the caller's memory.
    code(unsafe { cond::init(object, ptr::null(), site) })
}

export_with_caller! {
    /// Makes a mutex; timed and untimed ones are the same.
    mtx_init(*mut Mtx, c_int) -> init, "rdx", "x2";
    /// Acquires the mutex.
    mtx_lock(*mut Mtx) -> lock, "rsi", "x1";
    /// Acquires the mutex if it is available immediately, or returns `thrd_busy`.
    mtx_trylock(*mut Mtx) -> trylock, "rsi", "x1";
    /// Acquires the mutex, or returns `thrd_timedout` at a time on the wall clock.
    mtx_timedlock(*mut Mtx, *const timespec) -> timedlock, "rdx", "x2";
    /// Makes a condition variable.
    cnd_init(*mut Cnd) -> make_cnd, "rsi", "x1";
    /// Wakes one waiter.
    cnd_signal(*mut Cnd) -> signal, "rsi", "x1";
    /// Wakes all waiters.
    cnd_broadcast(*mut Cnd) -> broadcast, "rsi", "x1";
}

/// Releases the mutex.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_unlock(object: *mut Mtx) -> c_int {
    // SAFETY: the caller's object.
    code(unsafe { mutex::pthread_mutex_unlock(object) })
}

/// Destroys a mutex.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_destroy(object: *mut Mtx) {
    // SAFETY: the caller's object.
    unsafe { mutex::pthread_mutex_destroy(object) };
}

/// Destroys a condition variable.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cnd_destroy(object: *mut Cnd) {
    // SAFETY: the caller's object.
    unsafe { cond::pthread_cond_destroy(object) };
}

export_with_static! {
    super::cond::OPS;
    /// Releases the mutex, waits, and reacquires it.
    #[unsafe(no_mangle)]
    cnd_wait(*mut Cnd, *mut Mtx) -> turnwise_record_cnd_wait, "rdx", "x2";
    /// Waits as `cnd_wait` does, until a time on the wall clock.
    #[unsafe(no_mangle)]
    cnd_timedwait(*mut Cnd, *mut Mtx, *const timespec) -> turnwise_record_cnd_timedwait, "rcx", "x3";
}

// SAFETY: as for the jumps of `cond.rs`.
unsafe extern "C" {
    fn turnwise_record_cnd_wait();
    fn turnwise_record_cnd_timedwait();
}
