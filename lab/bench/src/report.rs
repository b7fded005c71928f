//! The result of a benchmark: one type, from which the text, the Markdown and the JSON are made.

use crate::papers::PaperRow;
use crate::verdict::Verdict;
use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::path::Path;
use turnwise_present::machine::Machine;
use turnwise_present::stats::Spread;
use turnwise_present::{input_file, json};

/// The format of [`Report`] as JSON. Fields are added without notice; when one changes its meaning or is removed, the
/// number is raised. 3: `scaling` and `scales_from` are gone; a report of format 2 is read all the same.
pub const FORMAT: &str = "turnwise-bench/3";
/// The format before.
const FORMAT_2: &str = "turnwise-bench/2";

/// The whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: String,
    /// The sort of locks: the name of a [subject](crate::subject::SUBJECTS).
    pub subject: String,
    /// The command line.
    pub command: String,
    /// See [`turnwise_present::machine::commit`].
    pub commit: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// How it was measured.
    pub method: Method,
    /// What was measured, in order.
    pub scenarios: Vec<ScenarioReport>,
    /// Scenarios that cannot run here.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// What papers published, next to what was measured; empty for subjects without papers.
    pub documents: Vec<PaperRow>,
    /// The summary for each of our locks, made anew when a report is read.
    #[serde(default)]
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// Reads a report that `turnwise-lab bench --json` wrote.
    ///
    /// # Errors
    /// The file cannot be read, or is something else.
    pub fn read(file: &Path) -> Result<Report> {
        let complaint = || format!("{} is not a report of `turnwise-lab bench --json`", file.display());
        let text = input_file::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut report: Report = json::read(&text).with_context(complaint)?;
        let known = [FORMAT, FORMAT_2].contains(&report.format.as_str());
        ensure!(known, "{}: its format is {:?}, not {FORMAT}", complaint(), report.format);
        report.verdicts = report.judge();
        Ok(report)
    }
}

/// A scenario that was requested and did not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub scenario: String,
    /// Why, and what to do about it.
    pub why: String,
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
    /// Its description.
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
    /// Whether it is fit for more threads than CPUs: its waiters sleep, or there are none.
    pub sleeps: bool,
    /// Time per operation of each round, in order; `None`: the lock was given up before.
    pub rounds_ns: Vec<Option<f64>>,
    /// Length of the interval over the operations of all threads, nanoseconds.
    pub op_ns: Option<Spread>,
    /// CPU time of the process over the operations, nanoseconds.
    pub cpu_ns: Option<Spread>,
    /// Operations of the least busy thread over those of the busiest, within a sample and among those with the same
    /// role.
    pub fairness: Option<Spread>,
    /// Where some threads only read and some only write: what the role with fewer threads got of the operations, over
    /// its share of the threads. 1 is fair; 0: it starved.
    pub share: Option<Spread>,
    /// Next to a busy process: what the disturbed thread got.
    pub beside: Option<Beside>,
    /// In an open loop: how late requests were served. [`LockReport::wait`] then counts from the time at which they
    /// were to arrive.
    #[serde(default)]
    pub late: Option<Late>,
    /// Under a CPU quota: the share of the kernel's periods in which it was used up.
    #[serde(default)]
    pub throttled: Option<Spread>,
    /// Voluntary context switches of the process per operation.
    pub voluntary: Option<Spread>,
    /// Involuntary context switches of the process per operation.
    pub involuntary: Option<Spread>,
    /// Voluntary context switches of the process per second of each round, like `rounds_ns`.
    pub rounds_voluntary_per_s: Vec<Option<f64>>,
    /// By how many nanoseconds a locked operation took longer on a line that another CPU had just written: the mean of
    /// before and after each round, like `rounds_ns` except for missing ones at its end. Empty: it was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds_line_ns: Vec<Option<f64>>,
    /// Voluntary context switches of the process per second.
    pub voluntary_per_s: Option<Spread>,
    /// Waits; from the pass that times every acquisition.
    pub wait: Option<Waits>,
    /// How many times as fast as the reference, paired by round: by the time of an operation, in an open loop by the
    /// 99th percentile of the waits.
    pub speed: Option<Spread>,
    /// The reads alone, where some operations read and some write.
    pub reads: Option<KindReport>,
    /// The writes alone, likewise.
    pub writes: Option<KindReport>,
    /// Notes on these figures: fewer samples than requested, a disturbed machine.
    pub notes: Vec<String>,
}

/// How late the requests of an open loop were served, including those that were due and never served.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Late {
    /// The 99th percentile of the waits of each round, like [`LockReport::rounds_ns`].
    pub rounds_p99_ns: Vec<Option<f64>>,
    /// The same over the rounds.
    pub p99_ns: Spread,
    /// Requests that were served in the interval over those that arrive in it on average.
    pub served: Spread,
}

impl LockReport {
    /// Returns what is compared, by round: less is better.
    #[must_use]
    pub fn rounds(&self) -> &[Option<f64>] {
        self.late.as_ref().map_or(&self.rounds_ns, |late| &late.rounds_p99_ns)
    }

    /// Returns what is compared, over the rounds.
    #[must_use]
    pub fn cost(&self) -> Option<Spread> {
        self.late.as_ref().map_or(self.op_ns, |late| Some(late.p99_ns))
    }
}

/// What a thread that shares its CPU with a busy process got; of threads that roam, the least.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Beside {
    /// Its CPU time over the interval: next to one busy process half of it is fair.
    pub cpu: Spread,
    /// Its operations over the mean of all threads.
    pub operations: Spread,
}

/// The operations of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KindReport {
    /// As in [`LockReport`].
    pub rounds_ns: Vec<Option<f64>>,
    /// Length of the interval over the operations of this kind of all threads, nanoseconds.
    pub op_ns: Option<Spread>,
    /// Waits of this kind.
    pub wait: Option<Waits>,
    /// How many times as fast as with the reference, paired by round.
    pub speed: Option<Spread>,
}

/// How long acquisitions took, from request to acquisition, nanoseconds; over all timed samples.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Waits {
    /// Acquisitions timed.
    pub count: u64,
    /// The mean.
    pub mean_ns: f64,
    /// Half waited at most this long.
    pub p50_ns: u64,
    /// 99% waited at most this long.
    pub p99_ns: u64,
    /// 99.9% waited at most this long.
    pub p999_ns: u64,
    /// The longest wait.
    pub max_ns: u64,
}

impl Waits {
    /// Summarises a histogram of nanoseconds; `None` if it is empty.
    #[must_use]
    pub fn of(waits: &Histogram<u64>) -> Option<Waits> {
        (!waits.is_empty()).then(|| Waits {
            count: waits.len(),
            mean_ns: waits.mean(),
            p50_ns: waits.value_at_quantile(0.5),
            p99_ns: waits.value_at_quantile(0.99),
            p999_ns: waits.value_at_quantile(0.999),
            max_ns: waits.max(),
        })
    }
}

impl Report {
    /// Returns what a cache line cost around the samples, nanoseconds, least first. Empty: it was not measured, or
    /// there is only one core.
    #[must_use]
    pub fn lines_ns(&self) -> Vec<f64> {
        let locks = self.scenarios.iter().flat_map(|scenario| &scenario.locks);
        let mut all: Vec<f64> = locks.flat_map(|lock| &lock.rounds_line_ns).copied().flatten().collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }
}

impl ScenarioReport {
    /// Names the reference: the fastest of `candidates` that ran, or if there are none the fastest peer, one that
    /// sleeps if there is any (a lock that only spins does not replace it on a busy machine); and compares all locks
    /// with it.
    pub fn compare(&mut self, candidates: &[&str]) {
        let fastest = |fit: &dyn Fn(&LockReport) -> bool| {
            let timed = self.locks.iter().filter(|l| fit(l)).filter_map(|l| Some((l.cost()?.median, l.name.clone())));
            timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
        };
        let named = |l: &LockReport| candidates.contains(&l.name.as_str());
        let peer = |sleeps: bool| fastest(&|l| !l.ours && l.sleeps == sleeps);
        self.reference = if candidates.is_empty() { peer(true).or_else(|| peer(false)) } else { fastest(&named) };
        let Some(reference) = self.reference_lock().cloned() else {
            return;
        };
        let compare = |base: &Option<KindReport>, own: &mut Option<KindReport>| {
            if let (Some(base), Some(own)) = (base, own) {
                own.speed = Spread::of_ratios(&base.rounds_ns, &own.rounds_ns);
            }
        };
        for lock in &mut self.locks {
            lock.speed = Spread::of_ratios(reference.rounds(), lock.rounds());
            compare(&reference.reads, &mut lock.reads);
            compare(&reference.writes, &mut lock.writes);
        }
    }

    /// Returns the lock of this name, if it ran.
    #[must_use]
    pub fn lock(&self, name: &str) -> Option<&LockReport> {
        self.locks.iter().find(|l| l.name == name)
    }

    /// Returns how many times as fast a lock is as another one, paired by round; `None`: they have no round in common.
    #[must_use]
    pub fn speed(&self, lock: &LockReport, other: &LockReport) -> Option<Spread> {
        Spread::of_ratios(other.rounds(), lock.rounds())
    }

    /// Returns the peer that is fastest here. Peers that only spin do not count, unless `ours` does nothing else.
    #[must_use]
    pub fn best_peer(&self, ours: &LockReport) -> Option<&LockReport> {
        let peers = self.locks.iter().filter(|lock| !lock.ours && (lock.sleeps || !ours.sleeps));
        let timed = peers.filter_map(|lock| Some((lock.cost()?.median, lock)));
        timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, lock)| lock)
    }

    /// Returns the lock that the others were compared with.
    #[must_use]
    pub fn reference_lock(&self) -> Option<&LockReport> {
        self.lock(self.reference.as_ref()?)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn lock(name: &str, ours: bool, sleeps: bool, rounds: [f64; 3]) -> LockReport {
        LockReport {
            name: name.to_owned(),
            ours,
            sleeps,
            rounds_ns: rounds.map(Some).to_vec(),
            op_ns: Spread::of(&rounds),
            cpu_ns: None,
            fairness: None,
            share: None,
            beside: None,
            late: None,
            throttled: None,
            voluntary: None,
            involuntary: None,
            rounds_voluntary_per_s: Vec::new(),
            rounds_line_ns: Vec::new(),
            voluntary_per_s: None,
            wait: None,
            speed: None,
            reads: None,
            writes: None,
            notes: Vec::new(),
        }
    }

    pub(crate) fn scenario() -> ScenarioReport {
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

    pub(crate) fn report(scenarios: Vec<ScenarioReport>) -> Report {
        Report {
            format: FORMAT.to_owned(),
            subject: "mutex".to_owned(),
            command: String::new(),
            commit: None,
            machine: Machine::default(),
            method: Method { samples: 3, timed_samples: 0, sample_ms: 1, seed: 1 },
            scenarios,
            left_out: Vec::new(),
            documents: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    #[test]
    fn the_reference_is_the_fastest_peer_that_sleeps() {
        let mut s = scenario();
        s.compare(&[]);
        assert_eq!(s.reference.as_deref(), Some("fast"));
        // 20/10, 20/20, 60/30
        assert_eq!(s.locks[0].speed, Some(Spread { median: 2.0, min: 1.0, max: 2.0 }));
        assert_eq!(s.locks[1].speed, Some(Spread { median: 1.0, min: 1.0, max: 1.0 }));
        s.locks.retain(|l| l.ours || !l.sleeps);
        s.compare(&[]);
        assert_eq!(s.reference.as_deref(), Some("spins"), "where no peer sleeps");
    }

    #[test]
    fn the_fastest_candidate_wins_and_absent_ones_leave_none() {
        let mut s = scenario();
        s.compare(&["slow", "spins"]);
        assert_eq!(s.reference.as_deref(), Some("spins"));
        s.compare(&["nobody"]);
        assert_eq!(s.reference, None);
    }

    #[test]
    fn lines_are_those_of_all_samples_least_first() {
        let mut s = scenario();
        (s.locks[0].rounds_line_ns, s.locks[2].rounds_line_ns) = (vec![Some(130.0), None], vec![Some(38.0)]);
        assert_eq!(report(vec![s]).lines_ns(), [38.0, 130.0]);
        assert!(report(vec![scenario()]).lines_ns().is_empty());
    }

    #[test]
    fn in_an_open_loop_the_latest_are_compared() {
        let mut s = scenario();
        for (lock, ns) in s.locks.iter_mut().zip([100.0, 400.0, 200.0, 900.0]) {
            let spread = |value| Spread::of(&[value]).expect("a number");
            let rounds_p99_ns = vec![Some(ns); 3];
            lock.late = Some(Late { rounds_p99_ns, p99_ns: spread(ns), served: spread(1.0) });
        }
        s.compare(&[]);
        assert_eq!(s.reference.as_deref(), Some("slow"), "by operations per second it is the slowest");
        assert_eq!(s.locks[0].speed.map(|speed| speed.median), Some(2.0));
    }

    #[test]
    fn each_kind_is_compared_with_its_like() {
        let mut s = scenario();
        let kind = |ns| {
            Some(KindReport { rounds_ns: vec![Some(ns); 3], op_ns: Spread::of(&[ns; 3]), wait: None, speed: None })
        };
        (s.locks[0].reads, s.locks[0].writes) = (kind(10.0), kind(100.0));
        (s.locks[1].reads, s.locks[1].writes) = (kind(20.0), kind(50.0));
        s.compare(&[]);
        let median = |kind: &Option<KindReport>| kind.as_ref().and_then(|k| k.speed).map(|s| s.median);
        assert_eq!(median(&s.locks[0].reads), Some(2.0));
        assert_eq!(median(&s.locks[0].writes), Some(0.5));
    }
}
