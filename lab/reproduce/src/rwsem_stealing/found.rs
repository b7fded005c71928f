//! What all versions of the lock show: on the paper's machine, on others, with other hold times, and here.

use super::load::{ForkTest, Shape};
use super::model::{FIFO, LOCKS, MUTEX, Model, Run, STEALING, Shown, TODAY, XADD_FAST};
use crate::Context;
use crate::here::here;
use crate::locks::{WithLock, with_lock};
use crate::mean::mean;
use crate::report::Plot;
use crate::scaling;
use anyhow::Result;
use serde::Serialize;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise::platform::Native;
use turnwise_bench::environment::Environment;
use turnwise_present::spent::Spent;

/// What the locks showed on one machine.
#[derive(Serialize)]
pub(super) struct Found {
    /// The machine or the hold time.
    name: String,
    /// Each lock with its means over the seeds; first the mutex, the lock granted in order, and the stealing one.
    locks: Vec<(&'static str, Shown)>,
    /// The stealing lock over the one granted in order, seed by seed.
    speedup: Vec<f64>,
    more_cpu: Vec<f64>,
    /// The other way round.
    fewer_switches: Vec<f64>,
}

impl Found {
    /// Runs all locks, those that rows are judged by with several seeds.
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Result<Found> {
        let seeds = context.choose(1, 4);
        let of = |lock| if THREE.contains(&lock) { seeds } else { 1 };
        let name = format!("{} of {}", Model::CPUS, Model::MACHINE);
        Found::of_these(context, model, name, &LOCKS.map(|lock| (lock, of(lock))))
    }

    fn of_these(context: &Context<'_>, model: &Model, name: String, locks: &[(&'static str, u64)]) -> Result<Found> {
        let seeds = |&(lock, seeds): &(&'static str, u64)| (0..seeds).map(move |seed| model.run(context, lock, seed));
        let runs: Vec<Run> = locks.iter().flat_map(seeds).collect();
        let mut shown = context.pool.map("rwsem_stealing: locks", &runs, Run::run)?.into_iter();
        let all: Vec<Vec<Shown>> = locks.iter().map(|lock| shown.by_ref().take(lock.1 as usize).collect()).collect();
        let ratio = |figure: fn(&Shown) -> f64| {
            all[1].iter().zip(&all[2]).map(|(fifo, stealing)| figure(stealing) / figure(fifo)).collect()
        };
        Ok(Found {
            name,
            locks: locks.iter().zip(&all).map(|(lock, shown)| (lock.0, Shown::mean(shown))).collect(),
            speedup: ratio(|shown| shown.forks_per_s),
            more_cpu: ratio(|shown| shown.cpu_percent),
            fewer_switches: ratio(|shown| 1.0 / shown.switches),
        })
    }

    /// Predicts by the first three locks, with one seed.
    fn predicted(context: &Context<'_>, model: &Model, name: String) -> Result<Found> {
        Found::of_these(context, model, name, &THREE.map(|lock| (lock, 1)))
    }
}

impl Shown {
    fn mean(all: &[Shown]) -> Shown {
        let of = |figure: fn(&Shown) -> f64| mean(all.iter().map(figure)).0;
        Shown {
            forks_per_s: of(|shown| shown.forks_per_s),
            cpu_percent: of(|shown| shown.cpu_percent),
            switches: of(|shown| shown.switches),
        }
    }
}

/// The locks of all predictions.
const THREE: [&str; 3] = [MUTEX, FIFO, STEALING];

/// Predicts for other machines: the first CPUs of a larger one.
pub(super) fn elsewhere(context: &Context<'_>) -> Result<Vec<Found>> {
    const LARGER: &str = "westmere-ex-80";
    let others: &[u32] = context.choose(&[8], &[6, 8, 16, 32, 64]);
    let found = |&cpus: &u32| {
        Found::predicted(context, &Model::on(LARGER, cpus, Model::HOLD_NS)?, format!("{cpus} of {LARGER}"))
    };
    others.iter().map(found).collect()
}

/// Predicts for other hold times.
pub(super) fn by_hold(context: &Context<'_>) -> Result<Vec<Found>> {
    let found = |hold_ns: u64| {
        Found::predicted(context, &Model::on(Model::MACHINE, Model::CPUS, hold_ns)?, hold_ns.to_string())
    };
    [150, 300, 500, 1000].into_iter().map(found).collect()
}

/// Runs the same workload on a machine of 1024 CPUs, a user for each.
pub(super) fn to_1024(context: &Context<'_>, model: &Model) -> Result<Plot> {
    const SOME: [&str; 4] = [FIFO, STEALING, XADD_FAST, TODAY];
    const WARM_UP_NS: u64 = 20_000_000;
    const END_NS: u64 = 25_000_000;
    let machine = scaling::machine_of_a_kernel()?;
    let run = |lock, cpus| Run {
        machine: Arc::clone(&machine),
        lock,
        cpus,
        shape: model.shape(cpus, END_NS),
        warm_up_ns: WARM_UP_NS,
        seed: context.seed,
    };
    let words = ["forks, a user for each CPU", "thousand/s", "CPUs"];
    scaling::run(context, "rwsem_stealing: 1024 CPUs", words, &SOME, |lock, cpus| {
        Ok(run(lock, cpus).run()?.forks_per_s / 1e3)
    })
}

/// The workload on this machine's CPUs.
#[derive(Serialize)]
pub(super) struct Metal {
    users: u32,
    cpus: usize,
    /// Each lock with forks a second and switches for a fork.
    locks: Vec<(&'static str, f64, f64)>,
}

impl Metal {
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Metal {
        const USERS: u32 = 8;
        let shape = model.shape(USERS, context.choose(100_000_000, 500_000_000));
        let run = |lock| {
            let (forks, switches) = with_lock::<Native, _>(lock, &shape);
            (lock, forks * 1e9 / shape.end_ns as f64, switches as f64 / forks.max(1.0))
        };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Metal { users: USERS, cpus, locks: LOCKS.map(run).into() }
    }
}

impl WithLock<Native> for &Shape {
    type Out = (f64, u64);

    fn with<L: RawLock>(self) -> (f64, u64) {
        let before = Spent::here().voluntary;
        let group = ForkTest::<Native, L>::new(*self, (), <Native as Environment>::stamp());
        here(&group);
        (group.forks(), Spent::here().voluntary - before)
    }
}
