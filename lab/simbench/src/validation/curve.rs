//! Published curves as blind tests: the machines were made from other sources before any figure was predicted.
//!
//! `published.toml` states for each [`Curve`] what threads did, on which machine, and how long a section took.

use super::judge::Point;
use super::loops::{self, Ends, Loops, Section, spread};
use super::small_locks::find;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use turnwise_present::stats::median;
use turnwise_sim::spec::{self, Machine};

/// How it was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Protocol {
    /// Tasks lock and unlock for a while; the time until the last one has ended counts.
    HandOver,
    /// LockHammer's: each thread makes a fixed number of sections; the time of the whole run counts.
    Rounds,
    /// There are more threads than CPUs, and sections count once each thread has had a slice and some have lost their
    /// CPUs. The published axis is not explained, so only ratios are judged.
    Oversubscribed,
    /// What a round takes besides the lock is taken from the figure with one thread, which is not judged.
    Calibrated,
}

impl Protocol {
    /// Returns how long a run lasts, and how many there are, of which the median counts.
    fn effort(self, quick: bool) -> (Ends, u64) {
        let pick = |full, short| if quick { short } else { full };
        match self {
            Protocol::HandOver => (Ends::Whole { duration_ns: pick(5_000_000, 100_000) }, pick(5, 1)),
            // The data has 5000.
            Protocol::Rounds => (Ends::Rounds(if quick { 40 } else { 300 }), 1),
            Protocol::Oversubscribed => (window(20_000_000, pick(100_000_000, 20_000_000)), 1),
            Protocol::Calibrated => (window(500_000, pick(5_000_000, 1_000_000)), 1),
        }
    }
}

fn window(warm_up_ns: u64, duration_ns: u64) -> Ends {
    Ends::Window { warm_up_ns, duration_ns }
}

/// One host and what threads do on it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    pub(super) protocol: Protocol,
    /// What the threads do, for readers.
    what: String,
    machine: String,
    /// The host has this many cores in each node, which threads fill in turn; otherwise they fill CPU after CPU.
    cores_per_node: Option<u32>,
    /// The host has this many CPUs; threads beyond them wait for a free one.
    cpus: Option<u32>,
    /// Threads do not stay on their CPUs.
    #[serde(default)]
    roams: bool,
    /// CPUs from one thread to the next, if not one.
    stride: Option<u32>,
    #[serde(default)]
    section: Section,
    /// Whether a round's time without the lock's own is spent holding it, where it follows from one thread's figure.
    #[serde(default)]
    rest_inside: bool,
    /// The time per section of delays too rare to be simulated, over the number of threads.
    #[serde(default)]
    rare_delays_ns: f64,
    pub(super) threads: Vec<u32>,
    /// The figures without a lock: mostly the end of threads, which the clock waits for.
    #[serde(default)]
    empty_ns: Vec<f64>,
    /// The unit of the figures, if not one.
    unit_ns: Option<f64>,
    /// For each lock, one figure for each number of threads.
    #[serde(default)]
    pub(super) figures: BTreeMap<String, Vec<f64>>,
    /// Locks without figures.
    #[serde(default)]
    locks: Vec<String>,
}

/// A curve, predicted.
#[derive(Serialize)]
pub(super) struct Predicted {
    pub(super) protocol: Protocol,
    pub(super) what: String,
    pub(super) machine: String,
    /// The numbers of threads that are predicted.
    pub(super) threads: Vec<u32>,
    pub(super) lines: Vec<Line>,
}

/// A lock's figures, one for each number of threads.
#[derive(Serialize)]
pub(super) struct Line {
    pub(super) lock: String,
    pub(super) published: Option<Vec<f64>>,
    pub(super) predicted: Vec<f64>,
    /// The numbers of threads at which the published curve and the predicted one break.
    pub(super) breaks: [Option<u32>; 2],
}

/// `published.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    curve: Vec<Curve>,
}

static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("published.toml")).expect("the file is tested"));

/// Returns the curves of these protocols.
pub(super) fn curves(of: impl Fn(Protocol) -> bool) -> impl Iterator<Item = &'static Curve> {
    FILE.curve.iter().filter(move |curve| of(curve.protocol))
}

impl Curve {
    /// Returns the columns that are judged; `quick`: of long curves the ends.
    fn columns(&self, quick: bool) -> Vec<usize> {
        // Two threads of LockHammer share a core, four are two cores.
        let least = match self.protocol {
            Protocol::Rounds => 8,
            Protocol::Calibrated => 2,
            Protocol::HandOver | Protocol::Oversubscribed => 1,
        };
        let mut columns: Vec<usize> = (0..self.threads.len()).filter(|n| self.threads[*n] >= least).collect();
        if quick && least > 1 {
            let last = columns.len() - 1;
            columns.drain(usize::from(self.protocol == Protocol::Rounds)..last);
        }
        columns
    }

    /// Returns how many runs a prediction takes.
    pub(super) fn runs(&self, quick: bool) -> usize {
        let first = usize::from(self.protocol == Protocol::Calibrated);
        (self.columns(quick).len() + first) * (self.figures.len() + self.locks.len())
    }

    /// Predicts it; calls `tick` after each run.
    ///
    /// # Errors
    /// A machine or a lock is missing, or threads make no progress.
    pub(super) fn predict(&self, quick: bool, tick: &mut dyn FnMut()) -> Result<Predicted> {
        let machine = Arc::new(spec::load(&self.machine)?);
        let columns = self.columns(quick);
        let threads: Vec<u32> = columns.iter().map(|column| self.threads[*column]).collect();
        let published = self.figures.iter().map(|(lock, figures)| (lock, Some(figures)));
        let mut lines = Vec::new();
        for (lock, figures) in published.chain(self.locks.iter().map(|lock| (lock, None))) {
            let mut once = |threads, rest_ns| {
                let ns = self.once(&machine, lock, (threads, rest_ns), quick);
                tick();
                ns.with_context(|| format!("{}: {lock} with {threads} threads on {}", self.what, self.machine))
            };
            let rest_ns = match figures {
                Some(figures) if self.protocol == Protocol::Calibrated => (figures[0] - once(1, 0)?).max(0.0).round(),
                _ => 0.0,
            };
            let mut predicted = Vec::new();
            for &column in &columns {
                let empty_ns = self.empty_ns.get(column).copied().unwrap_or(0.0);
                predicted.push((once(self.threads[column], rest_ns as u64)? + empty_ns) / self.unit_ns.unwrap_or(1.0));
            }
            let published: Option<Vec<f64>> = figures.map(|all| columns.iter().map(|column| all[*column]).collect());
            let breaks = [published.as_deref(), Some(predicted.as_slice())].map(|line| breaks_at(&threads, line?));
            lines.push(Line { lock: lock.clone(), published, predicted, breaks });
        }
        let (what, machine) = (self.what.clone(), self.machine.clone());
        Ok(Predicted { protocol: self.protocol, what, machine, threads, lines })
    }

    fn once(&self, machine: &Arc<Machine>, lock: &str, (threads, rest_ns): (u32, u64), quick: bool) -> Result<f64> {
        let (ends, runs) = self.protocol.effort(quick);
        let (place, loops) = (find(lock)?, self.loops(machine, threads, rest_ns, ends));
        let seeds: Range<u64> = 1..runs + 1;
        let all: Result<Vec<f64>> = seeds.map(|seed| loops::once(machine, place, &loops, seed)).collect();
        Ok(median(&mut all?) + self.rare_delays_ns / f64::from(threads))
    }

    fn loops(&self, machine: &Machine, threads: u32, rest_ns: u64, ends: Ends) -> Loops {
        let all = || (0..machine.topology.cpus()).collect();
        let mut cpus: Vec<u32> = self.cores_per_node.map_or_else(all, |cores| spread(machine, cores));
        cpus.truncate(self.cpus.map_or(cpus.len(), |most| most as usize));
        let mut section = self.section;
        let rest = if self.rest_inside { &mut section.inside_ns } else { &mut section.outside_ns };
        *rest += rest_ns;
        let threads = self.cpus.map_or(threads, |most| threads.min(most));
        Loops { threads, cpus, roams: self.roams, stride: self.stride.unwrap_or(1), section, ends }
    }
}

/// Returns the number of threads at which a curve breaks first: where it rises by more than this factor from one column
/// to the next.
fn breaks_at(threads: &[u32], line: &[f64]) -> Option<u32> {
    const BREAK: f64 = 50.0;
    let step = line.windows(2).position(|pair| pair[1] > BREAK * pair[0]);
    step.map(|step| threads[step + 1])
}

impl Predicted {
    /// Returns each published figure with its prediction.
    pub(super) fn points(&self) -> impl Iterator<Item = Point<'_>> {
        let figures = self.lines.iter().filter_map(|line| Some((line, line.published.as_ref()?)));
        figures.flat_map(|(line, published)| {
            let both = published.iter().zip(&line.predicted).zip(&self.threads);
            both.map(|((&published, &predicted), &threads)| Point {
                machine: &self.machine,
                what: &self.what,
                threads,
                lock: &line.lock,
                published,
                predicted,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_figure_for_each_point() {
        let from_8 = |c: &Curve| c.threads.iter().filter(|n| **n >= 8).count() * c.figures.len();
        assert_eq!(curves(|of| of == Protocol::Rounds).map(from_8).sum::<usize>(), 289);
        for Curve { protocol, machine, threads, figures, empty_ns, .. } in &FILE.curve {
            for (lock, figures) in figures {
                assert_eq!(figures.len(), threads.len(), "{machine}: {lock}");
                assert!(figures.iter().all(|figure| *figure > 0.0), "{machine}: {lock}");
            }
            assert!(empty_ns.is_empty() || empty_ns.len() == threads.len(), "{machine}");
            assert!(*protocol != Protocol::Calibrated || threads.first() == Some(&1), "{machine}");
        }
    }

    #[test]
    fn a_curve_breaks_where_it_jumps() {
        assert_eq!(breaks_at(&[100, 104, 110], &[0.7, 0.8, 9e4]), Some(110));
        assert_eq!(breaks_at(&[100, 104, 110], &[3.3, 3.8, 5.2]), None);
    }

    #[test]
    fn a_lock_alone_costs_what_its_instructions_cost() {
        let curve = curves(|of| of == Protocol::Rounds).next().expect("there is one");
        let machine = Arc::new(spec::load(&curve.machine).expect("it is built in"));
        for (name, _) in super::super::small_locks::LOCKS {
            let ns = curve.once(&machine, name, (1, 0), false).expect("nobody is in its way");
            assert!((1.0..42.0).contains(&ns), "{name}: {ns} ns");
        }
    }

    /// Properties of the predictions whatever the figures: which lock is worst, which stays flat, which breaks where.
    #[test]
    fn the_shapes_of_the_curves_hold() {
        let (mut ticks, mut runs) = (0, 0);
        let mut growth: BTreeMap<String, f64> = BTreeMap::new();
        for curve in curves(|of| of != Protocol::HandOver) {
            let predicted = curve.predict(true, &mut || ticks += 1).expect("the files are built in");
            runs += curve.runs(true);
            for line in &predicted.lines {
                let figures = &line.predicted;
                if curve.protocol == Protocol::Rounds && curve.section.inside_ns == 1000 {
                    let most = growth.entry(line.lock.clone()).or_default();
                    *most = most.max(figures[1] / figures[0]);
                }
                if curve.protocol == Protocol::Oversubscribed {
                    let spins_in_queue = ["mcs", "ticket_spinlock"].contains(&line.lock.as_str());
                    let beyond = predicted.threads.iter().position(|n| [110, 530].contains(n)).expect("a column");
                    let jump = figures[beyond] / figures[beyond - 1];
                    // On 512 CPUs a futex has two speeds, depending on how long one thread keeps it, and neither is a
                    // break.
                    let calm = if curve.figures.is_empty() { 4.0 } else { 1.5 };
                    let holds = if spins_in_queue { jump > 4.0 } else { jump < calm };
                    assert!(holds, "{}: {figures:?}", line.lock);
                }
            }
        }
        assert_eq!(ticks, runs);
        let grows = |lock| growth[lock];
        assert!(
            grows("swap_mutex") > 1.5 && grows("queued_spinlock") < 1.2,
            "exchanges pile up, a queue does not: {growth:?}"
        );
    }
}
