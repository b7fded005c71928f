//! C11's functions `mtx_*` and `cnd_*`, which jump or return C11's codes.

use super::{cond, mutex as exports};
use crate::layout::Mutex;
use crate::mutex::{self, Path};
use crate::rules::Caller;
use core::ptr;
use libc::c_int;
use turnwise::raw::RawLock;
use turnwise_interpose::c11::{BUSY, SUCCESS, code};
use turnwise_interpose::{c, c11, coded, exports, with_caller};

exports! {
    mtx_init -> init;
    mtx_timedlock -> timedlock;
    mtx_lock(object) => {
        let mutex = Mutex::of(object);
        match mutex.path() {
            // A plain mutex causes no error, and success is 0 here as well.
            Path::Plain => mutex::lock_plain(mutex),
            Path::Owned => code(mutex::lock_owned(mutex)),
            Path::Slow => lock_slowly(mutex),
        }
    };
    mtx_trylock(object) => {
        let mutex = Mutex::of(object);
        match mutex.path() {
            Path::Plain if mutex.lock.adaptive().try_lock() => SUCCESS,
            Path::Plain => BUSY,
            Path::Owned => code(mutex::try_lock_owned(mutex)),
            Path::Slow => try_lock_slowly(mutex),
        }
    };
    cnd_init(object) => code(cond::pthread_cond_init(object, ptr::null()));
    cnd_signal(object) => code(cond::pthread_cond_signal(object));
    cnd_broadcast(object) => code(cond::pthread_cond_broadcast(object));
}

c11! { turnwise_cnd_wait, turnwise_cnd_timedwait with super::cond::OPS }

with_caller! {
    /// Jumps to [`lock`] from a fast path.
    lock_slowly(&Mutex) -> lock;
    /// Jumps to [`try_lock`] from a fast path.
    try_lock_slowly(&Mutex) -> try_lock;
}

/// Implements `mtx_init`.
///
/// # Safety
/// As C11 says of `mtx_init`.
unsafe extern "C" fn init(object: c::Mutex, kind: c_int, caller: Caller) -> c_int {
    // SAFETY: contract of `init`, which includes that of `mutex::init`: the memory is writable.
    c11::mtx_init(kind, |attributes| unsafe { mutex::init(object, attributes, caller) })
}

coded! {
    timedlock(mutex: &Mutex, at: Option<&libc::timespec>, caller: Caller) = exports::timedlock;
    lock(mutex: &Mutex, caller: Caller) = mutex::lock;
    try_lock(mutex: &Mutex, caller: Caller) = mutex::try_lock;
}
