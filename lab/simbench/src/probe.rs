//! What is recorded of a simulated acquisition: everything, since observation is free.

use hdrhistogram::Histogram;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use turnwise_bench::probe::{Probe, times};
use turnwise_bench::run::Kind;
use turnwise_sim::Sim;
use turnwise_sim::spec::NS;

/// How long the acquisitions of all threads took.
pub(super) struct Times {
    /// From request to acquisition.
    pub(super) wait: Histogram<u64>,
    /// From acquisition to release.
    pub(super) hold: Histogram<u64>,
}

/// One thread's view of the lock. Marks are picoseconds.
#[derive(Clone)]
pub(super) struct SimProbe {
    times: Rc<RefCell<Times>>,
    /// Acquisitions at other times are not recorded.
    interval: Range<u64>,
}

impl SimProbe {
    /// Records what is acquired in this interval of simulated picoseconds.
    pub(super) fn new(interval: Range<u64>) -> SimProbe {
        SimProbe { times: Rc::new(RefCell::new(Times { wait: times(), hold: times() })), interval }
    }

    /// Returns what it has recorded, and all its clones.
    pub(super) fn times(&self) -> std::cell::Ref<'_, Times> {
        self.times.borrow()
    }
}

impl Probe for SimProbe {
    fn mark(&self) -> u64 {
        Sim::time_ps()
    }

    fn asks(&self, lock: *const u8) {
        Sim::asks(lock);
    }

    fn acquired(&self, lock: *const u8, kind: Kind) {
        Sim::acquired(lock, kind == Kind::Write);
    }

    fn releases(&self, lock: *const u8, _kind: Kind) {
        Sim::released(lock);
    }

    fn record(&mut self, _kind: Kind, asked: u64, acquired: u64) {
        if self.interval.contains(&acquired) {
            let ns = |from: u64, to: u64| (to - from) / NS;
            let mut times = self.times.borrow_mut();
            times.wait.saturating_record(ns(asked, acquired));
            times.hold.saturating_record(ns(acquired, Sim::time_ps()));
        }
    }
}
