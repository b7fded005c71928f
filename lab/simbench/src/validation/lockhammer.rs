//! LockHammer's curves as a blind test: its protocol on machines that were made from other sources.
//!
//! Each thread has a CPU of its own, in the order of the data, and acquires the lock a fixed number of times; in
//! between it computes, and touches nothing. The figure is the time of the whole run, divided by the number of all
//! acquisitions. The time of a run without a lock, mostly the end of its threads, is taken from the data and added.

use super::Judged;
use super::published::Curves;
use super::small_locks::{LOCKS, PlaceLock};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use turnwise_sim::spec::{self, Machine};
use turnwise_sim::{Affinity, Config, Sim, Simulation};

/// Fewer threads are not judged: two of them share a core, four are two cores.
const JUDGED_FROM: u32 = 8;
/// What counts as near.
pub(super) const NEAR: f64 = 0.35;
/// Published figures that differ by less than this factor have no order: the data's own spread is up to 39%.
const APART: f64 = 1.2;
/// The aims: shares of points that are near, and of pairs in order.
const AIMS: (f64, f64) = (0.7, 0.9);

/// All threads have their CPUs by then, and start together.
const START_NS: u64 = 100_000;

/// How thorough a run is.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Acquisitions of each thread; the data has 5000.
    pub(super) rounds: u32,
    /// Only the first and the last of the numbers of threads that are judged.
    pub(super) ends_only: bool,
}

impl Effort {
    pub(super) const FULL: Effort = Effort { rounds: 300, ends_only: false };
    pub(super) const QUICK: Effort = Effort { rounds: 40, ends_only: true };
}

/// One published figure and its prediction.
pub(super) struct Point {
    pub(super) machine: String,
    /// What the threads do.
    pub(super) section: String,
    pub(super) threads: u32,
    pub(super) lock: String,
    pub(super) published_ns: f64,
    pub(super) predicted_ns: f64,
}

impl Point {
    fn error(&self) -> f64 {
        self.predicted_ns / self.published_ns - 1.0
    }
}

/// Returns the columns that are judged: where they are in the data, and their numbers of threads.
fn columns(curves: &Curves, effort: Effort) -> Vec<(usize, u32)> {
    let all = curves.threads.iter().copied().enumerate().filter(|(_, threads)| *threads >= JUDGED_FROM);
    let all: Vec<_> = all.collect();
    if effort.ends_only { all.first().into_iter().chain(all.last()).copied().collect() } else { all }
}

/// Returns how many runs there are.
pub(super) fn count(published: &[Curves], effort: Effort) -> usize {
    published.iter().map(|curves| columns(curves, effort).len() * curves.ns.len()).sum()
}

/// Predicts all points.
///
/// # Errors
/// A machine or a lock is missing, or threads make no progress.
pub(super) fn predict(published: &[Curves], effort: Effort, mut tick: impl FnMut()) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for curves in published {
        let machine = Arc::new(spec::load(&curves.machine)?);
        for (lock, figures) in &curves.ns {
            for (column, threads) in columns(curves, effort) {
                let predicted_ns = once(&machine, find(lock)?, curves, threads, effort.rounds)
                    .with_context(|| format!("{lock} with {threads} threads on {}", curves.machine))?;
                points.push(Point {
                    machine: curves.machine.clone(),
                    section: section(curves.hold_ns, curves.outside_ns),
                    threads,
                    lock: lock.clone(),
                    published_ns: figures[column],
                    predicted_ns: predicted_ns + curves.empty_ns[column],
                });
                tick();
            }
        }
    }
    Ok(points)
}

/// Returns a section of LockHammer.
pub(super) fn section(hold_ns: u64, outside_ns: u64) -> String {
    format!("{hold_ns} ns with the lock, {outside_ns} ns without")
}

/// Returns the lock of this name in the data.
pub(super) fn find(name: &str) -> Result<PlaceLock> {
    let found = LOCKS.iter().find(|(known, _)| *known == name);
    found.map(|(_, place)| *place).with_context(|| format!("published.toml: no lock '{name}' can be simulated"))
}

fn once(machine: &Arc<Machine>, place: PlaceLock, curves: &Curves, threads: u32, rounds: u32) -> Result<f64> {
    let mut simulation = Simulation::new(Config::new(Arc::clone(machine), 1), threads as usize);
    let lock = place(&mut simulation, threads);
    let (hold_ns, outside_ns) = (curves.hold_ns, curves.outside_ns);
    for thread in 0..threads {
        let lock = Rc::clone(&lock);
        simulation.spawn(Affinity::Cpu(thread), move || {
            while Sim::time_ns() < START_NS {
                Sim::compute(1.max(START_NS - Sim::time_ns()));
            }
            for _ in 0..rounds {
                lock.acquire();
                if hold_ns > 0 {
                    Sim::compute(hold_ns);
                }
                lock.release();
                if outside_ns > 0 {
                    Sim::compute(outside_ns);
                }
                Sim::progress();
            }
        });
    }
    let outcome = simulation.run()?;
    let took_ns = outcome.counters.now_ps as f64 / 1_000.0 - START_NS as f64;
    Ok(took_ns / f64::from(threads * rounds))
}

/// How often the prediction puts two locks in the order in which they were measured.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Order {
    pub(super) right: usize,
    pub(super) pairs: usize,
}

impl Order {
    pub(super) fn share(self) -> f64 {
        self.right as f64 / self.pairs.max(1) as f64
    }
}

/// Judges each pair of locks at one host, section and number of threads, if their published figures differ clearly.
pub(super) fn order<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Order {
    let mut order = Order::default();
    for slow in points.clone() {
        let same = |p: &&Point| p.machine == slow.machine && p.section == slow.section && p.threads == slow.threads;
        for fast in points.clone().filter(same).filter(|p| slow.published_ns > APART * p.published_ns) {
            order.pairs += 1;
            order.right += usize::from(slow.predicted_ns > fast.predicted_ns);
        }
    }
    order
}

pub(super) fn judged<'a>(points: impl Iterator<Item = &'a Point>) -> Judged {
    Judged(points.map(Point::error).collect())
}

/// Summarises in a few lines: by host and lock, and in all.
pub(super) fn summary(points: &[Point]) -> String {
    let machines: BTreeSet<&str> = points.iter().map(|p| p.machine.as_str()).collect();
    let locks: BTreeSet<&str> = points.iter().map(|p| p.lock.as_str()).collect();
    let mut text = format!("| lock | {} |\n|---|", machines.iter().copied().collect::<Vec<_>>().join(" | "));
    text += &"---|".repeat(machines.len());
    text += "\n";
    let cell = |judged: Judged| {
        if judged.0.is_empty() {
            return " |".to_owned();
        }
        let signed = super::median(&mut judged.0.clone());
        format!(" {} of {}, {} |", judged.within(NEAR), judged.0.len(), super::percent(signed))
    };
    for lock in locks {
        text += &format!("| `{lock}` |");
        for machine in &machines {
            text += &cell(judged(points.iter().filter(|p| p.lock == lock && p.machine == *machine)));
        }
        text += "\n";
    }
    text += "| all |";
    machines.iter().for_each(|machine| text += &cell(judged(points.iter().filter(|p| p.machine == *machine))));
    text += "\n| order of pairs |";
    for machine in &machines {
        let order = order(points.iter().filter(|p| p.machine == *machine));
        text += &format!(" {} of {} |", order.right, order.pairs);
    }
    text + "\n\n" + &verdict(points)
}

fn verdict(points: &[Point]) -> String {
    let (judged, order) = (judged(points.iter()), order(points.iter()));
    let near = judged.within(NEAR);
    let share = near as f64 / points.len().max(1) as f64;
    let met = |met: bool| if met { "met" } else { "missed" };
    format!(
        "In all {near} of {} points ({:.1}%) are within 35%: the aim of 70% is {}. Of {} pairs, {} ({:.1}%) are in \
         order: the aim of 90% is {}.\n",
        points.len(),
        share * 100.0,
        met(share >= AIMS.0),
        order.pairs,
        order.right,
        order.share() * 100.0,
        met(order.share() >= AIMS.1),
    )
}

/// The points of a section, by lock.
type Rows<'a> = BTreeMap<&'a str, Vec<&'a Point>>;

/// Lists every point, published and predicted.
pub(super) fn tables(points: &[Point]) -> String {
    let mut cells: BTreeMap<(&str, &str), Rows<'_>> = BTreeMap::new();
    for point in points {
        cells.entry((&point.machine, &point.section)).or_default().entry(&point.lock).or_default().push(point);
    }
    let mut text = String::new();
    for ((machine, section), rows) in cells {
        text += &format!("\n`{machine}`, {section}:\n\n| lock |");
        let first = rows.values().next().expect("a section has a lock");
        first.iter().for_each(|point| text += &format!(" {} |", point.threads));
        text += &format!("\n|---|{}\n", "---|".repeat(first.len()));
        for (lock, points) in rows {
            text += &format!("| `{lock}` |");
            points.iter().for_each(|p| text += &format!(" {:.0} / {:.0} |", p.published_ns, p.predicted_ns));
            text += "\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(lock: &str, published_ns: f64, predicted_ns: f64) -> Point {
        let machine = "here".to_owned();
        Point { machine, section: section(0, 0), threads: 8, lock: lock.to_owned(), published_ns, predicted_ns }
    }

    #[test]
    fn only_pairs_that_differ_are_ordered() {
        let points = [point("a", 100.0, 100.0), point("b", 110.0, 90.0), point("c", 200.0, 95.0)];
        assert_eq!(order(points.iter()), Order { right: 1, pairs: 2 });
        let text = summary(&points);
        assert!(text.contains("| `c` | 0 of 1, -52% |") && text.contains("| order of pairs | 1 of 2 |"), "{text}");
        assert!(text.contains("In all 2 of 3 points (66.7%) are within 35%: the aim of 70% is missed."), "{text}");
        assert!(tables(&points).contains("| `b` | 110 / 90 |"));
    }

    #[test]
    fn a_lock_alone_costs_what_its_instructions_cost() {
        let published = super::super::published::read().expect("it is built in");
        let curves = &published.lockhammer[0];
        let machine = Arc::new(spec::load(&curves.machine).expect("it is built in"));
        for (name, place) in LOCKS {
            let ns = once(&machine, place, curves, 1, 100).expect("nobody is in its way");
            assert!((1.0..42.0).contains(&ns), "{name}: {ns} ns");
        }
    }
}
