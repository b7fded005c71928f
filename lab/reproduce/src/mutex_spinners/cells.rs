//! Runs of every published cell, and of other places of the files.

use super::model::{LATER, Model, TODAY, VARIANTS, busy, seeds, share};
use crate::Context;
use crate::aim7_runs::Sample;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use turnwise_aim7::{Length, Outcome, Plan, Setup};
use turnwise_bench::published::WorkloadRow;

/// A change below this is none, per cent.
const NOTHING: f64 = 5.0;

/// The figures of the seeds of a run.
type Seeds = Vec<f64>;

fn jpm(sample: &Sample) -> Seeds {
    sample.each(|outcome| outcome.jpm)
}

/// The first table, and the profile of its first row.
#[derive(Serialize)]
pub(super) struct Cells {
    /// Jobs a minute of each row with the three kernels and today's locks, and their means.
    jpm: Vec<Vec<Seeds>>,
    jobs: Vec<Vec<f64>>,
    /// The share of busy time of each kernel's functions, 1500 users on 8 nodes.
    profile: BTreeMap<&'static str, Vec<Seeds>>,
}

impl Cells {
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Result<Cells> {
        let all = [VARIANTS[0], VARIANTS[1], VARIANTS[2], TODAY];
        let locks = context.judged(&all, 3);
        let rows = &model.published.rows;
        let run = |(row, locks): (usize, _)| {
            let nodes = rows[row].nodes;
            // No row is judged by today's locks.
            let most = if locks == TODAY { context.choose(1, 3) } else { u64::MAX };
            (
                model.run(context, "fserver", locks, nodes, model.users(&rows[row].users)),
                seeds(context, nodes).min(most),
            )
        };
        let runs: Vec<(Plan, u64)> =
            (0..rows.len()).flat_map(|row| locks.iter().map(move |&locks| (row, locks))).map(run).collect();
        let samples = Sample::run_enough(context, "mutex_spinners: fserver", &runs)?;
        let samples: Vec<&[Sample]> = samples.chunks(locks.len()).collect();
        let jobs: Vec<Vec<f64>> =
            samples.iter().map(|row| row.iter().map(|sample| sample.mean(|outcome| outcome.jpm)).collect()).collect();
        let shares = |names: &[&str]| -> Vec<Seeds> {
            samples[0][..3].iter().map(|sample| sample.each(|outcome| busy(outcome, names))).collect()
        };
        let mut profile: BTreeMap<_, _> =
            FUNCTIONS.iter().map(|(function, names)| (*function, shares(names))).collect();
        let of_a_mutex = |outcome: &Outcome| busy(outcome, FUNCTIONS[2].1) + busy(outcome, FUNCTIONS[3].1);
        profile.insert("both of a mutex's", samples[0][..3].iter().map(|sample| sample.each(of_a_mutex)).collect());
        Ok(Cells { jpm: samples.iter().map(|row| row.iter().map(jpm).collect()).collect(), profile, jobs })
    }
}

/// Ours for each of the kernel's functions.
const FUNCTIONS: [(&str, &[&str]); 6] = [
    ("__read_lock_failed", &["BiasedRwLock::read_failed"]),
    ("__write_lock_failed", &["BiasedRwLock::write_failed"]),
    ("mutex_spin_on_owner", &["LinuxMutex::spin_on_owner"]),
    ("mspin_lock", &["SpinnerQueue::enter"]),
    ("__mutex_lock_slowpath", SLOW_PATH),
    ("_raw_spin_lock", &["KernelTicketLock"]),
];
const SLOW_PATH: &[&str] = &[
    "LinuxMutex::lock_slow",
    "LinuxMutex::lock_asleep",
    "LinuxMutex::claim",
    "LinuxMutex::spin_round",
    "LinuxMutex::exchange",
];

/// Jobs a minute before a change of the locks and after it.
type Pair = [Seeds; 2];

fn pairs(samples: &[Sample]) -> impl Iterator<Item = Pair> {
    samples.chunks(2).map(|pair| [jpm(&pair[0]), jpm(&pair[1])])
}

/// Runs every workload with the second patch and without it, on 8 nodes: for each three ranges of users, of which the
/// short version leaves most out.
pub(super) fn workloads(context: &Context<'_>, model: &Model) -> Result<Vec<[Option<Pair>; 3]>> {
    const RANGES: [&str; 3] = ["10-100", "200-1000", "1100-2000"];
    // In the short version, those that the paper has a difference for, where the crowd is there soonest.
    let wanted = |workload: &WorkloadRow| -> &[usize] {
        let differs = workload.change[1].abs() >= NOTHING;
        context.choose(if differs { &[1] } else { &[] }, &[0, 1, 2])
    };
    let count = seeds(context, 8).min(2);
    let mut runs = Vec::new();
    for workload in &model.published.workloads {
        for &range in wanted(workload) {
            let run = |locks| model.run(context, &workload.name, locks, 8, model.users(RANGES[range]));
            let whole = workload.name == WHOLE && !context.least;
            let run = |locks| (if whole { from_start_to_end(run(locks)) } else { run(locks) }, count);
            runs.extend([VARIANTS[1], VARIANTS[2]].map(run));
        }
    }
    let samples = Sample::run_all(context, "mutex_spinners: workloads", &runs)?;
    let mut pairs = pairs(&samples);
    let mut cells = |workload| [0, 1, 2].map(|n| wanted(workload).contains(&n).then(|| pairs.next()).flatten());
    Ok(model.published.workloads.iter().map(&mut cells).collect())
}

/// The mix whose users meet at mutexes only as they start and end (`anon_vma`, the areas of the files that they map).
const WHOLE: &str = "short";

/// Returns the same run from the first job to the last of all users, each job whole: in a window no user starts or
/// ends, and of jobs of a 50th starts and ends would be too large a part.
fn from_start_to_end(run: Plan) -> Plan {
    Plan { length: Length::Whole, setup: Setup { scale: 1, ..run.setup }, ..run }
}

/// Returns the same run with another length of its window.
fn measured(run: Plan, length_ns: impl FnOnce(u64) -> u64) -> Plan {
    let length = match run.length {
        Length::Window { warm_up_ns, measured_ns } => {
            Length::Window { warm_up_ns, measured_ns: length_ns(measured_ns) }
        }
        Length::Whole => Length::Whole,
    };
    Plan { length, ..run }
}

/// Runs few users with the three kernels.
pub(super) fn few(context: &Context<'_>, model: &Model) -> Result<Vec<Seeds>> {
    let few = VARIANTS.map(|locks| (model.run(context, "fserver", locks, 8, model.users("10-100")), seeds(context, 8)));
    Ok(Sample::run_enough(context, "mutex_spinners: few users", &few)?.iter().map(jpm).collect())
}

/// Measures what the second patch does to Linux 3.8, whose `anon_vma` has an rwsem, on 8 nodes with many users.
pub(super) fn later(context: &Context<'_>, model: &Model) -> Result<Pair> {
    let run = |locks| model.run(context, "fserver", locks, 8, model.users("1100-2000"));
    let runs = LATER.map(|locks| (measured(run(locks), |ns| ns.max(5_000_000)), seeds(context, 8).min(3)));
    let samples = Sample::run_all(context, "mutex_spinners: another kernel", &runs)?;
    Ok([jpm(&samples[0]), jpm(&samples[1])])
}

/// A place of the files, with jobs a minute, and the per cent of busy time at two locks.
#[derive(Serialize)]
pub(super) struct Place {
    directories: u32,
    file_systems: u32,
    nodes: u32,
    jpm: f64,
    rwlock: f64,
    mutex: f64,
}

/// Runs with the files elsewhere: in one directory, and in as many file systems as directories, on 4 and 8 nodes.
pub(super) fn places(context: &Context<'_>, model: &Model) -> Result<Vec<Place>> {
    let all = model.directories;
    let mut runs = Vec::new();
    for (directories, file_systems) in [(1, 1), (all, 1), (all, all)] {
        let run = |nodes| model.run(context, "fserver", VARIANTS[2], nodes, model.users("1100-2000"));
        let place = |nodes| {
            // In a listing nothing is judged.
            let mut plan = measured(run(nodes), |ns| ns.min(40_000_000));
            (plan.setup.directories, plan.setup.file_systems) = (directories, file_systems);
            plan
        };
        runs.extend([4, 8].map(|nodes| (place(nodes), seeds(context, nodes))));
    }
    let samples = Sample::run_enough(context, "mutex_spinners: places", &runs)?;
    let place = |((run, _), sample): (&(Plan, u64), &Sample)| Place {
        directories: run.setup.directories,
        file_systems: run.setup.file_systems,
        nodes: run.cpus.len() as u32 / run.machine.topology.cpus_per_node(),
        jpm: sample.mean(|outcome| outcome.jpm),
        rwlock: share(sample, &["BiasedRwLock::read_failed", "BiasedRwLock::write_failed"]),
        mutex: share(sample, &["LinuxMutex", "SpinnerQueue"]),
    };
    Ok(runs.iter().zip(&samples).map(place).collect())
}
