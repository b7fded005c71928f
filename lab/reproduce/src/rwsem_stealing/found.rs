//! What all versions of the lock show: on the paper's machine, on others, and with other hold times.

use super::load::Shape;
use super::model::{FIFO, LOCKS, MUTEX, Model, Run, STEALING, Shown};
use crate::Context;
use crate::mean::mean;
use crate::numbers::Numbers;
use anyhow::Result;
use serde::Serialize;

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
        let seeds = context.seeds(1, 4);
        let of = |lock| if THREE.contains(&lock) { seeds } else { 1 };
        let name = format!("{} of {}", model.cpus, model.machine.name);
        let locks = LOCKS.map(|lock| (lock, of(lock)));
        Found::of_these(context, model, name, context.judged(&locks, THREE.len()))
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
pub(super) fn elsewhere(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Vec<Found>> {
    let others: &[u32] = context.choose(&[8], &[6, 8, 16, 32, 64]);
    let found = |cpus: &u32| {
        let name = format!("{cpus} of westmere-ex-80");
        Found::predicted(context, &Model::on(numbers, &name)?, name)
    };
    others.iter().map(found).collect()
}

/// Predicts for other hold times.
pub(super) fn by_hold(context: &Context<'_>, model: &Model) -> Result<Vec<Found>> {
    let found = |hold_ns: u64| {
        let model = Model { shape: Shape { hold_ns, ..model.shape }, ..model.clone() };
        Found::predicted(context, &model, hold_ns.to_string())
    };
    [150, 300, 500, 1000].into_iter().map(found).collect()
}
