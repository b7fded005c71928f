//! Time slices on the CPU among threads that contend for one lock.

use super::Settings;
use crate::platform::slot::{Private, Quantum};
use crate::platform::{Pause, Platform};

/// Offers the CPU if the thread, which begins to wait for the lock at `address` at `now`, has contended for it for one
/// slice (`turn_ns`). Returns the time at which it continues.
///
/// After a gap the thread was off the CPU, or did something else: its slice starts over. One round of a queue is not a
/// gap, so a gap is longer than two slices and a whole spin: if queued threads, or those that rarely compete, seemed to
/// come out of gaps, none would ever offer its CPU, and threads that sleep or wait for a CPU would wait until a
/// hand-off request (`docs/lab/0050-turns-that-never-ended.md`).
pub(crate) fn yield_quantum<P: Platform>(private: &Private, address: usize, now: u64, settings: impl Settings) -> u64 {
    let Quantum { address: of, since, seen } = private.quantum.get();
    let (turn_ns, waited_ns) = (settings.turn_ns(), now.saturating_sub(seen));
    let gap = of != address || waited_ns > 2 * turn_ns + settings.spin_ns::<P>();
    if !gap && now.saturating_sub(since) <= turn_ns {
        private.quantum.set(Quantum { address, since, seen: now });
        return now;
    }
    let now = if gap { now } else { offer::<P>() };
    private.quantum.set(Quantum { address, since: now, seen: now });
    now
}

/// Offers the CPU; returns the time at which the thread has it again.
#[cold]
fn offer<P: Platform>() -> u64 {
    P::pause(Pause::Offer);
    P::now()
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::Native;
    use crate::wait::ByPolicy;

    const TURN_NS: u64 = crate::wait::Policy::DEFAULT.turn_ns;

    /// Waits for `address` at each of these times, none of which is the clock's; returns when the thread continued.
    fn waits<const N: usize>(private: &Private, address: usize, times: [u64; N]) -> [u64; N] {
        times.map(|now| yield_quantum::<Native>(private, address, now, ByPolicy))
    }

    #[test]
    fn a_turn_ends_though_its_waits_are_far_apart() {
        let private = Private::new();
        let far = TURN_NS - 1;
        assert_eq!(waits(&private, 64, [1, 1 + far]), [1, 1 + far]);
        let [offered] = waits(&private, 64, [1 + 2 * far]);
        assert_ne!(offered, 1 + 2 * far, "it has offered its CPU, and read the clock");
        assert_eq!(private.quantum.get().since, offered);
    }

    #[test]
    fn after_a_gap_or_with_another_lock_a_turn_begins_anew() {
        let private = Private::new();
        let gap = 2 * TURN_NS + ByPolicy.spin_ns::<Native>() + 1;
        let times = [1, 1 + gap, 1 + 2 * gap];
        assert_eq!(waits(&private, 64, times), times);
        assert_eq!(waits(&private, 128, [2 + 2 * gap]), [2 + 2 * gap]);
        assert_eq!(private.quantum.get().since, 2 + 2 * gap);
    }
}
