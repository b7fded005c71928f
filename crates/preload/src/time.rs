//! Points in time as C callers give them.

use libc::{c_int, clockid_t, timespec};
use turnwise::platform::{Clock, Deadline};

/// Whether the nanoseconds of `time` are a fraction of a second.
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

/// Converts `time` on `clock` to a deadline; a time before the clock's zero counts as zero, one beyond 584 years as
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
