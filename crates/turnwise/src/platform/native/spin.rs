//! The spin loop: look, pause, look; now and then ask the clock and whether the owner still runs.

use super::super::{OnCpu, SpinEnd, SpinLimit, Word};
use super::{on_cpu, sys};
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

/// Looks before the clock is asked for the first time: the shortest waits never pay for it.
const LOOKS_BEFORE_CLOCK: u32 = 8;
/// Looks between two questions to the clock.
const LOOKS_PER_CLOCK: u32 = 8;

#[inline]
pub(super) fn spin_until<W: Word>(
    word: &W,
    mut ready: impl FnMut(W::Value) -> bool,
    limit: SpinLimit,
) -> Result<W::Value, SpinEnd> {
    for _ in 0..LOOKS_BEFORE_CLOCK {
        let value = word.load(Relaxed);
        if ready(value) {
            return Ok(value);
        }
        relax();
    }
    let spinner = on_cpu::Spinner::publish();
    loop {
        check(&spinner, limit)?;
        for _ in 0..LOOKS_PER_CLOCK {
            let value = word.load(Relaxed);
            if ready(value) {
                return Ok(value);
            }
            relax();
        }
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
