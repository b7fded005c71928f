//! Functions on keys of thread-specific data: the library has its own key (see `exit.rs` of the locks), which the
//! program neither misses nor can access. Getting values is left to the C library.

use crate::real;
use libc::{EAGAIN, EINVAL, c_int, c_void, pthread_key_t};
use turnwise::platform::native::{end_exit_key, is_alien_key};
use turnwise_interpose::c11::{ERROR, SUCCESS};
use turnwise_interpose::{c, exports};

/// Makes a key with the C library; gives up our own if there is no other.
///
/// # Safety
/// As POSIX says of `pthread_key_create`.
unsafe fn create(key: *mut pthread_key_t, destructor: c::Destructor) -> c_int {
    // SAFETY: contract of `create`, which is that of `real::pthread_key_create`.
    match unsafe { real::pthread_key_create(key, destructor) } {
        // The program gets even the last key; its threads do without the features that need ours.
        // SAFETY: contract of `create`, which is that of `real::pthread_key_create`.
        EAGAIN if end_exit_key() => unsafe { real::pthread_key_create(key, destructor) },
        answer => answer,
    }
}

/// Deletes a key, unless it is our own.
///
/// # Safety
/// As POSIX says of `pthread_key_delete`.
unsafe fn delete(key: pthread_key_t) -> c_int {
    // SAFETY: contract of `delete`, which is that of `real::pthread_key_delete`.
    if is_alien_key(key) { EINVAL } else { unsafe { real::pthread_key_delete(key) } }
}

/// Sets the calling thread's value of a key, unless the key is our own.
///
/// # Safety
/// As POSIX says of `pthread_setspecific`.
#[inline]
unsafe fn set(key: pthread_key_t, value: *const c_void) -> c_int {
    // SAFETY: contract of `set`, which is that of `real::pthread_setspecific`.
    if is_alien_key(key) { EINVAL } else { unsafe { real::pthread_setspecific(key, value) } }
}

// The program can make as many keys as with the C library alone, and has only its own. The C library's `tss_create` is
// `pthread_key_create`, and both types are the same.
exports! {
    pthread_key_create(key, destructor) => create(key, destructor);
    __pthread_key_create(key, destructor) => create(key, destructor);
    pthread_key_delete(key) => delete(key);
    pthread_setspecific(key, value) => set(key, value);
    tss_create(key, destructor) => if create(key, destructor) == 0 { SUCCESS } else { ERROR };
    tss_delete(key) => {
        delete(key);
    };
    tss_set(key, value) => if set(key, value) == 0 { SUCCESS } else { ERROR };
}
