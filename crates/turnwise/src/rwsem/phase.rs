//! A writer's phase: for a few milliseconds its releases leave the readers asleep.
//!
//! Where threads outnumber CPUs, a writer that waited for readers to leave would have one section in each round of the
//! scheduler: its release wakes all readers, and they preempt it. So every 67 ms at most a release may wake one reader
//! alone, the *warden*, and keep `READERS`, `WRITERS` and `PHASE` in the word; the next releases do so, too, and wake
//! no thread. The warden ends the phase, by invariant 9 of [`super::raw`].
//!
//! The times are in the upper half of the owner's word, which only a thread that has the write lock changes. They are
//! too short to be unambiguous: a phase may end early, or begin later, but never by them alone stay on.

use super::raw::{HANDOFF, PHASE, READERS, RawRwSem, UPGRADABLE, WRITER, WRITERS};
use super::wake::wake_writer;
use crate::platform::{Lane, Platform, Token, Word};
use crate::wait::limits::{PHASE_ABSENT, PHASE_LOG2_NS, PHASE_MAX, PHASE_REST, PHASE_TICK_LOG2_NS};
use core::sync::atomic::Ordering::Relaxed;

/// The bit in the owner's word from which on it has the time at which the last phase began, modulo 2^8.
const BEGUN: u32 = Token::LIMIT.trailing_zeros();
/// The bit from which on it has the time, in shorter units, of the last release in that phase, modulo 2^8.
const RELEASED: u32 = BEGUN + 8;

/// Returns how many units of 2^`log2_ns` nanoseconds have passed since the time at bit `from` of the owner's word.
fn passed(owner: u32, from: u32, now: u64, log2_ns: u32) -> u8 {
    ((now >> log2_ns) as u8).wrapping_sub((owner >> from) as u8)
}

/// Returns `owner` with the time `now` at bit `from`.
fn with_time(owner: u32, from: u32, now: u64, log2_ns: u32) -> u32 {
    owner & !(0xff << from) | u32::from((now >> log2_ns) as u8) << from
}

impl<P: Platform> RawRwSem<P> {
    /// Returns whether the release by the writer, which is the caller and found `word`, leaves the readers asleep.
    pub(super) fn is_in_phase(&self, word: u32) -> bool {
        if word & (UPGRADABLE | HANDOFF | READERS | WRITERS) != READERS | WRITERS {
            return false;
        }
        let (owner, now) = (self.owner.load(Relaxed), P::now());
        let age = passed(owner, BEGUN, now, PHASE_LOG2_NS);
        let released = with_time(owner, RELEASED, now, PHASE_TICK_LOG2_NS);
        if word & PHASE != 0 {
            self.owner.store(released, Relaxed);
            return age < PHASE_MAX;
        }
        if age < PHASE_REST || !P::has_lanes() {
            return false;
        }
        self.owner.store(with_time(released, BEGUN, now, PHASE_LOG2_NS), Relaxed);
        self.begin_phase(word)
    }

    /// Begins a phase, unless another writer sleeps, which would have to wait, or no reader, which would be the warden.
    fn begin_phase(&self, word: u32) -> bool {
        let address = &raw const self.word;
        // The phase comes first, so that the woken reader finds it, or its end.
        wake_writer::<P>(address) == 0
            && self.word.compare_exchange(word, word | PHASE, Relaxed, Relaxed).is_ok()
            && P::wake(address, Lane::Readers, 1) != 0
    }

    /// Returns whether the writer stays away from its phase, to which `word` belongs.
    pub(super) fn phase_is_idle(&self, word: u32) -> bool {
        word & WRITER == 0 && passed(self.owner.load(Relaxed), RELEASED, P::now(), PHASE_TICK_LOG2_NS) >= PHASE_ABSENT
    }
}
