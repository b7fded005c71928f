//! Time: the CPU's counter for events on one CPU, the system's clock for those on two.

use std::sync::LazyLock;
use turnwise::platform::{Native, Platform};

/// The CPU's own counter where it is steady, else the system's clock; calibrated once.
static CLOCK: LazyLock<quanta::Clock> = LazyLock::new(quanta::Clock::new);

/// Waits until everything before it is done, and lets nothing after it begin.
#[inline(always)]
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: barriers touch neither memory nor registers.
    unsafe {
        core::arch::asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}

/// Calibrates the counter, which takes a moment, before anything is timed with it.
pub(super) fn prepare() {
    LazyLock::force(&CLOCK);
}

/// Returns how long `action` takes on this CPU, in nanoseconds.
#[inline(always)]
pub(super) fn timed(action: impl FnOnce()) -> f64 {
    fence();
    let begin = CLOCK.raw();
    fence();
    action();
    fence();
    let end = CLOCK.raw();
    fence();
    CLOCK.delta_as_nanos(begin, end) as f64
}

/// Returns the time on all CPUs, in nanoseconds: counters of different CPUs may differ, the system's clock does not.
#[inline]
pub(super) fn now() -> u64 {
    Native::now()
}

/// Returns the time of one of `count` repetitions, for each of `batches` batches. The first, a warm-up, is left out.
pub(super) fn per_call(batches: usize, count: u32, mut action: impl FnMut()) -> Vec<f64> {
    let mut batch = || timed(|| (0..count).for_each(|_| action())) / f64::from(count);
    batch();
    (0..batches).map(|_| batch()).collect()
}
