//! Points in time as C callers give them.

use core::ffi::c_void;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, timespec};
use turnwise::platform::native::is_clock_faked;
use turnwise::platform::{Clock, Deadline, Native, Platform};
use turnwise_interpose::find;

/// Returns whether the nanoseconds of `time` are a fraction of a second.
pub(crate) fn valid(time: &timespec) -> bool {
    (0..1_000_000_000).contains(&time.tv_nsec)
}

/// Returns the clock that waits on `id` use.
///
/// # Errors
/// EINVAL: no thread can wait on that clock.
pub(crate) fn clock(id: clockid_t) -> Result<Clock, c_int> {
    match id {
        libc::CLOCK_REALTIME => Ok(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Ok(Clock::Monotonic),
        _ => Err(libc::EINVAL),
    }
}

/// Whether a library behind this one converts deadlines of `pthread_cond_timedwait` from a clock that it fakes to the
/// kernel's (libfaketime). The condition variables are ours, so its function is never called.
static TURNS: AtomicBool = AtomicBool::new(false);

/// Determines that. The constructor calls this once; `next`: the `pthread_cond_timedwait` behind ours.
pub(crate) fn inspect_next(next: *const c_void) {
    let libc = find(libc::gnu_get_libc_version as *const () as usize);
    let is_libcs = libc.zip(find(next.addr())).is_none_or(|(libc, next)| libc.start == next.start);
    TURNS.store(!is_libcs, Relaxed);
}

/// Converts `time`, which the program read from a faked `clock`, to the kernel's; `None`: it already is.
pub(crate) fn turned(clock: Clock, time: &timespec) -> Option<timespec> {
    const SECOND: i128 = 1_000_000_000;
    if !TURNS.load(Relaxed) || !is_clock_faked() {
        return None;
    }
    let (id, kernels) = match clock {
        Clock::Realtime => (libc::CLOCK_REALTIME, Native::wall()),
        Clock::Monotonic => (libc::CLOCK_MONOTONIC, Native::now()),
    };
    let mut shown = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the result is writable.
    unsafe { libc::clock_gettime(id, &mut shown) };
    let ns = |time: &timespec| i128::from(time.tv_sec) * SECOND + i128::from(time.tv_nsec);
    let at = (i128::from(kernels) + ns(time) - ns(&shown)).max(0);
    Some(timespec { tv_sec: i64::try_from(at / SECOND).unwrap_or(i64::MAX), tv_nsec: (at % SECOND) as i64 })
}

/// Converts `time` on `clock` to a deadline; a time before the clock's zero counts as zero, a time beyond 584 years as
/// never.
///
/// # Errors
/// EINVAL: the nanoseconds are not a fraction of a second.
pub(crate) fn deadline(clock: Clock, time: &timespec) -> Result<Deadline, c_int> {
    if !valid(time) {
        return Err(libc::EINVAL);
    }
    let at = match u64::try_from(time.tv_sec) {
        Ok(seconds) => seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64),
        Err(_) => 0,
    };
    Ok(Deadline { clock, at })
}
