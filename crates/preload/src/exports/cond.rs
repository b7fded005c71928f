//! `pthread_cond_*`. The waits jump into `c/wait.c`, which calls back through [`OPS`].
//!
//! Most have names of our own: on x86-64 the C library has two functions of each name, so the linker is told which of
//! ours is which (`build.rs`). Those of the older ABI are in `old_cond.rs`.

use crate::cond::{self, Leave};
use crate::layout::{Cond, Mutex};
use crate::waits::Counted;
use crate::{mutex, real, time};
use core::ffi::c_void;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use turnwise_interpose::export_with_static;

/// Makes a condition variable.
///
/// # Safety
/// As POSIX says; so for all functions here.
#[unsafe(export_name = "turnwise_pthread_cond_init")]
pub(crate) unsafe extern "C" fn pthread_cond_init(
    object: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
) -> c_int {
    // SAFETY: the caller's memory.
    unsafe { cond::init(object, attributes) }
}

/// Ends a condition variable's life.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_destroy")]
pub(crate) unsafe extern "C" fn pthread_cond_destroy(object: *mut pthread_cond_t) -> c_int {
    // SAFETY: the caller's object, with whichever library it belongs to.
    unsafe { either(object, cond::destroy, real::cond_destroy) }
}

/// Wakes one waiter.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_signal")]
pub(crate) unsafe extern "C" fn pthread_cond_signal(object: *mut pthread_cond_t) -> c_int {
    // SAFETY: as above.
    unsafe { either(object, cond::signal, real::cond_signal) }
}

/// Wakes all waiters.
///
/// # Safety
/// As POSIX says.
#[unsafe(export_name = "turnwise_pthread_cond_broadcast")]
pub(crate) unsafe extern "C" fn pthread_cond_broadcast(object: *mut pthread_cond_t) -> c_int {
    // SAFETY: as above.
    unsafe { either(object, cond::broadcast, real::cond_broadcast) }
}

/// # Safety
/// `object` is the caller's condition variable.
unsafe fn either(
    object: *mut pthread_cond_t,
    ours: fn(&Cond),
    theirs: unsafe fn(*mut pthread_cond_t) -> c_int,
) -> c_int {
    // SAFETY: contract of `either`: the pointer is to a live object.
    let cond = unsafe { Cond::of(object) };
    if cond::is_foreign(cond) {
        // SAFETY: it is the C library's.
        return unsafe { theirs(object) };
    }
    ours(cond);
    0
}

export_with_static! {
    OPS;
    /// Releases the mutex, waits, acquires it again.
    #[unsafe(export_name = "turnwise_pthread_cond_wait")]
    pthread_cond_wait(*mut pthread_cond_t, *mut pthread_mutex_t) -> turnwise_cond_wait, "rdx", "x2";
    /// The same until a time on the condition variable's clock.
    #[unsafe(export_name = "turnwise_pthread_cond_timedwait")]
    pthread_cond_timedwait(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec)
        -> turnwise_cond_timedwait, "rcx", "x3";
    /// The same until a time on a clock of the caller's choice.
    #[unsafe(no_mangle)]
    pthread_cond_clockwait(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec)
        -> turnwise_cond_clockwait, "r8", "x4";
}

// SAFETY: `c/wait.c` defines them; they are jumped to, never called, so their arguments do not appear here.
unsafe extern "C" {
    fn turnwise_cond_wait();
    fn turnwise_cond_timedwait();
    fn turnwise_cond_clockwait();
}

/// `struct waiter` of `c/wait.c`.
#[repr(C)]
pub(super) struct Waiter {
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    ops: *const Ops,
    sequence: u32,
    counted: Counted,
}

/// `struct turnwise_ops` of `c/wait.c`.
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

/// What `c/wait.c` may call.
pub(super) static OPS: Ops = Ops { begin, end, unlock, lock, real_unlock, real_lock, foreign_waits };

/// `begin`'s answers, beside errno values.
const SLEEP: c_int = 0;
const FOREIGN: c_int = -1;
const FOREIGN_COND_ONLY: c_int = -2;
/// No clock given.
const OWN_CLOCK: clockid_t = -1;

/// # Safety
/// `waiter` and `clock` are valid; `time` is valid or null.
unsafe extern "C" fn begin(waiter: *mut Waiter, clock: *mut clockid_t, time: *const timespec) -> c_int {
    // SAFETY: contract of `begin`, which includes that of `begin_if`.
    unsafe { begin_if(waiter, clock, time, cond::is_foreign) }
}

/// # Safety
/// As `begin`.
#[inline(always)]
unsafe fn begin_if(
    waiter: *mut Waiter,
    clock: *mut clockid_t,
    time: *const timespec,
    is_foreign: fn(&Cond) -> bool,
) -> c_int {
    // SAFETY: the caller's promise.
    let (waiter, clock, time) = unsafe { (&mut *waiter, &mut *clock, time.as_ref()) };
    // SAFETY: the program's objects.
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
    waiter.sequence = cond::arrive(cond);
    // SAFETY: the caller's promise.
    let unlocked = unsafe { unlock(waiter) };
    if unlocked != 0 {
        cond::leave(cond, waiter.sequence, Leave::ByItself);
        return unlocked;
    }
    SLEEP
}

/// # Safety
/// `waiter` is valid, its mutex the caller's.
unsafe extern "C" fn unlock(waiter: *mut Waiter) -> c_int {
    // SAFETY: the caller's promise.
    let waiter = unsafe { &mut *waiter };
    // SAFETY: the program's mutex.
    match unsafe { mutex::unlock_to_wait(waiter.mutex) } {
        Ok(counted) => {
            waiter.counted = counted;
            0
        }
        Err(errno) => errno,
    }
}

/// # Safety
/// `unlock` answered 0 for `waiter`.
unsafe extern "C" fn lock(waiter: *mut Waiter) -> c_int {
    // SAFETY: contract of `lock`, which includes that of `lock_after_wait`.
    unsafe { mutex::lock_after_wait((*waiter).mutex, (*waiter).counted) }
}

/// # Safety
/// `begin` answered `SLEEP` for `waiter`.
unsafe extern "C" fn end(waiter: *mut Waiter, how: c_int) -> c_int {
    let how = match how {
        0 => Leave::ByItself,
        1 => Leave::Woken,
        _ => Leave::Cancelled,
    };
    // SAFETY: contract of `end`; the condition variable lives until `leave` returns, the mutex beyond.
    unsafe {
        cond::leave(Cond::of((*waiter).cond), (*waiter).sequence, how);
        lock(waiter)
    }
}

/// # Safety
/// The C library's mutex, locked.
unsafe extern "C" fn real_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: contract of `real_unlock`, which is that of `real::mutex_unlock`.
    unsafe { real::mutex_unlock(mutex) }
}

/// # Safety
/// The C library's mutex.
unsafe extern "C" fn real_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: contract of `real_lock`, which is that of `real::mutex_lock`.
    unsafe { real::mutex_lock(mutex) }
}

/// # Safety
/// `waits` is writable.
unsafe extern "C" fn foreign_waits(waits: *mut [*mut c_void; 3]) {
    // SAFETY: the caller's promise.
    unsafe { *waits = real::cond_waits() }
}

/// The same for `old_cond.rs`, whose objects are never the C library's.
#[cfg(target_arch = "x86_64")]
pub(super) static OLD_OPS: Ops = Ops { begin: begin_old, ..OPS };

/// # Safety
/// As `begin`.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn begin_old(waiter: *mut Waiter, clock: *mut clockid_t, time: *const timespec) -> c_int {
    // SAFETY: contract of `begin_old`, which includes that of `begin_if`.
    unsafe { begin_if(waiter, clock, time, |_| false) }
}
