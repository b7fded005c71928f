//! Ticks: the processor's counter if it runs at one rate everywhere, otherwise the system's clock.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};
pub(crate) use turnwise_interpose::nanoseconds;
use turnwise_recording as file;

static CLOCK: AtomicU32 = AtomicU32::new(0);
/// Ticks per 1024 ns, as far as it is known: at first the counter of a common processor.
static RATE: AtomicU64 = AtomicU64::new(2048);

/// Determines which clock to use.
pub(crate) fn choose() -> u32 {
    let known = CLOCK.load(Relaxed);
    if known != 0 {
        return known;
    }
    let chosen = if file::clock::has_invariant_counter() { file::CLOCK_TSC } else { file::CLOCK_MONOTONIC };
    if chosen == file::CLOCK_MONOTONIC {
        RATE.store(1024, Relaxed);
    }
    CLOCK.store(chosen, Relaxed);
    chosen
}

/// Notes how many ticks a period took. A millisecond determines the rate well enough.
pub(crate) fn note_rate(ticks: u64, ns: u64) {
    if let 1000.. = ns >> 10 {
        RATE.store(ticks / (ns >> 10), Relaxed);
    }
}

/// Returns the approximate number of ticks in a time of at most a second.
#[inline]
pub(crate) fn ticks_in(ns: u64) -> u64 {
    (ns * RATE.load(Relaxed)) >> 10
}

/// Reads the clock.
#[inline]
pub(crate) fn ticks() -> u64 {
    if CLOCK.load(Relaxed) == file::CLOCK_TSC {
        return file::clock::counter();
    }
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Reads the clock between the thread's earlier and later operations: those in flight count as earlier.
#[inline]
pub(crate) fn ticks_in_order() -> u64 {
    if CLOCK.load(Relaxed) == file::CLOCK_TSC {
        return file::clock::counter_in_order();
    }
    fence(SeqCst);
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Reads the clock, and nanoseconds of `CLOCK_MONOTONIC` at the same time.
pub(crate) fn ticks_and_nanoseconds() -> (u64, u64) {
    let now = || nanoseconds(libc::CLOCK_MONOTONIC);
    if CLOCK.load(Relaxed) == file::CLOCK_TSC {
        return file::clock::counter_and(now);
    }
    let ns = now();
    (ns, ns)
}

/// Returns how many ticks it takes to read the clock in order, on average: some counters advance in steps longer than a
/// reading.
pub(crate) fn takes() -> u64 {
    const READINGS: u64 = 1000;
    let round = |_| {
        let start = ticks_in_order();
        (1..READINGS).for_each(|_| _ = core::hint::black_box(ticks_in_order()));
        ticks_in_order().saturating_sub(start) / READINGS
    };
    // The best of several: a thread may lose its CPU.
    (0..4).map(round).min().unwrap_or(0)
}
