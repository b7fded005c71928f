//! Locks on servers as blind tests: Linux's spin lock under `locktorture`, its readers-writer semaphore, and mutexes
//! that sleep. The published figure with one thread gives the time of a round without the lock; it is not judged.

use super::lockhammer::{Point, find};
use super::loops::{self, Loops, Section, spread};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use turnwise_sim::spec::{self, Machine};

/// One host and one loop.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) what: String,
    pub(super) machine: String,
    /// The host has this many cores in each node.
    cores_per_node: u32,
    /// The host has this many CPUs; threads beyond them wait for a free one.
    cpus: u32,
    pinned: bool,
    written: u32,
    one_of: u32,
    counts_per_line: u32,
    /// Whether a round's time without the lock's own is spent holding it.
    rest_inside: bool,
    /// A delay with the lock, and in how many sections of each thread, times the threads, there is one.
    #[serde(default)]
    delay: (u64, u32),
    /// The time per section of delays too rare to be simulated, over the number of threads.
    #[serde(default)]
    rare_delays_ns: f64,
    pub(super) threads: Vec<u32>,
    /// For each lock, one figure for each number of threads, the first of which is 1.
    pub(super) ns: BTreeMap<String, Vec<f64>>,
}

/// Simulated time of a run.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    pub(super) duration_ns: u64,
    /// Only the last column.
    pub(super) ends_only: bool,
}

impl Effort {
    pub(super) const FULL: Effort = Effort { duration_ns: 5_000_000, ends_only: false };
    pub(super) const QUICK: Effort = Effort { duration_ns: 1_000_000, ends_only: true };
}

/// The part of a run before the figures count.
const WARM_UP_NS: u64 = 500_000;

impl Server {
    fn columns(&self, effort: Effort) -> impl Iterator<Item = (usize, u32)> {
        let from = if effort.ends_only { self.threads.len() - 1 } else { 1 };
        self.threads.iter().copied().enumerate().skip(from)
    }

    fn loops(&self, machine: &Machine, threads: u32, rest_ns: u64, effort: Effort) -> Loops {
        let mut cpus = spread(machine, self.cores_per_node);
        cpus.truncate(self.cpus as usize);
        let (inside_ns, outside_ns) = if self.rest_inside { (rest_ns, 0) } else { (0, rest_ns) };
        let Server { written, one_of, counts_per_line, delay, .. } = *self;
        Loops {
            threads: threads.min(self.cpus),
            cpus,
            pinned: self.pinned,
            section: Section { written, one_of, counts_per_line, inside_ns, outside_ns, delay },
            warm_up_ns: WARM_UP_NS,
            duration_ns: effort.duration_ns,
        }
    }

    /// Predicts all points of a lock.
    fn predict(&self, lock: &str, figures: &[f64], effort: Effort, tick: &mut impl FnMut()) -> Result<Vec<Point>> {
        let machine = Arc::new(spec::load(&self.machine)?);
        let place = find(lock)?;
        let once = |threads, rest_ns| {
            let ns = loops::once(&machine, place, &self.loops(&machine, threads, rest_ns, effort))?;
            anyhow::Ok(ns + self.rare_delays_ns / f64::from(threads))
        };
        let rest_ns = (figures[0] - once(1, 0)?).max(0.0).round() as u64;
        tick();
        let mut points = Vec::new();
        for (column, threads) in self.columns(effort) {
            let predicted_ns = once(threads, rest_ns)
                .with_context(|| format!("{}: {lock} with {threads} threads on {}", self.what, self.machine))?;
            points.push(Point {
                machine: self.machine.clone(),
                section: self.what.clone(),
                threads,
                lock: lock.to_owned(),
                published_ns: figures[column],
                predicted_ns,
            });
            tick();
        }
        Ok(points)
    }
}

/// Returns how many runs there are.
pub(super) fn count(servers: &[Server], effort: Effort) -> usize {
    servers.iter().map(|server| (server.columns(effort).count() + 1) * server.ns.len()).sum()
}

/// Predicts all points.
///
/// # Errors
/// A machine or a lock is missing, or threads make no progress.
pub(super) fn predict(servers: &[Server], effort: Effort, mut tick: impl FnMut()) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for server in servers {
        for (lock, figures) in &server.ns {
            points.extend(server.predict(lock, figures, effort, &mut tick)?);
        }
    }
    Ok(points)
}
