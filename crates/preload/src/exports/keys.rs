//! Functions on keys of thread-specific data: the library has its own key (see `exit.rs` of the locks), which the
//! program neither misses nor can access. Getting values is left to the C library.

use crate::real;
use libc::{EAGAIN, EINVAL, c_int, c_void, pthread_key_t};
use turnwise::platform::native::{end_exit_key, is_alien_key};

/// A key's destructor, in both interfaces.
type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// `thrd_success` and `thrd_error` of C11.
const SUCCESS: c_int = 0;
const ERROR: c_int = 2;

/// Makes a key with the C library; gives up our own if there is no other.
///
/// # Safety
/// As POSIX says of `pthread_key_create`.
unsafe fn create(key: *mut pthread_key_t, destructor: Destructor) -> c_int {
    // SAFETY: contract of `create`, which is that of `real::key_create`.
    match unsafe { real::key_create(key, destructor) } {
        // The program gets even the last key; its threads do without the features that need ours.
        // SAFETY: contract of `create`, which is that of `real::key_create`.
        EAGAIN if end_exit_key() => unsafe { real::key_create(key, destructor) },
        answer => answer,
    }
}

/// Deletes a key, unless it is our own.
///
/// # Safety
/// As POSIX says of `pthread_key_delete`.
unsafe fn delete(key: pthread_key_t) -> c_int {
    // SAFETY: contract of `delete`, which is that of `real::key_delete`.
    if is_alien_key(key) { EINVAL } else { unsafe { real::key_delete(key) } }
}

/// Sets the calling thread's value of a key, unless the key is our own.
///
/// # Safety
/// As POSIX says of `pthread_setspecific`.
#[inline]
unsafe fn set(key: pthread_key_t, value: *const c_void) -> c_int {
    // SAFETY: contract of `set`, which is that of `real::setspecific`.
    if is_alien_key(key) { EINVAL } else { unsafe { real::setspecific(key, value) } }
}

/// Makes a key; the program can make the same number as with the C library alone.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_key_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int {
    // SAFETY: contract of `pthread_key_create` (POSIX, C11), which includes that of `create`.
    unsafe { create(key, destructor) }
}

/// Makes a key: glibc's other name of `pthread_key_create`, which the C++ library uses.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __pthread_key_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int {
    // SAFETY: contract of `__pthread_key_create` (POSIX, C11), which includes that of `create`.
    unsafe { create(key, destructor) }
}

/// Deletes a key that the program made; our own is not one of them.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    // SAFETY: contract of `pthread_key_delete` (POSIX, C11), which includes that of `delete`.
    unsafe { delete(key) }
}

/// Sets the calling thread's value of a key that the program made.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    // SAFETY: contract of `pthread_setspecific` (POSIX, C11), which includes that of `set`.
    unsafe { set(key, value) }
}

/// Makes a key; the program can make the same number as with the C library alone.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tss_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int {
    // SAFETY: contract of `tss_create` (C11), which is that of `create`: the C library's own is `pthread_key_create`,
    // and both types are the same.
    if unsafe { create(key, destructor) } == 0 { SUCCESS } else { ERROR }
}

/// Deletes a key that the program made; our own is not one of them.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tss_delete(key: pthread_key_t) {
    // SAFETY: contract of `tss_delete` (POSIX, C11), which includes that of `delete`.
    unsafe { delete(key) };
}

/// Sets the calling thread's value of a key that the program made.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tss_set(key: pthread_key_t, value: *mut c_void) -> c_int {
    // SAFETY: contract of `tss_set` (POSIX, C11), which includes that of `set`.
    if unsafe { set(key, value) } == 0 { SUCCESS } else { ERROR }
}
