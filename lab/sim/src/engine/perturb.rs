//! Schedules that the machine alone would seldom make: threads that run at different speeds, and threads that stall for
//! a while, as if a hypervisor had taken their CPU. They hunt starvation, deadlock and livelock.
//!
//! In the manner of probabilistic concurrency testing (S. Burckhardt, P. Kothari, M. Musuvathi and S. Nagarakatte, "A
//! Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010): each thread has a random priority, which
//! here is a speed, and at random operations a thread falls behind all others, which here is a stall.

use super::Engine;
use crate::spec::{NS, Ps};

/// How to perturb a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Perturb {
    /// Not at all.
    None,
    /// At this many of a million operations the thread, on its CPU, stalls for up to `max_ns`, shorter times being more
    /// likely.
    Stalls {
        /// How often.
        per_million: u32,
        /// How long at most.
        max_ns: u64,
    },
    /// Stalls threads, and makes each one's operations take 1 to 16 times as long, drawn at the start.
    Pct {
        /// How often a thread stalls.
        per_million: u32,
        /// How long at most.
        max_ns: u64,
    },
}

pub(super) struct State {
    what: Perturb,
    /// Operations up to the next stall.
    left: u64,
    /// For each thread, the factor by which its operations take longer.
    slowness: Vec<u8>,
}

impl State {
    pub(super) fn new(what: Perturb, threads: usize, chance: &mut fastrand::Rng) -> State {
        let slow = matches!(what, Perturb::Pct { .. });
        let mut draw = || if slow { 1 << chance.u8(0..5) } else { 1 };
        let slowness = (0..threads).map(|_| draw()).collect();
        let mut state = State { what, left: u64::MAX, slowness };
        state.draw(chance);
        state
    }

    fn draw(&mut self, chance: &mut fastrand::Rng) {
        self.left = match self.what {
            Perturb::Stalls { per_million, .. } | Perturb::Pct { per_million, .. } if per_million > 0 => {
                chance.u64(0..2 * (1_000_000 / u64::from(per_million)).max(1)) + 1
            }
            _ => u64::MAX,
        };
    }
}

impl Engine {
    /// Returns what is to be added to an operation of the running thread that takes `cost`.
    #[inline]
    pub(super) fn perturbation(&mut self, cost: Ps) -> Ps {
        if self.perturb.what == Perturb::None { 0 } else { self.perturbed(cost) }
    }

    #[cold]
    fn perturbed(&mut self, cost: Ps) -> Ps {
        let slower = cost * Ps::from(self.perturb.slowness[self.current as usize] - 1);
        self.perturb.left -= 1;
        if self.perturb.left > 0 {
            return slower;
        }
        self.perturb.draw(&mut self.chance);
        let (Perturb::Stalls { max_ns, .. } | Perturb::Pct { max_ns, .. }) = self.perturb.what else { return slower };
        let bits = self.chance.u32(0..=max_ns.max(1).ilog2());
        slower + self.chance.u64(0..=(max_ns >> bits)) * NS
    }
}
