//! C11's functions `mtx_*` and `cnd_*`. The C library's own call its pthread functions internally, where nothing can be
//! interposed. `mtx_t` and `cnd_t` are the pthread types by other names.

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

/// The kind `mtx_recursive`.
const RECURSIVE: c_int = 1;

/// Converts an errno value to a `thrd_*` code.
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
    /// Initialises a mutex; timed and untimed ones are the same.
    mtx_init(*mut Mtx, c_int) -> init, "rdx", "x2";
    /// Acquires the mutex, or gives up with `thrd_timedout` at a time on the wall clock.
    mtx_timedlock(*mut Mtx, *const timespec) -> timedlock, "rdx", "x2";
}

with_caller! {
    /// Jumps to [`lock`] from a fast path.
    lock_slowly(*mut Mtx) -> lock, "rsi", "x1";
    /// Jumps to [`try_lock`] from a fast path.
    try_lock_slowly(*mut Mtx) -> try_lock, "rsi", "x1";
}

/// Implements `mtx_init`.
///
/// # Safety
/// As C11 says of `mtx_init`.
unsafe extern "C" fn init(object: *mut Mtx, kind: c_int, caller: Caller) -> c_int {
    if kind & RECURSIVE == 0 {
        // SAFETY: contract of `init`, which includes that of `mutex::init`.
        return code(unsafe { mutex::init(object, ptr::null(), caller) });
    }
    // SAFETY: contract of `init`: the memory is writable; the attributes are initialised, used and destroyed here.
    unsafe {
        let mut attributes = core::mem::zeroed::<pthread_mutexattr_t>();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
        let errno = mutex::init(object, &attributes, caller);
        libc::pthread_mutexattr_destroy(&mut attributes);
        code(errno)
    }
}

/// Defines functions that call another and return C11's codes.
macro_rules! coded {
    ($($(#[$attribute:meta])* $vis:vis $name:ident($($argument:ident: $type:ty),*) = $target:path;)*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        /// As C11 says.
        $vis unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: contract of C11's function, which includes that of `$target`.
            code(unsafe { $target($($argument),*) })
        }
    )*};
}

coded! {
    /// Implements `mtx_timedlock`.
    timedlock(object: *mut Mtx, at: *const timespec, caller: Caller) = exports::timedlock;
    /// Acquires the mutex, whatever its kind and policy.
    lock(object: *mut Mtx, caller: Caller) = mutex::lock;
    /// Tries to acquire the mutex, whatever its kind and policy.
    try_lock(object: *mut Mtx, caller: Caller) = mutex::try_lock;

    /// Releases the mutex.
    #[unsafe(no_mangle)]
    pub(crate) mtx_unlock(object: *mut Mtx) = exports::pthread_mutex_unlock;
    /// Wakes one waiter, if there is any.
    #[unsafe(no_mangle)]
    pub(crate) cnd_signal(object: *mut Cnd) = cond::pthread_cond_signal;
    /// Wakes all waiters, if there are any.
    #[unsafe(no_mangle)]
    pub(crate) cnd_broadcast(object: *mut Cnd) = cond::pthread_cond_broadcast;
}

/// Acquires the mutex.
///
/// # Safety
/// As C11 states; also for all functions below.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_lock(object: *mut Mtx) -> c_int {
    // SAFETY: contract of `mtx_lock` (C11): the pointer is to a live object.
    let mutex = unsafe { Mutex::of(object) };
    match mutex.path() {
        // SAFETY: contract of `mtx_lock` (C11), which includes that of `lock_plain`. A plain mutex causes no error, and
        // success is 0 here as well.
        Path::Plain => unsafe { mutex::lock_plain(object) },
        // SAFETY: contract of `mtx_lock` (C11), which includes that of `lock_owned`.
        Path::Owned => code(unsafe { mutex::lock_owned(object) }),
        // SAFETY: contract of `mtx_lock` (C11), which includes that of `lock_slowly`.
        Path::Slow => unsafe { lock_slowly(object) },
    }
}

/// Acquires the mutex if it is available immediately; `thrd_busy` otherwise.
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

/// Destroys a mutex.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mtx_destroy(object: *mut Mtx) {
    // SAFETY: contract of `mtx_destroy` (C11), which includes that of `pthread_mutex_destroy`.
    unsafe { exports::pthread_mutex_destroy(object) };
}

/// Initialises a condition variable.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cnd_init(object: *mut Cnd) -> c_int {
    // SAFETY: contract of `cnd_init` (C11), which includes that of `pthread_cond_init`.
    code(unsafe { cond::pthread_cond_init(object, ptr::null()) })
}

/// Destroys a condition variable.
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
    /// Releases the mutex, waits, and acquires the mutex again.
    #[unsafe(no_mangle)]
    cnd_wait(*mut Cnd, *mut Mtx) -> turnwise_cnd_wait, "rdx", "x2";
    /// Waits like `cnd_wait`, until a time on the wall clock.
    #[unsafe(no_mangle)]
    cnd_timedwait(*mut Cnd, *mut Mtx, *const timespec) -> turnwise_cnd_timedwait, "rcx", "x3";
}

// SAFETY: `c/wait.c` defines them; they are jumped to, never called, so their arguments do not appear here.
unsafe extern "C" {
    fn turnwise_cnd_wait();
    fn turnwise_cnd_timedwait();
}
