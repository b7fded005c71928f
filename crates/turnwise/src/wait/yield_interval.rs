//! Time slices on the CPU among threads that contend for one lock.

use super::Tuned;
use crate::platform::slot::{Private, YieldInterval};
use crate::platform::{Pause, Platform};

/// Yields the CPU if the thread, which begins to wait for the lock at `address` at `now`, has contended for it for one
/// slice (`yield_after_ns`). Returns the time at which it continues.
///
/// After a gap the thread was off the CPU, or did something else: its slice starts over. One round of a queue is not a
/// gap, so a gap is longer than two slices and a whole spin: if queued threads, or those that rarely compete, seemed to
/// come out of gaps, none would ever yield its CPU, and threads that sleep or wait for a CPU would wait until a
/// hand-off request (`docs/lab/README.md`, 0050).
pub(crate) fn yield_after_interval<P: Platform>(private: &Private, address: usize, now: u64, settings: &Tuned) -> u64 {
    let YieldInterval { address: of, since, seen } = private.yield_interval.get();
    let (yield_after_ns, waited_ns) = (settings.yield_after_ns(), now.saturating_sub(seen));
    let gap = of != address || waited_ns > 2 * yield_after_ns + settings.spin_ns::<P>();
    if !gap && now.saturating_sub(since) <= yield_after_ns {
        private.yield_interval.set(YieldInterval { address, since, seen: now });
        return now;
    }
    let now = if gap { now } else { yield_bounded::<P>() };
    private.yield_interval.set(YieldInterval { address, since: now, seen: now });
    now
}

/// Yields the CPU; returns the time at which the thread has it again.
#[cold]
fn yield_bounded<P: Platform>() -> u64 {
    P::pause(Pause::Offer);
    P::now()
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::Native;

    const YIELD_AFTER_NS: u64 = crate::wait::Policy::DEFAULT.yield_after_ns;

    /// Waits for `address` at each of these times, none of which is the clock's; returns when the thread continued.
    fn waits<const N: usize>(private: &Private, address: usize, times: [u64; N]) -> [u64; N] {
        times.map(|now| yield_after_interval::<Native>(private, address, now, &Tuned::POLICY))
    }

    #[test]
    fn an_interval_ends_though_its_waits_are_far_apart() {
        let private = Private::new();
        let far = YIELD_AFTER_NS - 1;
        assert_eq!(waits(&private, 64, [1, 1 + far]), [1, 1 + far]);
        let [yielded] = waits(&private, 64, [1 + 2 * far]);
        assert_ne!(yielded, 1 + 2 * far, "it has yielded its CPU, and read the clock");
        assert_eq!(private.yield_interval.get().since, yielded);
    }

    #[test]
    fn after_a_gap_or_with_another_lock_an_interval_begins_anew() {
        let private = Private::new();
        let gap = 2 * YIELD_AFTER_NS + Tuned::POLICY.spin_ns::<Native>() + 1;
        let times = [1, 1 + gap, 1 + 2 * gap];
        assert_eq!(waits(&private, 64, times), times);
        assert_eq!(waits(&private, 128, [2 + 2 * gap]), [2 + 2 * gap]);
        assert_eq!(private.yield_interval.get().since, 2 + 2 * gap);
    }
}
