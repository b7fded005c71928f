//! The spin loop: look, pause, look; now and then ask the clock and whether the owner still runs.

use super::super::{OnCpu, SpinEnd, SpinLimit, Word};
use super::{on_cpu, sys};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// A spin hint: PAUSE on x86, ISB on arm64 (YIELD is a no-op on most arm64 cores; ISB drains the pipeline, about
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

/// Spin hints between two questions to the clock.
const HINTS_PER_CLOCK: u32 = 32;

/// Spin hints per 1024 ns, measured by [`start`].
static HINTS_PER_US: AtomicU32 = AtomicU32::new(32);

/// Measures the spin hint, which takes 10 to 140 cycles depending on the CPU. Called once, by the constructor.
pub(super) fn start() {
    const HINTS: u64 = 64;
    let once = || {
        let begin = sys::clock_ns(libc::CLOCK_MONOTONIC);
        (0..HINTS).for_each(|_| relax());
        sys::clock_ns(libc::CLOCK_MONOTONIC) - begin
    };
    let took_ns = (0..3).map(|_| once()).min().unwrap_or(0).max(1);
    HINTS_PER_US.store((HINTS * 1024 / took_ns).clamp(4, 1024) as u32, Relaxed);
}

#[inline]
pub(super) fn spin_until<W: Word>(
    word: &W,
    mut ready: impl FnMut(W::Value) -> bool,
    limit: SpinLimit,
) -> Result<W::Value, SpinEnd> {
    let hints_per_us = HINTS_PER_US.load(Relaxed);
    let hints = |ns: u32| (ns.saturating_mul(hints_per_us) / 1024).max(1);
    let (mut rest, rest_max) = (hints(limit.rest_min_ns), hints(limit.rest_max_ns));
    let mut spinner = None;
    let mut since_clock = 0;
    loop {
        let value = word.load(Relaxed);
        if ready(value) {
            return Ok(value);
        }
        if since_clock >= HINTS_PER_CLOCK {
            check(spinner.get_or_insert_with(on_cpu::Spinner::new), limit)?;
            since_clock = 0;
        }
        (0..rest).for_each(|_| relax());
        since_clock += rest;
        rest = (rest * 2).min(rest_max);
    }
}

#[cold]
fn check(spinner: &on_cpu::Spinner, limit: SpinLimit) -> Result<(), SpinEnd> {
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    if limit.until.is_some_and(|at| now >= at) {
        return Err(SpinEnd::Deadline);
    }
    spinner.refresh(now);
    match limit.owner {
        Some(owner) if on_cpu::on_cpu_at(owner, now) == OnCpu::NotRunning => Err(SpinEnd::NotRunning),
        _ => Ok(()),
    }
}
