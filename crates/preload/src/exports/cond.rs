//! The functions `pthread_cond_*`. The waits jump into `c/wait.c`, which calls back through [`OPS`].
//!
//! On x86-64 the C library has two functions of most names. Those of the older ABI are in `old_cond.rs`.

use crate::cond::{self, Leave, may_overtake};
use crate::layout::{Cond, Mutex};
use crate::rules::Caller;
use crate::waits::Counted;
use crate::{mutex, real, time};
use core::ffi::c_void;
use core::ptr;
use libc::{c_int, clockid_t, timespec};
use turnwise_interpose::{c, exports};

exports! {
    pthread_cond_init(object, attributes) => cond::init(object, attributes);
    pthread_cond_destroy(object) => either(Cond::of(object), |cond| cond.words().destroy(), real::pthread_cond_destroy);
    pthread_cond_signal(object) => either(Cond::of(object), |cond| cond.words().signal(), real::pthread_cond_signal);
    pthread_cond_broadcast(object) => {
        either(Cond::of(object), |cond| cond.words().broadcast(), real::pthread_cond_broadcast)
    };
    pthread_cond_wait -> turnwise_cond_wait with OPS;
    pthread_cond_timedwait -> turnwise_cond_timedwait with OPS;
    pthread_cond_clockwait -> turnwise_cond_clockwait with OPS;
}

/// Calls `ours`, or `theirs` if the condition variable is the C library's.
fn either(cond: &Cond, ours: fn(&Cond), theirs: unsafe extern "C" fn(c::Cond) -> c_int) -> c_int {
    if cond::is_foreign(cond) {
        // SAFETY: the object is the C library's, and the caller uses it as POSIX says.
        return unsafe { theirs(ptr::from_ref(cond).cast_mut().cast()) };
    }
    ours(cond);
    0
}

/// A thread in a wait: `struct waiter` of `c/wait.c`.
#[repr(C)]
pub(super) struct Waiter<'a> {
    cond: &'a Cond,
    mutex: &'a Mutex,
    ops: *const Ops,
    sequence: u32,
    counted: Counted,
    caller: Caller,
    /// The deadline; null: none.
    time: *const timespec,
    turned: timespec,
}

/// The functions that `c/wait.c` may call; its `struct turnwise_ops`. The pointers that it passes are valid; those to
/// times may be null.
#[repr(C)]
pub(super) struct Ops {
    begin: extern "C" fn(&mut Waiter, &mut clockid_t, Option<&timespec>) -> c_int,
    end: extern "C" fn(&mut Waiter, c_int) -> c_int,
    unlock: extern "C" fn(&mut Waiter) -> c_int,
    lock: extern "C" fn(&mut Waiter) -> c_int,
    real_unlock: unsafe extern "C" fn(c::Mutex) -> c_int,
    real_lock: unsafe extern "C" fn(c::Mutex) -> c_int,
    foreign_waits: extern "C" fn(&mut [*mut c_void; 3]),
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

/// The functions for `old_cond.rs`, whose objects are never the C library's.
#[cfg(target_arch = "x86_64")]
pub(super) static OLD_OPS: Ops = Ops { begin: begin_old, ..OPS };

/// The results of `begin`, other than errno values.
const SLEEP: c_int = 0;
const FOREIGN: c_int = -1;
const FOREIGN_COND_ONLY: c_int = -2;
/// Notified while it polled.
const NOTIFIED: c_int = -3;
/// The clock of a wait that does not name one.
const OWN_CLOCK: clockid_t = -1;

/// Checks the arguments, finds the clock, arrives, releases the mutex, and may poll for a notification.
extern "C" fn begin(waiter: &mut Waiter, clock: &mut clockid_t, time: Option<&timespec>) -> c_int {
    let foreign = cond::is_foreign(waiter.cond);
    begin_if(waiter, clock, time, foreign)
}

/// Begins a wait like [`begin`], on a condition variable of the older ABI.
#[cfg(target_arch = "x86_64")]
extern "C" fn begin_old(waiter: &mut Waiter, clock: &mut clockid_t, time: Option<&timespec>) -> c_int {
    begin_if(waiter, clock, time, false)
}

/// Begins a wait like [`begin`]; `foreign`: whether the condition variable is the C library's.
#[inline(always)]
fn begin_if(waiter: &mut Waiter, clock: &mut clockid_t, time: Option<&timespec>, foreign: bool) -> c_int {
    let cond = waiter.cond;
    if let Some(time) = time {
        if *clock == OWN_CLOCK {
            *clock = if foreign { cond::foreign_clock(cond) } else { cond.own_clock() };
        }
        if !time::valid(time) || time::clock(*clock).is_err() {
            return libc::EINVAL;
        }
    }
    if foreign {
        return if mutex::is_foreign(waiter.mutex) { FOREIGN } else { FOREIGN_COND_ONLY };
    }
    let turned = time.and_then(|time| time::turned(time::clock(*clock).ok()?, time));
    if let Some(turned) = turned {
        waiter.turned = turned;
        waiter.time = &raw const waiter.turned;
    }
    let arrival = cond.words().arrive();
    waiter.sequence = arrival.seen;
    let unlocked = unlock(waiter);
    if unlocked != 0 {
        cond.words().give_up(arrival, may_overtake);
        return unlocked;
    }
    if arrival.polls {
        let time = turned.as_ref().or(time);
        let deadline = time.and_then(|time| time::deadline(time::clock(*clock).ok()?, time).ok());
        if cond.words().poll(arrival.seen, deadline) {
            return NOTIFIED;
        }
    }
    SLEEP
}

/// Releases the mutex for the wait.
extern "C" fn unlock(waiter: &mut Waiter) -> c_int {
    match mutex::unlock_to_wait(waiter.mutex) {
        Ok(counted) => {
            waiter.counted = counted;
            0
        }
        Err(errno) => errno,
    }
}

/// Acquires the mutex again after the wait, for which [`unlock`] has returned 0.
extern "C" fn lock(waiter: &mut Waiter) -> c_int {
    mutex::lock_after_wait(waiter.mutex, waiter.counted, waiter.caller)
}

/// Leaves the condition variable, and acquires the mutex again, after [`begin`] has returned [`SLEEP`] or
/// [`NOTIFIED`]. The condition variable may be gone once the thread has left it; the mutex is not.
extern "C" fn end(waiter: &mut Waiter, how: c_int) -> c_int {
    let how = match how {
        0 => Leave::ByItself,
        1 => Leave::Woken,
        _ => Leave::Cancelled,
    };
    waiter.cond.words().leave(waiter.sequence, how, may_overtake);
    lock(waiter)
}

/// Writes the addresses of the C library's waits to `waits`.
extern "C" fn foreign_waits(waits: &mut [*mut c_void; 3]) {
    *waits = [
        real::pthread_cond_wait::address(),
        real::pthread_cond_timedwait::address(),
        real::pthread_cond_clockwait::address(),
    ];
}
