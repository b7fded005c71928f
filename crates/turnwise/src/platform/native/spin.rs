//! The spin loop: poll, pause, poll; now and then read the clock and check whether the owner still runs. A spin without
//! a deadline gives up the CPU each time it has lasted `yield_after_ns` more: what it waits for may need this very CPU
//! to run.

use super::super::{OnCpu, SpinEnd, SpinLimit, Word};
use super::system;
use crate::platform::limits::{CLOCK_EVERY, HIT_JITTER_NS};
use crate::wait::policy;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// Gives a spin hint: PAUSE on x86, ISB on arm64 (YIELD is a no-op on most arm64 cores; ISB drains the pipeline, about
/// as long as an x86 PAUSE).
#[inline(always)]
pub(super) fn relax() {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: ISB touches neither memory nor registers.
    unsafe {
        core::arch::asm!("isb sy", options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "aarch64", not(miri))))]
    core::hint::spin_loop();
}

/// The number of spin hints per 1024 ns, measured by [`start`].
static HINTS_PER_US: AtomicU32 = AtomicU32::new(32);
/// The number of ticks per 1024 ns, measured by [`start`].
static TICKS_PER_US: AtomicU32 = AtomicU32::new(1024);
/// The cost of fetching a cache line that another CPU has written, in sixteenths of a tick (on many arm64 machines a
/// tick is about as long): a running mean of the spinners' measurements.
static LINE_COST: AtomicU32 = AtomicU32::new(guessed_line_cost(1024));

/// The ticks from which a timed poll has fetched the line from another CPU, measured by [`start`]; 0: unknown.
static CHANGED_TICKS: AtomicU32 = AtomicU32::new(0);

/// Reads a counter of constant rate, in a few nanoseconds, when all loads before it are done.
#[inline]
fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 CPU has the instructions.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(all(
        target_arch = "aarch64",
        any(target_os = "linux", target_os = "freebsd", target_vendor = "apple", windows),
        not(miri)
    ))]
    {
        let ticks: u64;
        // SAFETY: these systems let programs read the virtual counter.
        unsafe {
            core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        ticks
    }
    #[cfg(any(
        miri,
        not(any(
            target_arch = "x86_64",
            all(
                target_arch = "aarch64",
                any(target_os = "linux", target_os = "freebsd", target_vendor = "apple", windows)
            )
        ))
    ))]
    system::now()
}

/// Returns the ticks since `begin`; 0 where the counter of another CPU is behind.
#[inline]
fn ticks_since(begin: u64) -> u64 {
    ticks().saturating_sub(begin)
}

/// Measures the spin hint, which takes 10 to 140 cycles depending on the CPU, and the ticks. The constructor calls this
/// once.
pub(super) fn start() {
    const HINTS: u64 = 64;
    let once = || {
        let (begin, begin_ticks) = (system::now(), ticks());
        (0..HINTS).for_each(|_| relax());
        let took_ticks = ticks_since(begin_ticks);
        (system::now() - begin, took_ticks)
    };
    let (took_ns, took_ticks) = (0..3).map(|_| once()).min().unwrap_or_default();
    let took_ns = took_ns.max(1);
    HINTS_PER_US.store((HINTS * 1024 / took_ns).clamp(4, 1024) as u32, Relaxed);
    TICKS_PER_US.store((took_ticks * 1024 / took_ns).clamp(1, 16 * 1024) as u32, Relaxed);
    LINE_COST.store(guessed_line_cost(TICKS_PER_US.load(Relaxed)), Relaxed);
    CHANGED_TICKS.store(changed_ticks(ticks_of_a_hit(), TICKS_PER_US.load(Relaxed)), Relaxed);
}

/// Returns the initial [`LINE_COST`]: 50 ticks, or 50 ns where those are fewer.
const fn guessed_line_cost(ticks_per_us: u32) -> u32 {
    let ticks_per_us = if ticks_per_us < 1024 { ticks_per_us } else { 1024 };
    50 * 16 * ticks_per_us / 1024
}

/// Returns the new [`LINE_COST`] after a line that took this many ticks.
fn line_cost_after(mean: u32, took_ticks: u32) -> u32 {
    mean - mean / 16 + took_ticks
}

/// Measures the minimum time of a timed poll of a line in this CPU's cache.
fn ticks_of_a_hit() -> u32 {
    const SAMPLES: usize = 32;
    let word = AtomicU32::new(0);
    let poll = || {
        let begin = ticks();
        core::hint::black_box(core::hint::black_box(&word).load(Relaxed));
        ticks_since(begin)
    };
    (0..SAMPLES).map(|_| poll()).min().unwrap_or_default().min(4096) as u32
}

/// Returns [`CHANGED_TICKS`] for the fastest time of a hit: others take up to twice that.
fn changed_ticks(hit: u32, ticks_per_us: u32) -> u32 {
    match ticks_per_us * HIT_JITTER_NS / 1024 {
        0 => 0, // a line of another CPU may arrive within a tick
        spare => hit + spare.max(hit) + 1,
    }
}

/// Implements [`super::super::Hint::LineNs`].
pub(super) fn line_ns() -> u32 {
    LINE_COST.load(Relaxed).saturating_mul(1024 / 16) / TICKS_PER_US.load(Relaxed)
}

/// Implements [`super::super::Pause::Rest`].
pub(super) fn rest(ns: u32) {
    (0..hints(ns)).for_each(|_| relax());
}

fn hints(ns: u32) -> u32 {
    (ns.saturating_mul(HINTS_PER_US.load(Relaxed)) / 1024).max(1)
}

/// Reads a word after a pause; returns its value, and whether its line was still in this CPU's cache. If not, another
/// CPU has written it since the last poll, and the cost of fetching it is recorded, if it can be measured.
fn timed_poll<W: Word>(word: &W) -> (W::Value, bool) {
    let begin = ticks();
    let value = word.load(Relaxed);
    let took = ticks_since(begin).min(4096) as u32;
    let changed = CHANGED_TICKS.load(Relaxed);
    let unchanged = took < changed;
    if !unchanged && changed != 0 {
        LINE_COST.store(line_cost_after(LINE_COST.load(Relaxed), took), Relaxed);
    }
    (value, unchanged)
}

#[inline]
pub(super) fn spin_until<W: Word>(
    word: &W,
    mut ready: impl FnMut(W::Value) -> bool,
    limit: SpinLimit,
) -> Result<W::Value, SpinEnd> {
    let poll_ns = policy().poll_ns as u32;
    let mut rest = if limit.still_ns.is_some() { hints(poll_ns) } else { 1 };
    let (mut still_ns, mut changes): (u32, u32) = (0, 0);
    let mut spinner = None;
    let (mut since_clock, mut since_offer) = (0, None);
    let mut value = word.load(Relaxed);
    loop {
        if ready(value) {
            return Ok(value);
        }
        if since_clock >= CLOCK_EVERY {
            check(spinner.get_or_insert_with(system::Spinner::new), limit, &mut since_offer)?;
            since_clock = 0;
        }
        (0..rest).for_each(|_| relax());
        since_clock += rest;
        let Some(still_max_ns) = limit.still_ns else {
            value = word.load(Relaxed);
            continue;
        };
        let unchanged;
        (value, unchanged) = timed_poll(word);
        still_ns = if unchanged { still_ns.saturating_add(poll_ns) } else { 0 };
        rest = hints(if unchanged || !limit.batches { poll_ns } else { policy().away_ns(line_ns(), changes) });
        changes += u32::from(!unchanged);
        if still_ns >= still_max_ns && !ready(value) {
            return Err(SpinEnd::Deadline);
        }
    }
}

#[cold]
fn check(spinner: &system::Spinner, limit: SpinLimit, since_offer: &mut Option<u64>) -> Result<(), SpinEnd> {
    let mut now = system::now();
    if limit.until.is_some_and(|at| now >= at) {
        return Err(SpinEnd::Deadline);
    }
    spinner.refresh(now);
    if limit.until.is_none() && now.saturating_sub(*since_offer.get_or_insert(now)) > policy().yield_after_ns {
        system::give_way();
        now = system::now();
        *since_offer = Some(now);
    }
    match limit.owner {
        Some(owner) if system::on_cpu_at(owner, || now) == OnCpu::NotRunning => Err(SpinEnd::NotRunning),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{changed_ticks, guessed_line_cost, line_cost_after, ticks, ticks_since};

    #[test]
    fn a_counter_that_is_behind_has_not_ticked() {
        assert_eq!(ticks_since(u64::MAX), 0);
        let begin = ticks();
        assert!(ticks_since(begin) <= ticks());
    }

    #[test]
    fn a_coarse_counter_calls_no_line_unchanged() {
        assert_eq!(changed_ticks(24, 2450), 53, "an EPYC, whose counter ticks 24 times at once, and 12 ns of chance");
        assert_eq!(changed_ticks(48, 2000), 97, "a Xeon, where hits took up to 96 ticks, and other lines 170 and more");
        assert_eq!(changed_ticks(0, 25), 0, "ticks of 40 ns, as on many arm64 machines");
    }
    /// A mean in whole ticks got stuck at 15 of them: 600 ns where a tick takes 40.
    #[test]
    fn what_a_line_costs_is_learnt_to_the_tick() {
        assert_eq!(guessed_line_cost(2450), 16 * 50);
        assert_eq!(guessed_line_cost(25), 19, "50 ns: a tick, and a quarter");
        for took in [0, 1, 2, 15, 50, 4096] {
            for first in [guessed_line_cost(2450), guessed_line_cost(25), 16 * 4096] {
                let learnt = (0..1000).fold(first, |mean, _| line_cost_after(mean, took));
                assert_eq!(learnt / 16, took, "from {first}");
            }
        }
    }
}
