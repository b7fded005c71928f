//! C11's `mtx_*` and `cnd_*`. The C library's own call its pthread functions internally, where nothing can be
//! interposed. `mtx_t` and `cnd_t` are the pthread types by other names.

use libc::{EBUSY, ENOMEM, ETIMEDOUT, c_int, pthread_mutexattr_t};

/// C11's `thrd_success`.
pub const SUCCESS: c_int = 0;
/// C11's `thrd_busy`.
pub const BUSY: c_int = 1;
/// C11's `thrd_error`.
pub const ERROR: c_int = 2;

/// Converts an errno value to a `thrd_*` code.
#[inline]
pub fn code(errno: c_int) -> c_int {
    const NOMEM: c_int = 3;
    const TIMEDOUT: c_int = 4;
    match errno {
        0 => SUCCESS,
        EBUSY => BUSY,
        ENOMEM => NOMEM,
        ETIMEDOUT => TIMEDOUT,
        _ => ERROR,
    }
}

/// Implements `mtx_init` for mutexes of this kind (timed and untimed ones are the same) by `init`, which takes the
/// attributes, or null.
pub fn mtx_init(kind: c_int, init: impl FnOnce(*const pthread_mutexattr_t) -> c_int) -> c_int {
    /// The kind `mtx_recursive`.
    const RECURSIVE: c_int = 1;
    if kind & RECURSIVE == 0 {
        return code(init(core::ptr::null()));
    }
    // SAFETY: the attributes are initialised, used and destroyed here.
    unsafe {
        let mut attributes = core::mem::zeroed::<pthread_mutexattr_t>();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
        let errno = init(&attributes);
        libc::pthread_mutexattr_destroy(&mut attributes);
        code(errno)
    }
}

/// Defines functions that call others and return C11's codes.
#[macro_export]
macro_rules! coded {
    ($($name:ident($($argument:ident: $type:ty),*) = $target:path;)*) => {$(
        /// Calls pthread's function for the one of C11.
        ///
        /// # Safety
        /// As C11 says.
        #[allow(unused_unsafe, reason = "some targets are safe")]
        unsafe extern "C" fn $name($($argument: $type),*) -> $crate::c_int {
            // SAFETY: contract of C11's function, which includes that of `$target`.
            $crate::c11::code(unsafe { $target($($argument),*) })
        }
    )*};
}

/// Defines the exported functions that are alike in all libraries, in a module below `exports`: those of pthread are in
/// its `mutex` and `cond`. `$wait` and `$timed_wait` are C functions, which get the address of `$operations`.
#[macro_export]
macro_rules! c11 {
    ($wait:ident, $timed_wait:ident with $operations:path) => {
        $crate::exports! {
            mtx_unlock(object) => $crate::c11::code(super::mutex::pthread_mutex_unlock(object));
            mtx_destroy(object) => {
                super::mutex::pthread_mutex_destroy(object);
            };
            cnd_destroy(object) => {
                super::cond::pthread_cond_destroy(object);
            };
            cnd_wait -> $wait with $operations;
            cnd_timedwait -> $timed_wait with $operations;
        }
    };
}
