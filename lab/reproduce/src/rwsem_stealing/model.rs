//! Runs of the workload on the lock in all its versions, and the constant that is not known.

use super::load::{ForkTest, Shape};
use crate::Context;
use crate::fit::{Unknown, distance, fit};
use crate::locks::{WithLock, with_lock};
use anyhow::Result;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise_bench::simulated::Jitter;
use turnwise_sim::Sim;
use turnwise_sim::experiment::Experiment;
use turnwise_sim::spec::{self, Machine};

/// The root lock before 3.8.
pub(super) const MUTEX: &str = "linux-mutex-baseline";
/// The document's two.
pub(super) const FIFO: &str = "rwsem-spinlock-fifo";
pub(super) const STEALING: &str = "rwsem-spinlock-stealing";
/// The other rwsem, two kernels later.
pub(super) const XADD_FAST: &str = "rwsem-xadd-fast-stealing";
pub(super) const TODAY: &str = "rwsem";
/// The root lock in all its versions.
pub(super) const LOCKS: [&str; 8] =
    [MUTEX, FIFO, STEALING, "rwsem-xadd-fifo", "rwsem-xadd-stealing", XADD_FAST, TODAY, "mutex"];

/// One run on the simulated machine.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) machine: Arc<Machine>,
    pub(super) lock: &'static str,
    pub(super) cpus: u32,
    pub(super) shape: Shape,
    pub(super) seed: u64,
}

/// What a run showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) forks_per_s: f64,
    pub(super) cpu_percent: f64,
    /// For a fork; the child's end, which is no switch of its own will, left out.
    pub(super) switches: f64,
}

/// Simulated time before the window, and its length.
const WARM_UP_NS: u64 = 20_000_000;

impl Run {
    pub(super) fn run(&self) -> Result<Shown> {
        with_lock::<Sim, _>(self.lock, self)
    }
}

impl WithLock<Sim> for &Run {
    type Out = Result<Shown>;

    fn with<L: RawLock>(self) -> Result<Shown> {
        let group = ForkTest::<Sim, L>::new(self.shape, Jitter::percent(50), 0);
        let experiment = Experiment {
            pinned: false,
            window: Some((WARM_UP_NS, self.shape.end_ns)),
            ..Experiment::of(&self.machine, self.cpus, self.seed)
        };
        let ran = experiment.run("the root's lock", group, ForkTest::forks)?;
        let forks = ran.end - ran.begin.unwrap_or(0.0);
        Ok(Shown {
            forks_per_s: forks * 1e9 / ran.seen.ns as f64,
            cpu_percent: ran.seen.busy * 100.0,
            switches: (ran.seen.voluntary as f64 / forks.max(0.1) - 1.0).max(0.0),
        })
    }
}

/// The workload with its constants.
pub(super) struct Model {
    pub(super) machine: Arc<Machine>,
    pub(super) cpus: u32,
    pub(super) hold_ns: u64,
    pub(super) compute_ns: f64,
}

const COMPUTE: Unknown =
    Unknown { name: "compute, ns", low: 5_000.0, high: 2_000_000.0, start: 100_000.0, whole: false };

impl Model {
    /// Users: many more than CPUs.
    pub(super) const USERS: u32 = 200;
    /// Anonymous areas of a small static program.
    pub(super) const AREAS: u32 = 7;
    /// How long a link into the ancestor's tree takes: about log2 of two nodes a user, each a line that another CPU
    /// wrote last, half of them on the other node.
    pub(super) const HOLD_NS: u64 = 700;
    /// How long a link into an empty tree takes: one line, and the instructions.
    pub(super) const OWN_NS: u64 = 100;

    /// Reads the description of the machine.
    pub(super) fn machine() -> Result<Arc<Machine>> {
        Ok(Arc::new(spec::load("westmere-ex-80")?))
    }

    /// What a fork computes, so that with the lock granted in order as many CPUs are busy as published.
    pub(super) fn fitted(context: &Context<'_>, cpus: u32, hold_ns: u64, wanted: f64) -> Result<Model> {
        let machine = Model::machine()?;
        let model = |compute_ns| Model { machine: Arc::clone(&machine), cpus, hold_ns, compute_ns };
        let found = fit(&[COMPUTE], context.rounds(8, 14), |values| {
            let run = model(values[0]).run(context, FIFO);
            let shown = context.pool.map("rwsem_stealing: fit", &[run], Run::run)?;
            Ok(distance(&[(shown[0].cpu_percent, wanted)]))
        })?;
        Ok(model(found.values[0]))
    }

    pub(super) fn run(&self, context: &Context<'_>, lock: &'static str) -> Run {
        let end_ns = WARM_UP_NS + context.choose(40_000_000, 150_000_000);
        Run {
            machine: Arc::clone(&self.machine),
            lock,
            cpus: self.cpus,
            shape: self.shape(Self::USERS, end_ns),
            seed: context.seed,
        }
    }

    pub(super) fn shape(&self, users: u32, end_ns: u64) -> Shape {
        Shape {
            users,
            areas: Self::AREAS,
            hold_ns: self.hold_ns,
            own_ns: Self::OWN_NS,
            compute_ns: self.compute_ns as u64,
            end_ns,
        }
    }
}
