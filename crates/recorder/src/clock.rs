//! Ticks: the processor's counter if it runs at one rate everywhere, else the system's clock.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording as file;

static CLOCK: AtomicU32 = AtomicU32::new(0);

/// Finds out which clock to take.
pub(crate) fn choose() -> u32 {
    let known = CLOCK.load(Relaxed);
    if known != 0 {
        return known;
    }
    let chosen = if file::clock::has_invariant_counter() { file::CLOCK_TSC } else { file::CLOCK_MONOTONIC };
    CLOCK.store(chosen, Relaxed);
    chosen
}

/// Now.
#[inline]
pub(crate) fn ticks() -> u64 {
    if CLOCK.load(Relaxed) == file::CLOCK_TSC {
        return file::clock::counter();
    }
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// A clock of the system.
pub(crate) fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
