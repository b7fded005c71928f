//! Runs of the workload, and the constants that are not known.

use super::load::{SameFile, Shape, Took};
use super::locks::{WithLock, with_lock};
use crate::Context;
use crate::bracket::nearest;
use crate::numbers::Numbers;
use anyhow::Result;
use std::sync::Arc;
use turnwise_bench::load::exclusive::Lock;
use turnwise_bench::published::{self, SpinBackoff};
use turnwise_bench::simulated::Jitter;
use turnwise_sim::experiment::Experiment;
use turnwise_sim::spec::Machine;

/// The locks that the file can be behind: the paper's two, and what it chose instead.
pub(super) const SPIN: &str = "inode-lock-spin";
pub(super) const BACK_OFF: &str = "inode-lock-backoff";
/// The same, where a failed exchange keeps the delay: the other reading of the paper's code.
pub(super) const KEPT: &str = "ia64-spin-kept";
pub(super) const RWSEM: &str = "inode-lock-rwsem";
/// The same, if all who come take it for writing.
const RWSEM_WRITTEN: &str = "inode-lock-rwsem, for writing";
pub(super) const TODAY: &str = "rwsem";
/// Those that readers of the file have together.
pub(super) const TOGETHER: [&str; 2] = [RWSEM, TODAY];
/// All of them, first those of rows and claims.
pub(super) const LOCKS: [&str; 8] = [SPIN, BACK_OFF, RWSEM, RWSEM_WRITTEN, KEPT, TODAY, "mcs", "mutex"];

/// One run on the simulated machine.
#[derive(Clone)]
pub(super) struct Run {
    machine: Arc<Machine>,
    lock: &'static str,
    pub(super) shape: Shape,
    seed: u64,
}

impl Run {
    /// Returns what a file takes.
    pub(super) fn run(&self) -> Result<Took> {
        let took = with_lock(self.lock, self)?;
        let per_file = |ns: f64| ns / f64::from(self.shape.files);
        Ok(Took {
            wall_ns: per_file(took.wall_ns),
            system_ns: per_file(took.system_ns),
            user_ns: per_file(took.user_ns),
        })
    }

    /// Returns the same with seeds from this one's on.
    pub(super) fn seeds(&self, count: u64) -> impl Iterator<Item = Run> {
        (0..count).map(|n| Run { seed: self.seed + n, ..self.clone() })
    }
}

impl WithLock for &Run {
    type Out = Result<Took>;

    fn with<L: Lock<()>>(self) -> Result<Took> {
        let group = SameFile::<L>::new(self.shape, Jitter::percent(50));
        let experiment = Experiment::of(&self.machine, self.shape.threads, self.seed);
        Ok(experiment.run("the file's lock", group, SameFile::took)?.end)
    }
}

/// Returns how many seeds a figure is the mean of.
pub(super) fn seeds(context: &Context<'_>) -> u64 {
    context.seeds(2, 5)
}

/// The workload with all its constants.
pub(super) struct Model {
    pub(super) machine: Arc<Machine>,
    pub(super) published: SpinBackoff,
    /// As [`Shape::lines`], but whole ones.
    pub(super) lines: f64,
    pub(super) acquisitions: u32,
    private_ns: u64,
    /// Files of the series.
    pub(super) files: f64,
}

/// The brackets that the searches start with.
const LINES: [f64; 2] = [0.5, 100.0];
const ACQUISITIONS: [f64; 2] = [2.0, 200.0];

impl Model {
    /// Returns the constants for which the row of 8 CPUs comes out, and the wall time of 64: one after the other, and
    /// again, since each hardly matters for the figure of the other.
    pub(super) fn fitted(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Model> {
        let published: SpinBackoff = published::typed("spin_backoff")?;
        let (machine, private_ns) = (numbers.machine("altix-64")?, numbers.times("private_us", 1000)?);
        let mut model = Model { machine, published, lines: 10.0, acquisitions: 20, private_ns, files: 1.0 };
        let (first, last) = (model.published.rows[0].clone(), model.published.rows[3].clone());
        let took = |model: &Model, cpus| -> Result<Took> {
            let runs: Vec<Run> = model.run(context, SPIN, cpus).seeds(seeds(context)).collect();
            Ok(Took::mean(&context.pool.map("spin_backoff: fit", &runs, Run::run)?))
        };
        let rounds = context.rounds(7, 9);
        for _ in 0..2 {
            let wanted = user_of_workers(first.spin) / first.spin[1];
            let found = nearest(ACQUISITIONS, rounds, wanted, |value| {
                model.acquisitions = value.round() as u32;
                let took = took(&model, first.cpus)?;
                Ok(((), vec![took.user_ns / took.system_ns]))
            })?;
            model.acquisitions = found.value.round() as u32;
            // The more lines the lock protects, the less the crowd at its own costs in comparison.
            let found = nearest(LINES, rounds, last.spin[0] / first.spin[0], |value| {
                model.lines = value;
                Ok(((), vec![took(&model, last.cpus)?.wall_ns / took(&model, first.cpus)?.wall_ns]))
            })?;
            model.lines = found.value;
        }
        let wall_ns = took(&model, first.cpus)?.wall_ns;
        Ok(Model { files: first.spin[0] * 1e9 / wall_ns, ..model })
    }

    /// Returns a run of this workload.
    pub(super) fn run(&self, context: &Context<'_>, lock: &'static str, cpus: u32) -> Run {
        let effort = if cpus <= 8 { 4 } else { 1 } * context.choose(2_000, 8_000);
        let shape = Shape {
            threads: cpus,
            files: (effort / (cpus * self.acquisitions)).max(4),
            acquisitions: self.acquisitions,
            lines: (self.lines * 100.0).round() as u32,
            alone: !TOGETHER.contains(&lock),
            private_ns: self.private_ns,
            watched: cpus == self.machine.topology.cpus(),
            inode: false,
        };
        Run { machine: Arc::clone(&self.machine), lock, shape, seed: context.seed }
    }

    /// Returns seconds of the whole series: wall, system, user with that of the busy thread.
    pub(super) fn seconds(&self, took: Took) -> [f64; 3] {
        let of_all = |ns: f64| ns * self.files / 1e9;
        [of_all(took.wall_ns), of_all(took.system_ns), of_all(took.user_ns + took.wall_ns)]
    }
}

/// Returns user seconds without those of the busy thread.
fn user_of_workers([wall, _, user]: [f64; 3]) -> f64 {
    user - wall
}
