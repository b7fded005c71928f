//! C11's `mtx_*` and `cnd_*`. The C library's own call its pthread functions inside, where nothing can be interposed.
//! `mtx_t` and `cnd_t` are the pthread types under another name.

use super::{cond, mutex as exports};
use crate::layout::Mutex;
use crate::mutex::{self, Path};
use crate::rules::Caller;
use core::ptr;
use libc::{EBUSY, ENOMEM, ETIMEDOUT, c_int, pthread_cond_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use turnwise::raw::RawLock;
use turnwise_interpose::{export_with_caller, export_with_static, with_caller};

type Mtx = pthread_mutex_t;
type Cnd = pthread_cond_t;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NOMEM: c_int = 3;
const TIMEDOUT: c_int = 4;

/// `mtx_recursive`.
const RECURSIVE: c_int = 1;

/// The `thrd_*` code of an errno value.
fn code(errno: c_int) -> c_int {
    match errno {
        0 => SUCCESS,
        EBUSY => BUSY,
        ENOMEM => NOMEM,
        ETIMEDOUT => TIMEDOUT,
        _ => ERROR,
    }
}

export_with_caller! {
    /// Makes a mutex; timed and untimed ones are the same.
    mtx_init(*mut Mtx, c_int) -> init, "rdx", "x2";
    /// Acquires, or `thrd_timedout` at a time on the wall clock.
    mtx_timedlock(*mut Mtx, *const timespec) -> timedlock, "rdx", "x2";
}

with_caller! {
    /// [`lock`] for a fast path.
    lock_slowly(*mut Mtx) -> lock, "rsi", "x1";
    /// [`try_lock`] for a fast path.
    try_lock_slowly(*mut Mtx) -> try_lock, "rsi", "x1";
}

/// # Safety
/// As C11 says of `mtx_init`.
unsafe extern "C" fn init(object: *mut Mtx, kind: c_int, caller: Caller) -> c_int {
    if kind & RECURSIVE == 0 {
        // SAFETY: the caller's memory.
        return code(unsafe { mutex::init(object, ptr::null(), caller) });
    }
    // SAFETY: the caller's memory; the attributes are initialised, used and destroyed here.
    unsafe {
        let mut attributes = core::mem::zeroed::<pthread_mutexattr_t>();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
        let errno = mutex::init(object, &attributes, caller);
        libc::pthread_mutexattr_destroy(&mut attributes);
        code(errno)
    }
}

/// # Safety
/// As C11 says of `mtx_timedlock`.
unsafe extern "C" fn timedlock(object: *mut Mtx, at: *const timespec, caller: Caller) -> c_int {
    // SAFETY: the caller's object and time.
    code(unsafe { exports::timedlock(object, at, caller) })
}

/// # Safety
/// As C11 says of `mtx_lock`.
unsafe extern "C" fn lock(object: *mut Mtx, caller: Caller) -> c_int {
    // SAFETY: contract of `lock`, which includes that of `mutex::lock`.
    code(unsafe { mutex::lock(object, caller) })
}

/// # Safety
/// As C11 says of `mtx_trylock`.
unsafe extern "C" fn try_lock(object: *mut Mtx, caller: Caller) -> c_int {
    // SAFETY: contract of `try_lock`, which includes that of `mutex::try_lock`.
    code(unsafe { mutex::try_lock(object, caller) })
}

/// Acquires.
///
/// # Safety
/// As C11 says; so for all functions here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_lock(object: *mut Mtx) -> c_int {
    // SAFETY: contract of `mtx_lock` (C11): the pointer is to a live object.
    let mutex = unsafe { Mutex::of(object) };
    match mutex.path() {
        // SAFETY: the caller's object. Of a plain mutex there is no error, and success is 0 here, too.
        Path::Plain => unsafe { mutex::lock_plain(object) },
        // SAFETY: contract of `mtx_lock` (C11), which includes that of `lock_owned`.
        Path::Owned => code(unsafe { mutex::lock_owned(object) }),
        // SAFETY: contract of `mtx_lock` (C11), which includes that of `lock_slowly`.
        Path::Slow => unsafe { lock_slowly(object) },
    }
}

/// Acquires if that is possible at once, or `thrd_busy`.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_trylock(object: *mut Mtx) -> c_int {
    // SAFETY: contract of `mtx_trylock` (C11): the pointer is to a live object.
    let mutex = unsafe { Mutex::of(object) };
    match mutex.path() {
        Path::Plain if mutex.lock.adaptive().try_lock() => SUCCESS,
        Path::Plain => BUSY,
        // SAFETY: contract of `mtx_trylock` (C11), which includes that of `try_lock_owned`.
        Path::Owned => code(unsafe { mutex::try_lock_owned(object) }),
        // SAFETY: contract of `mtx_trylock` (C11), which includes that of `try_lock_slowly`.
        Path::Slow => unsafe { try_lock_slowly(object) },
    }
}

/// Releases.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_unlock(object: *mut Mtx) -> c_int {
    // SAFETY: contract of `mtx_unlock` (C11), which includes that of `pthread_mutex_unlock`.
    code(unsafe { exports::pthread_mutex_unlock(object) })
}

/// Ends a mutex's life.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_destroy(object: *mut Mtx) {
    // SAFETY: contract of `mtx_destroy` (C11), which includes that of `pthread_mutex_destroy`.
    unsafe { exports::pthread_mutex_destroy(object) };
}

/// Makes a condition variable.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cnd_init(object: *mut Cnd) -> c_int {
    // SAFETY: the caller's memory.
    code(unsafe { cond::pthread_cond_init(object, ptr::null()) })
}

/// Wakes one waiter.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cnd_signal(object: *mut Cnd) -> c_int {
    // SAFETY: contract of `cnd_signal` (C11), which includes that of `pthread_cond_signal`.
    code(unsafe { cond::pthread_cond_signal(object) })
}

/// Wakes all waiters.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cnd_broadcast(object: *mut Cnd) -> c_int {
    // SAFETY: contract of `cnd_broadcast` (C11), which includes that of `pthread_cond_broadcast`.
    code(unsafe { cond::pthread_cond_broadcast(object) })
}

/// Ends a condition variable's life.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cnd_destroy(object: *mut Cnd) {
    // SAFETY: contract of `cnd_destroy` (C11), which includes that of `pthread_cond_destroy`.
    unsafe { cond::pthread_cond_destroy(object) };
}

export_with_static! {
    super::cond::OPS;
    /// Releases the mutex, waits, acquires it again.
    #[unsafe(no_mangle)]
    cnd_wait(*mut Cnd, *mut Mtx) -> turnwise_cnd_wait, "rdx", "x2";
    /// The same until a time on the wall clock.
    #[unsafe(no_mangle)]
    cnd_timedwait(*mut Cnd, *mut Mtx, *const timespec) -> turnwise_cnd_timedwait, "rcx", "x3";
}

// SAFETY: as for the jumps of `cond.rs`.
unsafe extern "C" {
    fn turnwise_cnd_wait();
    fn turnwise_cnd_timedwait();
}
