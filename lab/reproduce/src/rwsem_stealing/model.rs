//! Runs of the workload on the lock in all its versions.

use super::load::{ForkTest, Shape};
use crate::Context;
use crate::numbers::Numbers;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise_catalogue::{Of, Visit, visit};
use turnwise_sim::Sim;
use turnwise_sim::experiment::Experiment;
use turnwise_sim::spec::Machine;

/// The root lock before 3.8.
pub(super) const MUTEX: &str = "linux-mutex-baseline";
/// The paper's two.
pub(super) const FIFO: &str = "rwsem-spinlock-fifo";
pub(super) const STEALING: &str = "rwsem-spinlock-stealing";
/// The root lock in all its versions, and what it could be today.
pub(super) const LOCKS: [&str; 8] =
    [MUTEX, FIFO, STEALING, "rwsem-xadd-fifo", "rwsem-xadd-stealing", "rwsem-xadd-fast-stealing", "rwsem", "mutex"];

/// One run on the simulated machine.
#[derive(Clone)]
pub(super) struct Run {
    model: Model,
    lock: &'static str,
    /// Simulated time before the window.
    warm_up_ns: u64,
    seed: u64,
}

/// What a run showed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Shown {
    pub(super) forks_per_s: f64,
    pub(super) cpu_percent: f64,
    /// For a fork: sleeps on the lock and in wait, and the child's end, which counts as a voluntary switch.
    pub(super) switches: f64,
}

impl Run {
    pub(super) fn run(&self) -> Result<Shown> {
        visit::<Sim, _>(self.lock, self)
    }
}

impl Visit<Sim> for &Run {
    type Out = Result<Shown>;

    fn exclusive<L: RawLock>(self, _: Of<L>) -> Result<Shown> {
        let Model { machine, cpus, shape } = &self.model;
        let experiment = Experiment {
            pinned: false,
            window: Some((self.warm_up_ns, shape.end_ns)),
            ..Experiment::of(machine, *cpus, self.seed)
        };
        let group = ForkTest::<L>::new(*shape);
        let ran = experiment.run("the root's lock", group, ForkTest::forks)?;
        let forks = ran.end - ran.begin.unwrap_or(0.0);
        Ok(Shown {
            forks_per_s: forks * 1e9 / ran.seen.ns as f64,
            cpu_percent: ran.seen.busy * 100.0,
            switches: ran.seen.voluntary as f64 / forks.max(0.1),
        })
    }
}

/// The workload on one machine, with its constants.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) machine: Arc<Machine>,
    pub(super) cpus: u32,
    pub(super) shape: Shape,
}

impl Model {
    /// Returns the workload on `on`, such as `16 of nehalem-ep-2s`.
    pub(super) fn on(numbers: &Numbers<'_>, on: &str) -> Result<Model> {
        let (cpus, machine) = on.split_once(" of ").context("a machine is given as CPUs of a name")?;
        let ns = |name| numbers.times(name, 1);
        let shape = Shape {
            users: numbers.count("users")?,
            areas: numbers.count("areas")?,
            hold_ns: ns("hold_ns")?,
            own_ns: ns("own_ns")?,
            compute_ns: numbers.times("compute_us", 1000)?,
            end_ns: 0,
        };
        Ok(Model { machine: numbers.machine(machine)?, cpus: cpus.parse()?, shape })
    }

    /// Does one run. The window begins when the crowd is steady: in the first tens of milliseconds all users, which
    /// start together, come to the same root lock one after the other.
    pub(super) fn run(&self, context: &Context<'_>, lock: &'static str, seed: u64) -> Run {
        let warm_up_ns = context.choose(40_000_000, 100_000_000);
        let end_ns = warm_up_ns + context.choose(30_000_000, 150_000_000);
        let model = Model { shape: Shape { end_ns, ..self.shape }, ..self.clone() };
        Run { model, lock, warm_up_ns, seed: context.seed + seed }
    }
}
