//! The figures of a cell between two readings of its counts.

use super::probe::SimProbe;
use super::report::{Figures, Handoffs};
use super::run::Plan;
use super::{Sort, profile};
use turnwise_bench::report::Waits;
use turnwise_bench::run::{Counts, Roles};
use turnwise_sim::Counters;
use turnwise_sim::experiment::Mark;
use turnwise_sim::spec::NS;

/// What the machine showed at a moment, and what each thread had done by then.
pub(super) type Moment = Mark<Vec<Counts>>;

impl Plan {
    /// Returns what happened between two moments.
    pub(super) fn figures(&self, roles: Roles, [begin, end]: [&Moment; 2], probe: &SimProbe) -> Figures {
        let pairs = end.counted.iter().zip(&begin.counted);
        let counts: Vec<Counts> = pairs.map(|(end, begin)| end.since(*begin)).collect();
        let ops: u64 = counts.iter().map(|c| c.total()).sum();
        let reads: u64 = counts.iter().map(|c| c.read).sum();
        let (before, after) = (&begin.machine.counters, &end.machine.counters);
        let per_op = |figure: u64| figure as f64 / ops.max(1) as f64;
        let times = probe.times();
        let tells_readers = self.lock.sort == Sort::Shared;
        Figures {
            ops,
            reads: tells_readers.then_some(reads),
            ops_per_s: ops as f64 * 1e9 / self.duration_ns as f64,
            op_ns: per_op(self.duration_ns),
            cpu_ns: per_op(after.cpu_ps - before.cpu_ps) / NS as f64,
            fairness: if tells_readers { roles } else { Roles::WRITE }.fairness(&counts),
            wait: Waits::of(&times.wait),
            hold: Waits::of(&times.hold),
            handoffs: handoffs(before, after),
            transfers_per_op: per_op(after.transfers - before.transfers),
            remote_transfers_per_op: per_op(after.remote_transfers - before.remote_transfers),
            voluntary: after.voluntary - before.voluntary,
            involuntary: after.involuntary - before.involuntary,
            profile: profile::rows(&begin.machine.profile, &end.machine.profile),
            notes: self.notes(&counts),
        }
    }

    fn notes(&self, counts: &[Counts]) -> Vec<String> {
        let mut notes = Vec::new();
        let idle = counts.iter().filter(|c| c.total() == 0).count();
        if idle == counts.len() {
            notes.push("no operation was completed in the interval: figures per operation are totals".to_owned());
        } else if idle > 0 {
            notes.push(format!("{idle} of {} threads completed no operation in the interval", counts.len()));
        }
        match self.lock.sort {
            Sort::Exclusive if self.workload.reads() => {
                notes.push("this lock does not distinguish readers from writers: all threads write".to_owned());
            }
            Sort::Counted if self.workload.reads() => {
                notes.push("references are taken and dropped; there are no reads or writes".to_owned());
            }
            _ => {}
        }
        notes
    }
}

fn handoffs(before: &Counters, after: &Counters) -> Handoffs {
    let (before, after) = (before.handoffs, after.handoffs);
    let same_thread = after.same_thread - before.same_thread;
    let (same_node, other_node) = (after.same_node - before.same_node, after.other_node - before.other_node);
    let (all, runs) = (same_thread + same_node + other_node, same_node + other_node);
    Handoffs { same_thread, same_node, other_node, run_length: all as f64 / runs.max(1) as f64 }
}
