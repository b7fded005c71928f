//! The processor's counter.

/// Returns whether the processor has a counter that runs at one rate, on all CPUs and in all their states.
#[must_use]
pub fn has_invariant_counter() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        /// "Advanced power management"; bit 8: the counter's rate is constant in all states.
        const POWER: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Reads the counter, which is useful only where it is invariant.
#[must_use]
#[inline(always)]
pub fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the counter.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Reads the counter between this thread's earlier loads and stores and its later operations: an out-of-order processor
/// reads [`counter`] while earlier cache misses are still in flight.
#[must_use]
#[inline(always)]
pub fn counter_in_order() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the counter and the fences.
    return unsafe {
        use core::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
        _mm_mfence();
        _mm_lfence();
        let counter = _rdtsc();
        _mm_lfence();
        counter
    };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Reads the counter and a clock in nanoseconds at the same time, as far as possible: a thread may lose its CPU in
/// between, so the closest of several readings is taken.
pub fn counter_and(clock_ns: impl Fn() -> u64) -> (u64, u64) {
    const TRIES: u32 = 4;
    let read = |_| {
        let (before, ns) = (counter(), clock_ns());
        (counter().saturating_sub(before), before, ns)
    };
    let (took, before, ns) = (0..TRIES).map(read).min().unwrap_or_default();
    (before + took / 2, ns)
}
