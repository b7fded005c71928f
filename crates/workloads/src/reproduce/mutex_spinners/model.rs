//! Runs of the workload on the kernels of the document, and the constants that are not known.

use super::load::{Children, Locks, Shape};
use crate::adapt::raw::Behind;
use crate::load::shared::Record;
use crate::reproduce::Context;
use crate::reproduce::fit::{Unknown, distance, fit};
use crate::reproduce::published::{self, MutexSpinners};
use crate::reproduce::stage::Scene;
use crate::simulate::report::ProfileRow;
use crate::simulate::world::Spread;
use anyhow::Result;
use std::marker::PhantomData;
use std::sync::Arc;
use turnwise::platform::Platform;
use turnwise::{Mutex, RwSem};
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, Patch1, Patch1And2, Policy};
use turnwise_lineage::{BiasedRwLock, QueuedRwLock};
use turnwise_sim::Sim;
use turnwise_sim::spec::{self, Machine};

/// A kernel of that time, with its mutex in one version.
struct Kernel<V, P>(PhantomData<(V, P)>);
/// The last of them, with the rwlock of 2014.
struct QueuedKernel<P>(PhantomData<P>);
/// Today's locks.
struct Today<P>(PhantomData<P>);

impl<V: Policy, P: Platform> Locks for Kernel<V, P> {
    type Mutex = Behind<LinuxMutex<V, P>, u64>;
    type State = Behind<BiasedRwLock<P>, Record>;
}

impl<P: Platform> Locks for QueuedKernel<P> {
    type Mutex = Behind<LinuxMutex<Patch1And2, P>, u64>;
    type State = Behind<QueuedRwLock<P>, Record>;
}

impl<P: Platform> Locks for Today<P> {
    type Mutex = Mutex<u64, P>;
    type State = RwSem<Record, P>;
}

/// A set of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Baseline,
    Patch1,
    Patch1And2,
    Queued,
    Today,
}

impl Kind {
    pub(super) const VARIANTS: [Kind; 3] = [Kind::Baseline, Kind::Patch1, Kind::Patch1And2];
    pub(super) const ALL: [Kind; 5] = [Kind::Baseline, Kind::Patch1, Kind::Patch1And2, Kind::Queued, Kind::Today];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Baseline => "baseline",
            Kind::Patch1 => "patch 1",
            Kind::Patch1And2 => "patches 1 and 2",
            Kind::Queued => "patches 1 and 2, queued rwlock",
            Kind::Today => "turnwise Mutex and RwSem",
        }
    }

    pub(super) fn play<P: Platform, T>(self, play: &impl Play<P, T>) -> T {
        match self {
            Kind::Baseline => play.with::<Kernel<Baseline, P>>(),
            Kind::Patch1 => play.with::<Kernel<Patch1, P>>(),
            Kind::Patch1And2 => play.with::<Kernel<Patch1And2, P>>(),
            Kind::Queued => play.with::<QueuedKernel<P>>(),
            Kind::Today => play.with::<Today<P>>(),
        }
    }
}

/// Something to do with any of them.
pub(super) trait Play<P: Platform, T> {
    fn with<L: Locks>(&self) -> T;
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
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) creats_per_s: f64,
    /// Where busy CPUs spent their time, in shares of it.
    pub(super) profile: Vec<ProfileRow>,
}

/// Simulated time before the window.
pub(super) const WARM_UP_NS: u64 = 20_000_000;

impl Run {
    pub(super) fn run(&self) -> Result<Shown> {
        self.kind.play::<Sim, _>(self)
    }
}

impl Play<Sim, Result<Shown>> for Run {
    fn with<L: Locks>(&self) -> Result<Shown> {
        let crew = Children::<Sim, L>::new(self.shape, Spread::percent(50), 0);
        let scene = Scene {
            pinned: false,
            window: Some((WARM_UP_NS, self.shape.end_ns)),
            ..Scene::of(&self.machine, self.cpus, self.seed)
        };
        let ran = scene.run("the file systems", crew, Children::creats)?;
        let creats = ran.end - ran.begin.unwrap_or(0);
        let mut profile = ran.seen.profile;
        profile.retain(|row| row.kind != "idle");
        let busy: f64 = profile.iter().map(|row| row.share).sum();
        profile.iter_mut().for_each(|row| row.share /= busy);
        Ok(Shown { creats_per_s: creats as f64 * 1e9 / ran.seen.ns as f64, profile })
    }
}
