//! Converts ticks of a view to nanoseconds of `CLOCK_MONOTONIC`.

use crate::layout::{CLOCK_COUNTER, Header};
use core::sync::atomic::Ordering::Relaxed;
use rustix::time::ClockId;
use turnwise_preload_abi::counter::counter_and;

/// The view's clock.
pub(crate) struct Clock {
    /// The current time, in ticks and in nanoseconds.
    ticks: u64,
    pub(crate) ns: u64,
    ns_per_tick: f64,
    /// The program's own scale.
    scale: u64,
}

impl Clock {
    /// Reads the clock.
    pub(crate) fn of(header: &Header) -> Clock {
        if header.clock.load(Relaxed) != CLOCK_COUNTER {
            let ns = monotonic_ns();
            return Clock { ticks: ns, ns, ns_per_tick: 1.0, scale: 1 << 32 };
        }
        let (ticks, ns) = counter_and(monotonic_ns);
        let scale = header.ns_per_tick.load(Relaxed);
        let shown = scale as f64 / 4_294_967_296.0;
        let measured =
            match (ns.checked_sub(header.base_ns.load(Relaxed)), ticks.checked_sub(header.base_ticks.load(Relaxed))) {
                (Some(ns), Some(ticks @ 1..)) => ns as f64 / ticks as f64,
                _ => shown,
            };
        // In a file from before the machine started, both clocks have another origin.
        let ns_per_tick = if (0.5..2.0).contains(&(measured / shown)) { measured } else { shown };
        Clock { ticks, ns, ns_per_tick, scale }
    }

    /// Returns the time of a reading of the ticks.
    pub(crate) fn at(&self, ticks: u64) -> u64 {
        self.ns.saturating_sub((self.ticks.saturating_sub(ticks) as f64 * self.ns_per_tick) as u64)
    }

    /// Returns the ticks at a time.
    pub(crate) fn ticks_at(&self, ns: u64) -> u64 {
        let away = (ns.abs_diff(self.ns) as f64 / self.ns_per_tick) as u64;
        if ns >= self.ns { self.ticks.saturating_add(away) } else { self.ticks.saturating_sub(away) }
    }

    /// Returns the number of ticks in a duration.
    pub(crate) fn ticks_in(&self, ns: u64) -> u64 {
        (ns as f64 / self.ns_per_tick) as u64
    }

    /// Returns the length of a number of ticks, as the program computes it.
    pub(crate) fn length(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32).min(u128::from(u64::MAX)) as u64
    }
}

fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
