//! From the samples of a lock to its report.

use crate::report::{Beside, KindReport, Late, LockReport, Waits};
use crate::run::{Kind, Outcome, Plan, Roles, WaitTimes};
use crate::situation::{Neighbour, Situation};
use crate::subject::LockInfo;
use std::time::Duration;
use turnwise_present::stats::Spread;

/// What the samples of one lock showed, before they are summed up.
pub struct Samples {
    /// The lock.
    pub lock: &'static LockInfo,
    /// Which threads read and which write in them.
    pub roles: Roles,
    /// The throughput pass, by round.
    pub plain: Vec<Outcome>,
    /// What a cache line cost around each of these, nanoseconds; `None`: there is only one core.
    pub line_ns: Vec<Option<f64>>,
    /// Waits of the timed pass.
    pub waits: Option<WaitTimes>,
    /// Why there are fewer samples than rounds.
    pub gave_up: Option<String>,
    /// Samples of either pass that lasted more than twice as long as requested.
    pub disturbed: u32,
    /// What was peculiar about them.
    pub situation: Situation,
    /// In an open loop: the 99th percentile of the waits, by round.
    pub late_ns: Vec<f64>,
}

impl Samples {
    /// Starts with no samples.
    #[must_use]
    pub fn none(lock: &'static LockInfo, roles: Roles) -> Samples {
        Samples {
            lock,
            roles,
            plain: Vec::new(),
            line_ns: Vec::new(),
            waits: None,
            gave_up: None,
            disturbed: 0,
            situation: Situation::PLAIN,
            late_ns: Vec::new(),
        }
    }

    /// Adds a sample, with what a cache line cost around it; gives the lock up if its threads needed longer than
    /// `drain_max` to stop.
    pub fn add(&mut self, mut outcome: Outcome, line_ns: Option<f64>, plan: &Plan, drain_max: Duration) {
        self.situation = plan.situation;
        self.disturbed += u32::from(outcome.elapsed > 2 * plan.duration);
        if outcome.drain > drain_max {
            let drain = outcome.drain;
            self.gave_up = Some(format!("given up: after a sample its threads needed {drain:.1?} to stop"));
        }
        let waits = outcome.waits.take();
        if plan.situation.arrivals.is_some() {
            self.late_ns.extend(waits.as_ref().and_then(all_waits).map(|waits| waits.p99_ns as f64));
        }
        if waits.is_none() || plan.situation.arrivals.is_some() {
            self.plain.push(outcome);
            self.line_ns.push(line_ns);
        }
        match (waits, &mut self.waits) {
            (None, _) => {}
            (Some(waits), Some(all)) => all.add(&waits),
            (waits, none) => *none = waits,
        }
    }

    /// Sums the samples up in a report.
    #[must_use]
    pub fn report(&self, rounds: u32) -> LockReport {
        let spread = |f| Spread::of(&self.per(f, Outcome::total));
        let per_s = |o: &Outcome| o.voluntary as f64 / o.elapsed.as_secs_f64();
        let per_s: Vec<f64> = self.plain.iter().map(per_s).collect();
        let both = !matches!(self.roles, Roles::Mixed { read_percent: 0 | 100 });
        LockReport {
            name: self.lock.name.to_owned(),
            ours: self.lock.ours,
            sleeps: !self.lock.spins,
            rounds_ns: padded(&self.per(elapsed_ns, Outcome::total), rounds),
            op_ns: spread(elapsed_ns),
            cpu_ns: spread(|o| o.cpu.as_secs_f64() * 1e9),
            fairness: self.over(|o| Some(self.roles.fairness(&o.ops))),
            share: self.roles_share(),
            beside: self.beside(),
            late: self.late(rounds),
            throttled: self.over(|o| o.throttled),
            voluntary: spread(|o| o.voluntary as f64),
            involuntary: spread(|o| o.involuntary as f64),
            rounds_voluntary_per_s: padded(&per_s, rounds),
            rounds_line_ns: self.line_ns.clone(),
            voluntary_per_s: Spread::of(&per_s),
            wait: self.waits.as_ref().and_then(all_waits),
            speed: None,
            reads: both.then(|| self.kind(Kind::Read, rounds)),
            writes: both.then(|| self.kind(Kind::Write, rounds)),
            notes: self.notes(),
        }
    }

    /// Returns a figure per operation; a sample without one counts as if it had one. The result is then a lower bound,
    /// and the sample not missing from the median, which would flatter a lock that stalls ([`Samples::notes`]).
    fn per(&self, figure: fn(&Outcome) -> f64, operations: impl Fn(&Outcome) -> u64) -> Vec<f64> {
        self.plain.iter().map(|o| figure(o) / operations(o).max(1) as f64).collect()
    }

    /// Returns a figure over the samples that have it.
    fn over(&self, figure: impl Fn(&Outcome) -> Option<f64>) -> Option<Spread> {
        Spread::of(&self.plain.iter().filter_map(figure).collect::<Vec<_>>())
    }

    fn kind(&self, kind: Kind, rounds: u32) -> KindReport {
        let all = self.per(elapsed_ns, |o| o.count(kind));
        KindReport {
            rounds_ns: padded(&all, rounds),
            op_ns: Spread::of(&all),
            wait: self.waits.as_ref().and_then(|waits| Waits::of(waits.get(kind))),
            speed: None,
        }
    }

    /// Returns what the role with fewer threads got of the operations, over its share of the threads. A role that rests
    /// after its operations has no fair share.
    fn roles_share(&self) -> Option<Spread> {
        let Roles::Apart { writers, rest: 0 } = self.roles else { return None };
        let share = |outcome: &Outcome| {
            let threads = outcome.ops.len();
            let (few, kind) = match threads - writers {
                readers if readers < writers => (readers, Kind::Read),
                _ => (writers, Kind::Write),
            };
            let got = outcome.count(kind) as f64 / outcome.total().max(1) as f64;
            Some(got * threads as f64 / few as f64)
        };
        self.over(share)
    }

    /// Returns what the thread got that shares its CPU with a busy process; of threads that roam, the least.
    fn beside(&self) -> Option<Beside> {
        let of_one = |shares: Vec<f64>| match self.situation.neighbour {
            Neighbour::Nobody => None,
            Neighbour::Free => shares.into_iter().min_by(f64::total_cmp),
            Neighbour::OnLastThread => shares.last().copied(),
        };
        let cpu = |o: &Outcome| {
            of_one(o.cpu_of_threads.iter().map(|cpu| cpu.as_secs_f64() / o.elapsed.as_secs_f64()).collect())
        };
        let operations = |o: &Outcome| {
            let fair = o.total().max(1) as f64 / o.ops.len() as f64;
            of_one(o.ops.iter().map(|ops| ops.total() as f64 / fair).collect())
        };
        Some(Beside { cpu: self.over(cpu)?, operations: self.over(operations)? })
    }

    /// Returns how an open loop was served.
    fn late(&self, rounds: u32) -> Option<Late> {
        let arrivals = self.situation.arrivals?;
        let due = |o: &Outcome| arrivals.per_s(o.ops.len()) * o.elapsed.as_secs_f64();
        Some(Late {
            rounds_p99_ns: padded(&self.late_ns, rounds),
            p99_ns: Spread::of(&self.late_ns)?,
            served: self.over(|o| Some(o.total() as f64 / due(o)))?,
        })
    }

    fn notes(&self) -> Vec<String> {
        let stalled = self.plain.iter().filter(|o| o.total() == 0).count() as u32;
        let stalled = (stalled > 0).then(|| format!("{} without any operation, counted as one each", samples(stalled)));
        let disturbed = (self.disturbed > 0).then(|| {
            let what = samples(self.disturbed);
            format!("{what} lasted more than twice as long as asked for: the machine is busy with something else")
        });
        self.gave_up.iter().cloned().chain(self.starved()).chain(stalled).chain(disturbed).collect()
    }

    /// Returns a note on samples in which one kind did nothing while the other did.
    fn starved(&self) -> Option<String> {
        let Roles::Apart { .. } = self.roles else { return None };
        let starved = |kind| self.plain.iter().filter(|o| o.total() > 0 && o.count(kind) == 0).count() as u32;
        let (reads, writes) = (starved(Kind::Read), starved(Kind::Write));
        let note = |n, what| (n > 0).then(|| format!("{} without a {what}, counted as one each", samples(n)));
        note(reads, "read").or_else(|| note(writes, "write"))
    }
}

fn elapsed_ns(outcome: &Outcome) -> f64 {
    outcome.elapsed.as_secs_f64() * 1e9
}

fn padded(values: &[f64], rounds: u32) -> Vec<Option<f64>> {
    let mut all: Vec<_> = values.iter().copied().map(Some).collect();
    all.resize(rounds as usize, None);
    all
}

fn all_waits(waits: &WaitTimes) -> Option<Waits> {
    let mut all = waits.read.clone();
    all += &waits.write;
    Waits::of(&all)
}

/// Returns "1 sample", "2 samples".
fn samples(n: u32) -> String {
    format!("{n} sample{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Counts, Section};
    use crate::subject::SUBJECTS;

    const SECOND: Duration = Duration::from_secs(1);

    fn outcome(ops: [Counts; 2], drain: Duration) -> Outcome {
        Outcome {
            elapsed: SECOND,
            ops: ops.to_vec(),
            cpu_of_threads: vec![SECOND, SECOND / 4],
            cpu: SECOND,
            voluntary: 3,
            involuntary: 4,
            throttled: None,
            drain,
            waits: None,
        }
    }

    fn collect(roles: Roles, outcomes: &[Outcome]) -> Samples {
        let section = Section::Tight;
        let plan = Plan {
            threads: 2,
            section,
            roles,
            situation: Situation::PLAIN,
            pinned: false,
            warm_up: SECOND,
            duration: SECOND,
            timed: false,
        };
        let mut samples = Samples::none(&SUBJECTS[0].groups[0].locks[0], roles);
        for outcome in outcomes {
            samples.add(outcome.clone(), Some(40.0), &plan, SECOND);
        }
        samples
    }

    fn writes(write: u64) -> Counts {
        Counts { read: 0, write }
    }

    #[test]
    fn a_stalled_sample_counts_and_is_mentioned() {
        let good = outcome([writes(500); 2], Duration::ZERO);
        assert!(collect(Roles::WRITE, std::slice::from_ref(&good)).gave_up.is_none());
        let samples = collect(Roles::WRITE, &[good, outcome([writes(0); 2], 2 * SECOND)]);
        assert!(samples.gave_up.is_some());
        let report = samples.report(3);
        assert_eq!(report.rounds_ns, [Some(1e6), Some(1e9), None]);
        assert_eq!(report.fairness, Some(Spread { median: 0.5, min: 0.0, max: 1.0 }));
        assert_eq!(report.rounds_voluntary_per_s, [Some(3.0), Some(3.0), None]);
        assert_eq!(report.rounds_line_ns, [Some(40.0); 2]);
        assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
        assert!(report.reads.is_none());
    }

    #[test]
    fn a_disturbed_thread_has_its_shares() {
        let sample = outcome([writes(100), writes(300)], Duration::ZERO);
        let beside = |neighbour| {
            let situation = Situation { neighbour, ..Situation::PLAIN };
            Samples { situation, ..collect(Roles::WRITE, std::slice::from_ref(&sample)) }.beside()
        };
        let shares = |neighbour| beside(neighbour).map(|beside| (beside.cpu.median, beside.operations.median));
        assert_eq!(shares(Neighbour::OnLastThread), Some((0.25, 1.5)), "those of the last thread");
        assert_eq!(shares(Neighbour::Free), Some((0.25, 0.5)), "the least of each");
        assert!(beside(Neighbour::Nobody).is_none());
    }

    #[test]
    fn kinds_and_roles_are_kept_apart() {
        let reads = Counts { read: 1000, write: 0 };
        let samples = collect(Roles::Apart { writers: 1, rest: 0 }, &[outcome([writes(10), reads], Duration::ZERO)]);
        let report = samples.report(1);
        let median = |kind: &Option<KindReport>| kind.as_ref().and_then(|k| k.op_ns).map(|s| s.median);
        assert_eq!(median(&report.reads), Some(1e6));
        assert_eq!(median(&report.writes), Some(1e8));
        assert_eq!(report.fairness.map(|s| s.median), Some(1.0), "each is alone in its role");
        assert_eq!(report.share.map(|s| s.median), Some(2.0 * 10.0 / 1010.0));
        assert!(report.notes.is_empty());
        let starved = collect(samples.roles, &[outcome([writes(0), reads], Duration::ZERO)]).report(1);
        assert_eq!(starved.notes, ["1 sample without a write, counted as one each"]);
        assert_eq!(starved.share.map(|s| s.median), Some(0.0));
    }

    #[test]
    fn the_share_is_that_of_the_fewer_threads_and_one_is_fair() {
        let reads = |read| Counts { read, write: 0 };
        let share = |writers, ops: &[Counts]| {
            let outcome = Outcome { ops: ops.to_vec(), ..outcome([writes(0); 2], Duration::ZERO) };
            let share = collect(Roles::Apart { writers, rest: 0 }, &[outcome]).report(1).share;
            share.map(|share| share.median)
        };
        assert_eq!(share(1, &[writes(5), reads(5), reads(5), reads(5)]), Some(1.0));
        assert_eq!(share(1, &[writes(15), reads(5), reads(5), reads(5)]), Some(2.0));
        assert_eq!(share(3, &[writes(4), writes(4), writes(4), reads(0)]), Some(0.0));
        let rests = Roles::Apart { writers: 1, rest: 3 };
        let report = collect(rests, &[outcome([writes(1), reads(9)], Duration::ZERO)]).report(1);
        assert_eq!(report.share, None, "a writer that rests has no fair share");
        assert_eq!(collect(Roles::WRITE, &[outcome([writes(1); 2], Duration::ZERO)]).report(1).share, None);
    }
}
