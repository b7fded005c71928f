//! C11's functions `mtx_*` and `cnd_*`, which return C11's codes.

use super::{cond, mutex};
use core::ptr;
use libc::c_int;
use turnwise_interpose::c11::code;
use turnwise_interpose::{c, c11, coded, exports};

exports! {
    mtx_init -> init;
    mtx_lock -> lock;
    mtx_trylock -> trylock;
    mtx_timedlock -> timedlock;
    cnd_init -> make_cnd;
    cnd_signal -> signal;
    cnd_broadcast -> broadcast;
}

c11! { turnwise_record_cnd_wait, turnwise_record_cnd_timedwait with super::cond::OPS }

/// # Safety
/// As C11 says; so for all functions here.
unsafe extern "C" fn init(object: c::Mutex, kind: c_int, site: u64) -> c_int {
    // SAFETY: the caller's memory.
    c11::mtx_init(kind, |attributes| unsafe { mutex::init(object, attributes, site) })
}

/// # Safety
/// As C11 says.
unsafe extern "C" fn make_cnd(object: c::Cond, site: u64) -> c_int {
    // SAFETY: the caller's memory.
    code(unsafe { cond::init(object, ptr::null(), site) })
}

coded! {
    lock(object: c::Mutex, site: u64) = mutex::lock;
    trylock(object: c::Mutex, site: u64) = mutex::trylock;
    timedlock(object: c::Mutex, at: c::Time, site: u64) = mutex::timedlock;
    signal(object: c::Cond, site: u64) = cond::signal;
    broadcast(object: c::Cond, site: u64) = cond::broadcast;
}
