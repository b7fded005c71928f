//! What is recorded of an acquisition: nothing, or how long it took.

use crate::run::{ByKind, Kind, WaitTimes};
use hdrhistogram::Histogram;
use std::sync::LazyLock;

/// Looks at single acquisitions.
pub trait Probe: Send {
    /// Has seen nothing yet.
    fn new() -> Self;
    /// The time, in units of its own.
    fn mark(&self) -> u64;
    /// Somebody asked for the lock and got it.
    fn record(&mut self, kind: Kind, asked: u64, acquired: u64);
    /// What it has seen.
    fn into_waits(self) -> Option<WaitTimes>;
}

/// Does not look.
pub struct Untimed;

impl Probe for Untimed {
    fn new() -> Self {
        Untimed
    }
    #[inline(always)]
    fn mark(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn record(&mut self, _kind: Kind, _asked: u64, _acquired: u64) {}
    fn into_waits(self) -> Option<WaitTimes> {
        None
    }
}

/// Times them.
pub struct Timed {
    clock: quanta::Clock,
    waits: WaitTimes,
}

/// The CPU's own counter where it is steady, else the system's clock; calibrated once.
static CLOCK: LazyLock<quanta::Clock> = LazyLock::new(quanta::Clock::new);

/// WaitTimes from 1 ns to 100 s, to two digits.
fn waits() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("the bounds are constants that it accepts")
}

impl Probe for Timed {
    fn new() -> Self {
        Timed { clock: CLOCK.clone(), waits: ByKind { read: waits(), write: waits() } }
    }
    #[inline(always)]
    fn mark(&self) -> u64 {
        self.clock.raw()
    }
    #[inline(always)]
    fn record(&mut self, kind: Kind, asked: u64, acquired: u64) {
        self.waits.get_mut(kind).saturating_record(self.clock.delta_as_nanos(asked, acquired));
    }
    fn into_waits(self) -> Option<WaitTimes> {
        Some(self.waits)
    }
}
