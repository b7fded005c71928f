//! What a benchmark found: one type, from which the text, the Markdown and the JSON are made.

use crate::locks::{LockInfo, Waiting};
use crate::machine::Machine;
use crate::run::{Outcome, Plan};
use crate::stats::{Spread, fairness};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// `turnwise-bench/1`.
    pub format: String,
    /// The command line.
    pub command: String,
    /// See [`crate::machine::commit`].
    pub commit: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// How it was measured.
    pub method: Method,
    /// What was measured, in order.
    pub scenarios: Vec<ScenarioReport>,
}

/// How it was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Method {
    /// Rounds of the throughput pass; each has one sample of every lock.
    pub samples: u32,
    /// Rounds of the pass that times every acquisition.
    pub timed_samples: u32,
    /// Length of a sample.
    pub sample_ms: u32,
    /// Seed of the order of locks within the rounds.
    pub seed: u64,
}

/// One scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// What it is.
    pub help: String,
    /// Threads on one lock.
    pub threads: usize,
    /// Work with the lock, nanoseconds, as measured before the scenario; `None`: not arithmetic.
    pub inside_ns: Option<f64>,
    /// Work without it, likewise.
    pub outside_ns: Option<f64>,
    /// The lock that the others' speeds are compared with.
    pub reference: Option<String>,
    /// Every lock that ran, in the table's order.
    pub locks: Vec<LockReport>,
}

/// One lock in one scenario. Figures are over the samples; `None` where nothing was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockReport {
    /// Its name.
    pub name: String,
    /// Ours or a peer's.
    pub ours: bool,
    /// Whether its waiters sleep.
    pub sleeps: bool,
    /// Time per operation of each round, in order; `None`: the lock was given up before.
    pub rounds_ns: Vec<Option<f64>>,
    /// Length of the interval over the operations of all threads, nanoseconds.
    pub op_ns: Option<Spread>,
    /// CPU time of the process over the operations, nanoseconds.
    pub cpu_ns: Option<Spread>,
    /// Operations of the least busy thread over those of the busiest, within a sample.
    pub fairness: Option<Spread>,
    /// Voluntary context switches of the process per operation.
    pub voluntary: Option<Spread>,
    /// Involuntary context switches of the process per operation.
    pub involuntary: Option<Spread>,
    /// Waits; from the pass that times every acquisition.
    pub wait: Option<Waits>,
    /// How many times as fast as the reference, paired by round.
    pub speed: Option<Spread>,
    /// What to know about these figures: fewer samples than asked for, a disturbed machine.
    pub notes: Vec<String>,
}

/// How long acquisitions took, from asking to having the lock, nanoseconds; over all timed samples.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Waits {
    /// Acquisitions timed.
    pub count: u64,
    /// Half waited at most this long.
    pub p50_ns: u64,
    /// 99% waited at most this long.
    pub p99_ns: u64,
    /// 99.9% waited at most this long.
    pub p999_ns: u64,
    /// Nobody waited longer.
    pub max_ns: u64,
}

impl Waits {
    /// Of a histogram of nanoseconds; `None` if it is empty.
    #[must_use]
    pub fn of(waits: &Histogram<u64>) -> Option<Waits> {
        (!waits.is_empty()).then(|| Waits {
            count: waits.len(),
            p50_ns: waits.value_at_quantile(0.5),
            p99_ns: waits.value_at_quantile(0.99),
            p999_ns: waits.value_at_quantile(0.999),
            max_ns: waits.max(),
        })
    }
}

/// What the samples of one lock showed, before it is summed up.
pub struct Samples {
    /// The lock.
    pub lock: &'static LockInfo,
    /// The throughput pass, by round.
    pub plain: Vec<Outcome>,
    /// Waits of the timed pass.
    pub waits: Option<Histogram<u64>>,
    /// Why there are fewer samples than rounds.
    pub gave_up: Option<String>,
    /// Samples of either pass that lasted more than twice as long as asked for.
    pub disturbed: u32,
}

impl Samples {
    /// Nothing yet.
    #[must_use]
    pub fn none(lock: &'static LockInfo) -> Samples {
        Samples { lock, plain: Vec::new(), waits: None, gave_up: None, disturbed: 0 }
    }

    /// One more; gives the lock up if its threads needed longer than `drain_max` to stop.
    pub fn add(&mut self, outcome: Outcome, plan: &Plan, drain_max: Duration) {
        self.disturbed += u32::from(outcome.elapsed > 2 * plan.duration);
        if outcome.drain > drain_max {
            let drain = outcome.drain;
            self.gave_up = Some(format!("given up: after a sample its threads needed {drain:.1?} to stop"));
        }
        match (outcome.waits.clone(), &mut self.waits) {
            (None, _) => self.plain.push(outcome),
            (Some(waits), Some(all)) => *all += waits,
            (waits, none) => *none = waits,
        }
    }

    /// Sums up.
    #[must_use]
    pub fn report(&self, rounds: u32) -> LockReport {
        // A sample without an operation counts as if it had one: its figures are then lower bounds, rather than missing
        // from the median, which would flatter a lock that stalls. `notes` says so.
        let per_op = |f: fn(&Outcome) -> f64| -> Vec<f64> {
            self.plain.iter().map(|o| f(o) / o.total().max(1) as f64).collect()
        };
        let spread = |f| Spread::of(&per_op(f));
        let mut rounds_ns: Vec<_> = per_op(|o| o.elapsed.as_secs_f64() * 1e9).into_iter().map(Some).collect();
        rounds_ns.resize(rounds as usize, None);
        LockReport {
            name: self.lock.name.to_owned(),
            ours: self.lock.ours,
            sleeps: self.lock.waiting == Waiting::Sleeps,
            rounds_ns,
            op_ns: spread(|o| o.elapsed.as_secs_f64() * 1e9),
            cpu_ns: spread(|o| o.cpu.as_secs_f64() * 1e9),
            fairness: Spread::of(&self.plain.iter().map(|o| fairness(&o.ops)).collect::<Vec<_>>()),
            voluntary: spread(|o| o.voluntary as f64),
            involuntary: spread(|o| o.involuntary as f64),
            wait: self.waits.as_ref().and_then(Waits::of),
            speed: None,
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let stalled = self.plain.iter().filter(|o| o.total() == 0).count() as u32;
        let stalled = (stalled > 0).then(|| format!("{} without any operation, counted as one each", samples(stalled)));
        let disturbed = (self.disturbed > 0).then(|| {
            let what = samples(self.disturbed);
            format!("{what} lasted more than twice as long as asked for: the machine is busy with something else")
        });
        self.gave_up.iter().cloned().chain(stalled).chain(disturbed).collect()
    }
}

/// "1 sample", "2 samples".
#[must_use]
pub fn samples(n: u32) -> String {
    format!("{n} sample{}", if n == 1 { "" } else { "s" })
}

impl ScenarioReport {
    /// Names the reference: `fixed`, or else the fastest peer that sleeps (a lock that only spins is no substitute on
    /// a busy machine); and compares everybody with it.
    pub fn compare(&mut self, fixed: Option<&str>) {
        let fastest = |locks: &[LockReport]| {
            let peers = locks.iter().filter(|l| !l.ours && l.sleeps);
            let timed = peers.filter_map(|l| Some((l.op_ns?.median, l.name.clone())));
            timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
        };
        self.reference = fixed.map(str::to_owned).or_else(|| fastest(&self.locks));
        let Some(reference) = self.reference_lock() else {
            self.reference = None;
            return;
        };
        let base = reference.rounds_ns.clone();
        for lock in &mut self.locks {
            lock.speed = Spread::of_ratios(&base, &lock.rounds_ns);
        }
    }

    /// The lock that the others were compared with.
    #[must_use]
    pub fn reference_lock(&self) -> Option<&LockReport> {
        self.locks.iter().find(|l| Some(&l.name) == self.reference.as_ref())
    }
}

/// A figure of a lock: for the columns of tables and for ratios.
pub struct Figure {
    /// The column's heading.
    pub name: &'static str,
    /// The value.
    pub get: fn(&LockReport) -> Option<f64>,
    /// The value as text.
    pub show: fn(f64) -> String,
    /// Whether more is better.
    pub more_is_better: bool,
}

/// The figures, in the order of columns.
pub static FIGURES: &[Figure] = &[
    Figure { name: "per op", get: |l| l.op_ns.map(|s| s.median), show: time, more_is_better: false },
    Figure { name: "CPU per op", get: |l| l.cpu_ns.map(|s| s.median), show: time, more_is_better: false },
    Figure { name: "fairness", get: |l| l.fairness.map(|s| s.median), show: two_places, more_is_better: true },
    Figure { name: "p50 wait", get: |l| l.wait.map(|w| w.p50_ns as f64), show: time, more_is_better: false },
    Figure { name: "p99 wait", get: |l| l.wait.map(|w| w.p99_ns as f64), show: time, more_is_better: false },
    Figure { name: "p99.9 wait", get: |l| l.wait.map(|w| w.p999_ns as f64), show: time, more_is_better: false },
    Figure { name: "longest wait", get: |l| l.wait.map(|w| w.max_ns as f64), show: time, more_is_better: false },
    Figure { name: "sleeps per op", get: |l| l.voluntary.map(|s| s.median), show: rate, more_is_better: false },
    Figure { name: "preempted per op", get: |l| l.involuntary.map(|s| s.median), show: rate, more_is_better: false },
];

/// A figure of ours beside the best peer's.
#[derive(Clone, PartialEq, Debug)]
pub struct AgainstBest {
    /// The peer that is best at it.
    pub peer: String,
    /// Our value over the peer's.
    pub ratio: f64,
}

/// How one of our locks compares in one figure with the peer that is best at it; `None` where there is no value, or the
/// peer's is zero. Peers that only spin do not count.
#[must_use]
pub fn against_best(scenario: &ScenarioReport, ours: &LockReport, figure: &Figure) -> Option<AgainstBest> {
    let value = (figure.get)(ours)?;
    let peers = scenario.locks.iter().filter(|l| !l.ours && l.sleeps);
    let better = |a: &(f64, &String), b: &(f64, &String)| {
        let order = a.0.total_cmp(&b.0);
        if figure.more_is_better { order.reverse() } else { order }
    };
    let (best, peer) = peers.filter_map(|l| Some(((figure.get)(l)?, &l.name))).min_by(better)?;
    (best > 0.0).then(|| AgainstBest { peer: peer.clone(), ratio: value / best })
}

/// Nanoseconds with three digits, in a unit that suits them.
#[must_use]
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        x if x < 999.5 => (ns, "ns"),
        x if x < 999.5e3 => (ns / 1e3, "us"),
        x if x < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let places = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.places$} {unit}")
}

/// A ratio.
#[must_use]
pub fn two_places(value: f64) -> String {
    format!("{value:.2}")
}

/// A number per operation, small or not.
#[must_use]
pub fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if (0.01..1000.0).contains(&v) => format!("{v:.2}"),
        v => format!("{v:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(name: &str, ours: bool, sleeps: bool, rounds: [f64; 3]) -> LockReport {
        LockReport {
            name: name.to_owned(),
            ours,
            sleeps,
            rounds_ns: rounds.map(Some).to_vec(),
            op_ns: Spread::of(&rounds),
            cpu_ns: None,
            fairness: None,
            voluntary: None,
            involuntary: None,
            wait: None,
            speed: None,
            notes: Vec::new(),
        }
    }

    fn scenario() -> ScenarioReport {
        ScenarioReport {
            name: "s".to_owned(),
            help: String::new(),
            threads: 2,
            inside_ns: None,
            outside_ns: None,
            reference: None,
            locks: vec![
                lock("ours", true, true, [10.0, 20.0, 30.0]),
                lock("fast", false, true, [20.0, 20.0, 60.0]),
                lock("slow", false, true, [50.0, 50.0, 50.0]),
                lock("spins", false, false, [1.0, 1.0, 1.0]),
            ],
        }
    }

    #[test]
    fn the_reference_is_the_fastest_peer_that_sleeps() {
        let mut s = scenario();
        s.compare(None);
        assert_eq!(s.reference.as_deref(), Some("fast"));
        // 20/10, 20/20, 60/30
        assert_eq!(s.locks[0].speed, Some(Spread { median: 2.0, min: 1.0, max: 2.0 }));
        assert_eq!(s.locks[1].speed, Some(Spread { median: 1.0, min: 1.0, max: 1.0 }));
    }

    #[test]
    fn a_fixed_reference_wins_and_an_absent_one_leaves_none() {
        let mut s = scenario();
        s.compare(Some("spins"));
        assert_eq!(s.reference.as_deref(), Some("spins"));
        s.compare(Some("nobody"));
        assert_eq!(s.reference, None);
    }

    #[test]
    fn ours_is_compared_with_the_best_in_each_figure() {
        let s = scenario();
        let best = against_best(&s, &s.locks[0], &FIGURES[0]);
        assert_eq!(best, Some(AgainstBest { peer: "fast".to_owned(), ratio: 1.0 }));
        assert_eq!(against_best(&s, &s.locks[0], &FIGURES[1]), None);
    }

    #[test]
    fn a_stalled_sample_counts_and_is_mentioned() {
        let mut samples = Samples::none(&crate::locks::LOCKS[0]);
        let second = Duration::from_secs(1);
        let section = crate::run::Section::Tight;
        let plan = Plan { threads: 2, section, warm_up: second, duration: second, timed: false };
        let outcome = |ops: [u64; 2], drain| Outcome {
            elapsed: second,
            ops: ops.to_vec(),
            cpu: second,
            voluntary: 0,
            involuntary: 4,
            drain,
            waits: None,
        };
        samples.add(outcome([500, 500], Duration::ZERO), &plan, second);
        assert!(samples.gave_up.is_none());
        samples.add(outcome([0, 0], 2 * second), &plan, second);
        assert!(samples.gave_up.is_some());
        let report = samples.report(3);
        assert_eq!(report.rounds_ns, [Some(1e6), Some(1e9), None]);
        assert_eq!(report.fairness, Some(Spread { median: 0.5, min: 0.0, max: 1.0 }));
        assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
    }

    #[test]
    fn times_have_three_digits() {
        let shown: Vec<_> = [0.5, 9.214, 27.51, 151.2, 999.6, 54_810.0, 5.21e6, 1.58e9].map(time).to_vec();
        assert_eq!([0.0, 2.2e-5, 0.814, 12_000.0].map(rate), ["0", "2.2e-5", "0.81", "1.2e4"]);
        assert_eq!(shown, ["0.50 ns", "9.21 ns", "27.5 ns", "151 ns", "1.00 us", "54.8 us", "5.21 ms", "1.58 s"]);
    }
}
