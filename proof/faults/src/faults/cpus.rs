//! CPUs that appear, disappear, and are unavailable.

use super::{Fault, Outcome, fault};
use crate::board::Board;
use crate::inject::Injector;
use crate::inject::affinity::Affinity;
use crate::session::{ALL, Session};
use anyhow::Result;
use std::time::{Duration, Instant};
use turnwise_present::quota::Quota;

pub(super) const FAULTS: &[Fault] = &[
    fault("affinity", "threads sent to other CPUs, one or some, hundreds of times a second", |session| {
        let rng = session.rng();
        if Affinity::new(rng)?.cpus() < 2 {
            return Ok(Outcome::Skipped("this process may use one CPU alone".into()));
        }
        session.each(ALL, "none", Affinity::new).map(Outcome::Ran)
    }),
    fault("quota", "5% of a CPU for all threads together: they stand still for most of each 100 ms", quota),
    fault("hot-unplug", "a CPU taken away from the running machine", |_| {
        Ok(Outcome::Skipped("it would take the CPU from all others on this machine".into()))
    }),
];

/// The quota of this process, and so of the victim; it counts the periods in which it was used up.
struct Throttle {
    quota: Quota,
    injected: u64,
    looked: Instant,
}

impl Throttle {
    fn new() -> Result<Self> {
        Ok(Throttle { quota: Quota::enter(5)?, injected: 0, looked: Instant::now() })
    }
}

impl Injector for Throttle {
    fn step(&mut self, _: &Board) -> Result<()> {
        if self.looked.elapsed() > Duration::from_millis(50) {
            self.looked = Instant::now();
            self.injected = self.quota.throttled()?.throttled;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn injected(&self) -> u64 {
        self.injected
    }
}

fn quota(session: &mut Session) -> Result<Outcome> {
    if let Err(refused) = Throttle::new() {
        return Ok(Outcome::Skipped(format!("{refused:#}")));
    }
    session.each(ALL, "none", |_| Throttle::new()).map(Outcome::Ran)
}
