//! Runs of the workload on the lock in all its versions, and the constant that is not known.

use super::load::{ForkTest, Shape};
use crate::Context;
use crate::fit::{Unknown, distance, fit};
use anyhow::Result;
use std::sync::Arc;
use turnwise::platform::Platform;
use turnwise::{RawLock, RawMutex, RawRwSem};
use turnwise_bench::simulated::Spread;
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_sim::Sim;
use turnwise_sim::scene::Scene;
use turnwise_sim::spec::{self, Machine};

/// The root lock in one of its versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Mutex,
    Fifo,
    Stealing,
    XaddFifo,
    XaddStealing,
    XaddFast,
    Today,
    TodayMutex,
}

impl Kind {
    pub(super) const ALL: [Kind; 8] = [
        Kind::Mutex,
        Kind::Fifo,
        Kind::Stealing,
        Kind::XaddFifo,
        Kind::XaddStealing,
        Kind::XaddFast,
        Kind::Today,
        Kind::TodayMutex,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex, before 3.8",
            Kind::Fifo => "rwsem-spinlock, granted in order",
            Kind::Stealing => "rwsem-spinlock, stealing",
            Kind::XaddFifo => "xadd rwsem, granted in order",
            Kind::XaddStealing => "xadd rwsem, stealing",
            Kind::XaddFast => "xadd rwsem, stealing also on the way in",
            Kind::Today => "turnwise RwSem",
            Kind::TodayMutex => "turnwise Mutex",
        }
    }

    pub(super) fn play<P: Platform, T>(self, play: &impl Play<P, T>) -> T {
        match self {
            Kind::Mutex => play.with::<LinuxMutex<linux_mutex::Baseline, P>>(),
            Kind::Fifo => play.with::<RwsemSpinlock<rwsem_spinlock::Fifo, P>>(),
            Kind::Stealing => play.with::<RwsemSpinlock<rwsem_spinlock::Stealing, P>>(),
            Kind::XaddFifo => play.with::<RwsemXadd<rwsem_xadd::Fifo, P>>(),
            Kind::XaddStealing => play.with::<RwsemXadd<rwsem_xadd::Stealing, P>>(),
            Kind::XaddFast => play.with::<RwsemXadd<rwsem_xadd::FastStealing, P>>(),
            Kind::Today => play.with::<RawRwSem<P>>(),
            Kind::TodayMutex => play.with::<RawMutex<P>>(),
        }
    }
}

/// Something to do with any of the locks.
pub(super) trait Play<P: Platform, T> {
    fn with<L: RawLock>(&self) -> T;
}

/// One run on the simulated machine.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) machine: Arc<Machine>,
    pub(super) kind: Kind,
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
        self.kind.play::<Sim, _>(self)
    }
}

impl Play<Sim, Result<Shown>> for Run {
    fn with<L: RawLock>(&self) -> Result<Shown> {
        let crew = ForkTest::<Sim, L>::new(self.shape, Spread::percent(50), 0);
        let scene = Scene {
            pinned: false,
            window: Some((WARM_UP_NS, self.shape.end_ns)),
            ..Scene::of(&self.machine, self.cpus, self.seed)
        };
        let ran = scene.run("the root's lock", crew, ForkTest::forks)?;
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
    /// How long a link into the root's tree takes.
    pub(super) const HOLD_NS: u64 = 300;

    /// The machine.
    pub(super) fn machine() -> Result<Arc<Machine>> {
        Ok(Arc::new(spec::load("westmere-ex-80")?))
    }

    /// What a fork computes, so that with the lock granted in order as many CPUs are busy as published.
    pub(super) fn fitted(context: &Context<'_>, cpus: u32, hold_ns: u64, wanted: f64) -> Result<Model> {
        let machine = Model::machine()?;
        let model = |compute_ns| Model { machine: Arc::clone(&machine), cpus, hold_ns, compute_ns };
        let found = fit(&[COMPUTE], context.rounds(8, 14), |values| {
            let run = model(values[0]).run(context, Kind::Fifo);
            let shown = context.pool.map("rwsem_stealing: fit", &[run], Run::run)?;
            Ok(distance(&[(shown[0].cpu_percent, wanted)]))
        })?;
        Ok(model(found.values[0]))
    }

    pub(super) fn run(&self, context: &Context<'_>, kind: Kind) -> Run {
        let end_ns = WARM_UP_NS + context.choose(40_000_000, 150_000_000);
        Run {
            machine: Arc::clone(&self.machine),
            kind,
            cpus: self.cpus,
            shape: self.shape(Self::USERS, end_ns),
            seed: context.seed,
        }
    }

    pub(super) fn shape(&self, users: u32, end_ns: u64) -> Shape {
        Shape { users, areas: Self::AREAS, hold_ns: self.hold_ns, compute_ns: self.compute_ns as u64, end_ns }
    }
}
