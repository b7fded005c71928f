//! The functions `pthread_cond_*`. The waits jump into `c/wait.c`, which calls back through [`OPS`].
//!
//! On x86-64 the C library has two functions of most names. Those of the older ABI are in `old_cond.rs`.

use crate::cond::{self, Leave};
use crate::layout::{Cond, Mutex};
use crate::rules::Caller;
use crate::waits::Counted;
use crate::{mutex, real, time};
use core::ffi::c_void;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use turnwise_interpose::{c, exports};

exports! {
    pthread_cond_init(object, attributes) => cond::init(object, attributes);
    pthread_cond_destroy(object) => either(object, cond::destroy, real::pthread_cond_destroy);
    pthread_cond_signal(object) => either(object, cond::signal, real::pthread_cond_signal);
    pthread_cond_broadcast(object) => either(object, cond::broadcast, real::pthread_cond_broadcast);
    pthread_cond_wait -> turnwise_cond_wait with OPS;
    pthread_cond_timedwait -> turnwise_cond_timedwait with OPS;
    pthread_cond_clockwait -> turnwise_cond_clockwait with OPS;
}

/// Calls `ours`, or `theirs` if the condition variable is the C library's.
///
/// # Safety
/// `object` is the caller's condition variable, for which `theirs` may be called.
unsafe fn either(
    object: *mut pthread_cond_t,
    ours: fn(&Cond),
    theirs: unsafe extern "C" fn(c::Cond) -> c_int,
) -> c_int {
    // SAFETY: contract of `either`: the pointer is to a live object.
    let cond = unsafe { Cond::of(object) };
    if cond::is_foreign(cond) {
        // SAFETY: contract of `either`; the object is the C library's.
        return unsafe { theirs(object) };
    }
    ours(cond);
    0
}

/// A thread in a wait: `struct waiter` of `c/wait.c`.
#[repr(C)]
pub(super) struct Waiter {
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    ops: *const Ops,
    sequence: u32,
    counted: Counted,
    caller: Caller,
    /// The deadline; null: none.
    time: *const timespec,
    turned: timespec,
}

/// The functions that `c/wait.c` may call; its `struct turnwise_ops`.
#[repr(C)]
pub(super) struct Ops {
    begin: unsafe extern "C" fn(*mut Waiter, *mut clockid_t, *const timespec) -> c_int,
    end: unsafe extern "C" fn(*mut Waiter, c_int) -> c_int,
    unlock: unsafe extern "C" fn(*mut Waiter) -> c_int,
    lock: unsafe extern "C" fn(*mut Waiter) -> c_int,
    real_unlock: unsafe extern "C" fn(*mut pthread_mutex_t) -> c_int,
    real_lock: unsafe extern "C" fn(*mut pthread_mutex_t) -> c_int,
    foreign_waits: unsafe extern "C" fn(*mut [*mut c_void; 3]),
}

/// The functions for condition variables of today's ABI.
pub(super) static OPS: Ops = Ops {
    begin,
    end,
    unlock,
    lock,
    real_unlock: real::pthread_mutex_unlock,
    real_lock: real::pthread_mutex_lock,
    foreign_waits,
};

/// The results of `begin`, other than errno values.
const SLEEP: c_int = 0;
const FOREIGN: c_int = -1;
const FOREIGN_COND_ONLY: c_int = -2;
/// Notified while it polled.
const NOTIFIED: c_int = -3;
/// The clock of a wait that does not name one.
const OWN_CLOCK: clockid_t = -1;

/// Checks the arguments, finds the clock, arrives, releases the mutex, and may poll for a notification.
///
/// # Safety
/// `waiter` and `clock` are valid; `time` is valid or null.
unsafe extern "C" fn begin(waiter: *mut Waiter, clock: *mut clockid_t, time: *const timespec) -> c_int {
    // SAFETY: contract of `begin`, which includes that of `begin_if`.
    unsafe { begin_if(waiter, clock, time, cond::is_foreign) }
}

/// Begins a wait like [`begin`]; `is_foreign`: whether the condition variable is the C library's.
///
/// # Safety
/// `waiter` and `clock` are valid; `time` is valid or null.
#[inline(always)]
unsafe fn begin_if(
    waiter: *mut Waiter,
    clock: *mut clockid_t,
    time: *const timespec,
    is_foreign: fn(&Cond) -> bool,
) -> c_int {
    // SAFETY: contract of `begin_if`: the pointers are valid.
    let (waiter, clock, time) = unsafe { (&mut *waiter, &mut *clock, time.as_ref()) };
    // SAFETY: contract of the exported wait (POSIX): the condition variable and the mutex are live objects.
    let (cond, with) = unsafe { (Cond::of(waiter.cond), Mutex::of(waiter.mutex)) };
    let foreign = is_foreign(cond);
    if let Some(time) = time {
        if *clock == OWN_CLOCK {
            *clock = if foreign { cond::foreign_clock(cond) } else { cond.own_clock() };
        }
        if !time::valid(time) || time::clock(*clock).is_err() {
            return libc::EINVAL;
        }
    }
    if foreign {
        return if mutex::is_foreign(with) { FOREIGN } else { FOREIGN_COND_ONLY };
    }
    if let Some(time) = time
        && let Some(turned) = time::clock(*clock).ok().and_then(|clock| time::turned(clock, time))
    {
        waiter.turned = turned;
        waiter.time = &raw const waiter.turned;
    }
    let arrival = cond::arrive(cond);
    waiter.sequence = arrival.seen;
    // SAFETY: contract of `begin_if`, which includes that of `unlock`.
    let unlocked = unsafe { unlock(waiter) };
    if unlocked != 0 {
        cond::give_up(cond, arrival);
        return unlocked;
    }
    if arrival.polls {
        // SAFETY: null, the caller's time, or the waiter's own.
        let deadline =
            unsafe { waiter.time.as_ref() }.and_then(|time| time::deadline(time::clock(*clock).ok()?, time).ok());
        if cond::poll(cond, arrival.seen, deadline) {
            return NOTIFIED;
        }
    }
    SLEEP
}

/// Releases the mutex for the wait.
///
/// # Safety
/// `waiter` is valid, its mutex the caller's.
unsafe extern "C" fn unlock(waiter: *mut Waiter) -> c_int {
    // SAFETY: contract of `unlock`: the waiter is valid.
    let waiter = unsafe { &mut *waiter };
    // SAFETY: contract of `unlock`, which includes that of `unlock_to_wait`.
    match unsafe { mutex::unlock_to_wait(waiter.mutex) } {
        Ok(counted) => {
            waiter.counted = counted;
            0
        }
        Err(errno) => errno,
    }
}

/// Acquires the mutex again after the wait.
///
/// # Safety
/// `unlock` returned 0 for `waiter`.
unsafe extern "C" fn lock(waiter: *mut Waiter) -> c_int {
    // SAFETY: contract of `lock`, which includes that of `lock_after_wait`.
    unsafe { mutex::lock_after_wait((*waiter).mutex, (*waiter).counted, (*waiter).caller) }
}

/// Leaves the condition variable, and acquires the mutex again.
///
/// # Safety
/// `begin` returned `SLEEP` or `NOTIFIED` for `waiter`.
unsafe extern "C" fn end(waiter: *mut Waiter, how: c_int) -> c_int {
    let how = match how {
        0 => Leave::ByItself,
        1 => Leave::Woken,
        _ => Leave::Cancelled,
    };
    // SAFETY: contract of `end`; the condition variable lives until `leave` returns, the mutex longer.
    unsafe {
        cond::leave(Cond::of((*waiter).cond), (*waiter).sequence, how);
        lock(waiter)
    }
}

/// Writes the addresses of the C library's waits to `waits`.
///
/// # Safety
/// `waits` is writable.
unsafe extern "C" fn foreign_waits(waits: *mut [*mut c_void; 3]) {
    // SAFETY: contract of `foreign_waits`: the result is writable.
    unsafe {
        *waits = [
            real::pthread_cond_wait::address(),
            real::pthread_cond_timedwait::address(),
            real::pthread_cond_clockwait::address(),
        ];
    }
}

/// The functions for `old_cond.rs`, whose objects are never the C library's.
#[cfg(target_arch = "x86_64")]
pub(super) static OLD_OPS: Ops = Ops { begin: begin_old, ..OPS };

/// Begins a wait like [`begin`], on a condition variable of the older ABI.
///
/// # Safety
/// `waiter` and `clock` are valid; `time` is valid or null.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn begin_old(waiter: *mut Waiter, clock: *mut clockid_t, time: *const timespec) -> c_int {
    // SAFETY: contract of `begin_old`, which includes that of `begin_if`.
    unsafe { begin_if(waiter, clock, time, |_| false) }
}
