//! CPUs that appear, disappear, and are unavailable.

use super::{Fault, Skipped, fault, need};
use crate::board::Board;
use crate::inject::Injector;
use crate::inject::affinity::Affinity;
use crate::run::Tally;
use crate::session::{Session, victims};
use anyhow::Result;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use turnwise_present::quota::Quota;

pub(super) const FAULTS: &[Fault] = &[
    fault("affinity", |session| {
        let rng = session.rng();
        need(Affinity::new(rng)?.cpus.len() > 1, "this process may use one CPU alone")?;
        session.each(&victims("all"), "none", Affinity::new)
    }),
    fault("quota", quota),
    fault("hot-unplug", |_| Err(Skipped("it would take the CPU from all others on this machine".into()).into())),
];

/// The quota of this process, and so of the victim; it counts the periods in which it was used up.
struct Throttle {
    quota: Quota,
    looked: Instant,
}

impl Throttle {
    fn new() -> Result<Self> {
        Ok(Throttle { quota: Quota::enter(5)?, looked: Instant::now() })
    }
}

impl Injector for Throttle {
    fn step(&mut self, board: &Board) -> Result<()> {
        if self.looked.elapsed() > Duration::from_millis(50) {
            self.looked = Instant::now();
            board.tries.store(self.quota.throttled()?.throttled, Relaxed);
        }
        Ok(())
    }
}

fn quota(session: &mut Session) -> Result<Tally> {
    Throttle::new().map_err(|refused| Skipped(format!("{refused:#}")))?;
    session.each(&victims("all"), "none", |_| Throttle::new())
}
