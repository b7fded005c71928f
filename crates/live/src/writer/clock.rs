//! Ticks: the processor's counter if it runs at one rate everywhere, otherwise the system's clock.
//!
//! The length of a tick is measured from the process's start to now, and again each time that this has doubled. So
//! measuring it takes no wait, and no constant of the machine.

use super::sys;
use crate::layout::{CLOCK_COUNTER, CLOCK_MONOTONIC, Header};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};
use turnwise_preload_abi::counter::{self, counter_and};

static CLOCK: AtomicU32 = AtomicU32::new(CLOCK_MONOTONIC);
/// A moment in ticks and in nanoseconds.
static BASE_TICKS: AtomicU64 = AtomicU64::new(0);
static BASE_NS: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds in 2^32 ticks.
static SCALE: AtomicU64 = AtomicU64::new(1 << 32);
/// The ticks at which the scale is to be determined again.
static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);

/// The time after which the scale is accurate enough permanently: reading a clock takes some ten nanoseconds.
const LONG_NS: u64 = 20_000_000_000;
/// The time before which the scale is unknown.
const SHORT_NS: u64 = 20_000;

/// Notes the time at which the process begins. The clock is chosen later: querying the processor is expensive in a
/// virtual machine.
pub(super) fn start() {
    let (ticks, ns) = counter_and(sys::monotonic_ns);
    BASE_TICKS.store(ticks, Relaxed);
    BASE_NS.store(ns, Relaxed);
}

/// Chooses the clock, before the first wait.
pub(super) fn choose() {
    if CLOCK.load(Relaxed) != CLOCK_COUNTER && counter::has_invariant_counter() {
        // Until the scale is known: that of a common processor's counter.
        SCALE.store(1 << 31, Relaxed);
        NEXT.store(0, Relaxed);
        CLOCK.store(CLOCK_COUNTER, Relaxed);
        find_scale();
    }
}

/// Reads the clock.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    if CLOCK.load(Relaxed) == CLOCK_COUNTER { counter::counter() } else { sys::monotonic_ns() }
}

/// Returns the length of a number of ticks that ended at `now`.
#[inline(always)]
pub(super) fn length(ticks: u64, now: u64, header: &Header) -> u64 {
    if now >= NEXT.load(Relaxed) && find_scale() {
        tell(header);
    }
    ((u128::from(ticks) * u128::from(SCALE.load(Relaxed))) >> 32) as u64
}

/// Determines the length of a tick, as far as it can be known now; `false`: it is too early. Threads may race here;
/// they find about the same length.
#[cold]
fn find_scale() -> bool {
    let (ticks, ns) = counter_and(sys::monotonic_ns);
    let since = ns.saturating_sub(BASE_NS.load(Relaxed));
    let ticks_since = ticks.saturating_sub(BASE_TICKS.load(Relaxed));
    if since < SHORT_NS || ticks_since == 0 {
        return false;
    }
    SCALE.store(((u128::from(since) << 32) / u128::from(ticks_since)) as u64, Relaxed);
    NEXT.store(if since > LONG_NS { u64::MAX } else { ticks.saturating_add(ticks_since) }, Relaxed);
    true
}

/// Publishes the clock's parameters to readers.
pub(super) fn tell(header: &Header) {
    header.clock.store(CLOCK.load(Relaxed), Relaxed);
    header.base_ticks.store(BASE_TICKS.load(Relaxed), Relaxed);
    header.base_ns.store(BASE_NS.load(Relaxed), Relaxed);
    header.ns_per_tick.store(SCALE.load(Relaxed), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Readers convert the last wait of a thread to nanoseconds at each look: it must not change its length.
    #[test]
    fn a_tick_is_known_before_the_first_wait() {
        start();
        std::thread::sleep(Duration::from_millis(2));
        choose();
        if CLOCK.load(Relaxed) != CLOCK_COUNTER {
            return; // ticks are nanoseconds
        }
        let (ticks, ns) = counter_and(sys::monotonic_ns);
        std::thread::sleep(Duration::from_millis(20));
        let (ticks_later, ns_later) = counter_and(sys::monotonic_ns);
        let shown = (u128::from(ticks_later - ticks) * u128::from(SCALE.load(Relaxed))) >> 32;
        let is = u128::from(ns_later - ns);
        assert!(shown.abs_diff(is) < is / 50, "{shown} ns for {is} ns");
    }
}
