//! Bounded yields: they are made as long as they benefit contending threads of this process.
//!
//! A yield has no particular beneficiary. Where threads of one program outnumber CPUs the next of them runs within two
//! microseconds. If another program has a busy thread there, that one runs, for a time slice (1.4 ms on 2 CPUs of a
//! Linux 6.18, for which a yield is a slice forfeited): a thread that yielded every 64 us kept a tenth of its CPU time.
//!
//! So the process keeps an account of each CPU. Its threads leave signs of life where they contend: as they spin, as
//! they offer, and as they return from an offer. The time between the last sign and the return was given away, and
//! after more than [`GIVEN_AWAY_NS`] no thread yields that CPU until it is made up for: at most one part in
//! [`GIVEN_AWAY_SHARE`] of a CPU's time is given away.
//!
//! All accesses are relaxed, and an update may be lost: that costs time, never safety.

use super::filter::may_be_filtered;
use super::on_cpu::CpuSlot;
use super::sys;
use crate::platform::limits::{COUNTED_NS, GIVEN_AWAY_NS, GIVEN_AWAY_SHARE, SAVED_NS};
use core::sync::atomic::Ordering::Relaxed;

/// Implements [`crate::platform::Pause::Yield`]. Where a filter may forbid that, it sleeps very briefly.
pub(crate) fn yield_now() {
    if may_be_filtered() {
        return sys::nap(1);
    }
    // SAFETY: the function takes no arguments.
    unsafe { libc::sched_yield() };
}

/// Implements [`crate::platform::Pause::Offer`].
pub(crate) fn yield_bounded() {
    if cfg!(miri) {
        return yield_now(); // Miri does not know the thread's CPU
    }
    if may_be_filtered() {
        return;
    }
    let Some(cpu) = CpuSlot::own() else { return };
    let begin = sys::now();
    cpu.seen(begin);
    if begin < cpu.yield_at.load(Relaxed) {
        return;
    }
    yield_now();
    let end = sys::now();
    // The thread may have migrated; the account is that of the CPU that it yielded.
    let given_ns = cpu.silence_ns(end).min(end.saturating_sub(begin));
    if let Some(cpu) = CpuSlot::own() {
        cpu.seen(end);
    }
    if given_ns > GIVEN_AWAY_NS {
        cpu.yield_at.store(next_yield_at(cpu.yield_at.load(Relaxed), end, given_ns), Relaxed);
    }
}

/// Lets other threads run, for a thread that cannot continue: yields its CPU, or sleeps very briefly where a filter may
/// forbid that.
pub(crate) fn give_way() {
    if may_be_filtered() { yield_now() } else { yield_bounded() }
}

/// Returns when a CPU that could be yielded from `yield_at` on may be yielded again, after `given_ns` were given away
/// up to `now`.
fn next_yield_at(yield_at: u64, now: u64, given_ns: u64) -> u64 {
    yield_at.max(now.saturating_sub(SAVED_NS * GIVEN_AWAY_SHARE)) + given_ns.min(COUNTED_NS) * GIVEN_AWAY_SHARE
}

#[cfg(test)]
mod tests {
    use super::{COUNTED_NS, GIVEN_AWAY_NS, GIVEN_AWAY_SHARE, SAVED_NS, next_yield_at};

    /// Returns how much a thread gives away that yields its CPU every 64 us for `length_ns`, next to one that takes
    /// each yield.
    fn given_away_ns(length_ns: u64, slice_ns: u64) -> u64 {
        let begin = 3_600_000_000_000;
        let (mut now, mut yield_at, mut given) = (begin, 0, 0);
        while now < begin + length_ns {
            now += 64_000;
            if now >= yield_at {
                now += slice_ns;
                given += slice_ns;
                yield_at = next_yield_at(yield_at, now, slice_ns);
            }
        }
        given
    }

    #[test]
    fn a_bounded_share_is_given_away() {
        for slice_ns in [GIVEN_AWAY_NS + 1, 700_000, 1_400_000, 3_000_000, 95_000_000] {
            for length_ns in [300_000_000, 3_000_000_000, 30_000_000_000] {
                let given = given_away_ns(length_ns, slice_ns);
                let bound = length_ns / GIVEN_AWAY_SHARE + SAVED_NS + 2 * slice_ns;
                assert!(given <= bound, "{given} of {length_ns} ns in slices of {slice_ns}, not {bound}");
                assert!(given > 0);
            }
        }
    }

    #[test]
    fn yields_resume_after_a_while_in_which_nothing_was_given_away() {
        let now = 3_600_000_000_000;
        let once = next_yield_at(0, now, 1_400_000);
        assert!(once <= now, "a single slice ends no turns");
        let often = (0..20).fold(0, |at, _| next_yield_at(at, now, 1_400_000));
        assert!(often > now && often <= now + 20 * 1_400_000 * GIVEN_AWAY_SHARE, "{often}");
        let stopped = next_yield_at(0, now, u64::MAX / GIVEN_AWAY_SHARE);
        assert!(stopped <= now + COUNTED_NS * GIVEN_AWAY_SHARE, "{stopped}");
    }
}
