//! Points in time as C callers pass them: nanoseconds on one of two clocks.

use crate::result::{TW_INVALID, timed, tw_result};
use core::ffi::c_int;
use core::time::Duration;
use turnwise::platform::{Clock, Deadline, Native, Platform};

/// The clock that is never set back: CLOCK_MONOTONIC.
pub const TW_CLOCK_MONOTONIC: c_int = 0;
/// The wall clock, which can be set: CLOCK_REALTIME.
pub const TW_CLOCK_REALTIME: c_int = 1;

/// Returns the point in time `timeout_ns` nanoseconds from now.
#[inline]
pub(crate) fn after(timeout_ns: u64) -> Deadline {
    Deadline::after::<Native>(Duration::from_nanos(timeout_ns))
}

/// Returns the point in time `at_ns` on a clock of the caller's choice; `None`: there is no such clock.
pub(crate) fn at(clock: c_int, at_ns: u64) -> Option<Deadline> {
    let clock = match clock {
        TW_CLOCK_MONOTONIC => Clock::Monotonic,
        TW_CLOCK_REALTIME => Clock::Realtime,
        _ => return None,
    };
    Some(Deadline { clock, at: at_ns })
}

/// Returns the result of a wait until the point in time `at_ns` on a clock of the caller's choice.
pub(crate) fn until(clock: c_int, at_ns: u64, wait: impl FnOnce(Deadline) -> bool) -> tw_result {
    at(clock, at_ns).map_or(TW_INVALID, |at| timed(wait(at)))
}

/// Returns what a clock shows, in nanoseconds: TW_CLOCK_MONOTONIC or TW_CLOCK_REALTIME, for the `_until` functions; 0
/// for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn tw_now_ns(clock: c_int) -> u64 {
    match clock {
        TW_CLOCK_MONOTONIC => Native::now(),
        TW_CLOCK_REALTIME => Native::wall(),
        _ => 0,
    }
}
