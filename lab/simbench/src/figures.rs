//! The figures of a cell between two readings of its counts.

use super::probe::SimProbe;
use super::report::{Figures, Handoffs};
use super::run::Plan;
use super::{Sort, profile};
use turnwise_bench::report::Waits;
use turnwise_bench::run::{Counts, Roles};
use turnwise_sim::experiment::Mark;
use turnwise_sim::spec::NS;

/// What happened between two moments; of each thread there is a count of what it has done so far.
pub(super) struct Interval<'a> {
    pub(super) plan: &'a Plan,
    pub(super) roles: Roles,
    pub(super) begin: &'a Mark<Vec<Counts>>,
    pub(super) end: &'a Mark<Vec<Counts>>,
}

impl Interval<'_> {
    pub(super) fn figures(&self, probe: &SimProbe) -> Figures {
        let counts = self.counts();
        let ops: u64 = counts.iter().map(|c| c.total()).sum();
        let reads: u64 = counts.iter().map(|c| c.read).sum();
        let (begin, end) = (&self.begin.machine.counters, &self.end.machine.counters);
        let per_op = |figure: u64| figure as f64 / ops.max(1) as f64;
        let duration_ns = self.plan.duration_ns;
        let times = probe.times();
        Figures {
            ops,
            reads: self.tells_readers().then_some(reads),
            ops_per_s: ops as f64 * 1e9 / duration_ns as f64,
            op_ns: per_op(duration_ns),
            cpu_ns: per_op(end.cpu_ps - begin.cpu_ps) / NS as f64,
            fairness: if self.tells_readers() { self.roles } else { Roles::WRITE }.fairness(&counts),
            wait: Waits::of(&times.wait),
            hold: Waits::of(&times.hold),
            handoffs: self.handoffs(),
            transfers_per_op: per_op(end.transfers - begin.transfers),
            remote_transfers_per_op: per_op(end.remote_transfers - begin.remote_transfers),
            voluntary: end.voluntary - begin.voluntary,
            involuntary: end.involuntary - begin.involuntary,
            profile: profile::rows(&self.begin.machine.profile, &self.end.machine.profile),
            notes: self.notes(&counts),
        }
    }

    /// Returns what each thread did.
    fn counts(&self) -> Vec<Counts> {
        let pairs = self.end.counted.iter().zip(&self.begin.counted);
        pairs.map(|(end, begin)| end.since(*begin)).collect()
    }

    fn tells_readers(&self) -> bool {
        matches!(self.plan.lock.sort, Sort::Shared | Sort::Sequence)
    }

    fn handoffs(&self) -> Handoffs {
        let (begin, end) = (self.begin.machine.counters.handoffs, self.end.machine.counters.handoffs);
        let same_thread = end.same_thread - begin.same_thread;
        let (same_node, other_node) = (end.same_node - begin.same_node, end.other_node - begin.other_node);
        let (all, runs) = (same_thread + same_node + other_node, same_node + other_node);
        let run_length = all as f64 / runs.max(1) as f64;
        Handoffs { same_thread, same_node, other_node, run_length }
    }

    fn notes(&self, counts: &[Counts]) -> Vec<String> {
        let mut notes = Vec::new();
        let idle = counts.iter().filter(|c| c.total() == 0).count();
        if idle == counts.len() {
            notes.push("no operation was completed in the interval: figures per operation are totals".to_owned());
        } else if idle > 0 {
            notes.push(format!("{idle} of {} threads completed no operation in the interval", counts.len()));
        }
        match self.plan.lock.sort {
            Sort::Exclusive if self.plan.workload.reads() => {
                notes.push("this lock does not distinguish readers from writers: all threads write".to_owned());
            }
            Sort::Counted if self.plan.workload.reads() => {
                notes.push("references are taken and dropped; there are no reads or writes".to_owned());
            }
            _ => {}
        }
        notes
    }
}
