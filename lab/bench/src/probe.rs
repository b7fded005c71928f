//! What is recorded of an acquisition: nothing, how long it took, or all that a simulator can report.

use crate::run::{ByKind, Kind, WaitTimes};
use hdrhistogram::Histogram;
use std::sync::LazyLock;

/// Observes single acquisitions, in the thread that makes them.
pub trait Probe {
    /// Returns the time, in units of its own.
    fn mark(&self) -> u64;
    /// Notes that the lock at this address will be requested.
    #[inline(always)]
    fn asks(&self, _lock: *const u8) {}
    /// Notes that it was acquired, alone for a write.
    #[inline(always)]
    fn acquired(&self, _lock: *const u8, _kind: Kind) {}
    /// Notes that it will be released.
    #[inline(always)]
    fn releases(&self, _lock: *const u8, _kind: Kind) {}
    /// Records that the lock was requested and acquired at these times, and has been released.
    fn record(&mut self, kind: Kind, asked: u64, acquired: u64);
    /// Records a wait of this many nanoseconds, by a clock of the workload.
    fn waited(&mut self, _kind: Kind, _ns: u64) {}
    /// Returns the waits of its thread, if it has recorded them.
    fn into_waits(self) -> Option<Box<WaitTimes>>
    where
        Self: Sized,
    {
        None
    }
}

/// A probe that observes nothing.
pub struct Untimed;

impl Probe for Untimed {
    #[inline(always)]
    fn mark(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn record(&mut self, _kind: Kind, _asked: u64, _acquired: u64) {}
}

/// Times them.
pub struct Timed {
    clock: quanta::Clock,
    /// Elsewhere, so that the clock may stay in registers while the times are recorded out of line.
    waits: Box<WaitTimes>,
}

impl Default for Timed {
    /// Creates a probe that has seen nothing yet.
    fn default() -> Self {
        Timed { clock: CLOCK.clone(), waits: Box::new(ByKind { read: times(), write: times() }) }
    }
}

/// The CPU's own counter where it is steady, else the system's clock; calibrated once.
static CLOCK: LazyLock<quanta::Clock> = LazyLock::new(quanta::Clock::new);

/// Times from 1 ns to 100 s, to two digits.
pub fn times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("the bounds are constants that it accepts")
}

impl Probe for Timed {
    #[inline(always)]
    fn mark(&self) -> u64 {
        self.clock.raw()
    }
    #[inline(always)]
    fn record(&mut self, kind: Kind, asked: u64, acquired: u64) {
        record(&mut self.waits, kind, self.clock.delta_as_nanos(asked, acquired));
    }
    fn waited(&mut self, kind: Kind, ns: u64) {
        record(&mut self.waits, kind, ns);
    }
    fn into_waits(self) -> Option<Box<WaitTimes>> {
        Some(self.waits)
    }
}

/// Records a wait. Out of line: the lock has been released, and every lock has its own copy of the callers.
#[inline(never)]
fn record(waits: &mut WaitTimes, kind: Kind, ns: u64) {
    waits.get_mut(kind).saturating_record(ns);
}
