//! The simulated machine as the world of a workload.

use crate::environment::Environment;
use std::time::Duration;
use turnwise_sim::Sim;

/// How much thinking varies: evenly, by this many percent either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jitter {
    percent: u8,
}

impl Jitter {
    /// Returns a jitter of this many percent either way; 100 at most.
    #[must_use]
    pub fn percent(percent: u8) -> Jitter {
        Jitter { percent: percent.min(100) }
    }

    /// Returns a time about `ns`, where `chance` gives a number below its argument.
    fn about(self, ns: u64, chance: impl FnOnce(u64) -> u64) -> u64 {
        let most = ns * u64::from(self.percent) / 100;
        if most == 0 { ns } else { ns - most + chance(2 * most + 1) }
    }

    /// Computes for about `ns` without a lock.
    #[track_caller]
    pub fn think(self, ns: u64) {
        Sim::compute_ahead(self.about(ns, Sim::chance));
    }
}

/// An amount of work is its nanoseconds.
impl Environment for Sim {
    type Jitter = Jitter;

    fn amount(ns: u64) -> u32 {
        u32::try_from(ns).unwrap_or(u32::MAX)
    }

    #[track_caller]
    fn work(seed: u64, amount: u32) -> u64 {
        Sim::compute(amount.into());
        seed
    }

    #[track_caller]
    fn think(seed: u64, amount: u32, jitter: Jitter) -> u64 {
        jitter.think(amount.into());
        seed
    }

    #[track_caller]
    fn sleep(time: Duration) {
        Sim::sleep(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_even_around_the_time() {
        let half = Jitter::percent(50);
        assert_eq!((half.about(100, |_| 0), half.about(100, |below| below - 1)), (50, 150));
        assert_eq!(half.about(100, |below| below / 2), 100);
        let never = |_| -> u64 { panic!("nothing is left to chance") };
        assert_eq!((Jitter::percent(0).about(100, never), half.about(1, never)), (100, 1));
    }
}
