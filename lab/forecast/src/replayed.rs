//! What both replays share: the locks of a program, and what its threads do in a window of simulated time.

use crate::trace::Kind;
use anyhow::{Context, Result};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::backoff::NoBackoff;
use turnwise::{RawLock, RawRwLock, RawSpinLock};
use turnwise_sim::Sim;
use turnwise_sim::experiment::{Experiment, ThreadGroup};
use turnwise_sim::spec::Machine;

/// Any lock of a program, of which one is used, with the data that it guards; on cache lines of its own.
#[repr(align(128))]
pub(crate) struct Slot<M, S> {
    mutex: M,
    rwlock: S,
    spin: RawSpinLock<NoBackoff, Sim>,
    pub(crate) data: u64,
}

/// Which of a slot's locks is taken, and whether by a reader.
pub(crate) type How = (Kind, bool);

/// Calls the method of the lock that is taken in this way: the first of a writer, the second of a reader.
macro_rules! call {
    ($slot:expr, $how:expr, $alone:ident, $reader:ident) => {
        match $how {
            (Kind::Mutex, _) => $slot.mutex.$alone(),
            (Kind::Spin, _) => $slot.spin.$alone(),
            (Kind::RwLock, false) => $slot.rwlock.$alone(),
            (Kind::RwLock, true) => $slot.rwlock.$reader(),
        }
    };
}

impl<M: RawLock, S: RawRwLock> Slot<M, S> {
    pub(crate) fn new() -> Self {
        Slot { mutex: M::new_in(), rwlock: S::new_in(), spin: RawSpinLock::new_in(), data: 0 }
    }

    pub(crate) fn lock(&self, how: How) {
        call!(self, how, lock, read)
    }

    pub(crate) fn try_lock(&self, how: How) -> bool {
        call!(self, how, try_lock, try_read)
    }

    /// # Safety
    /// The calling thread has it, in this way.
    pub(crate) unsafe fn unlock(&self, how: How) {
        // SAFETY: guaranteed by the caller.
        unsafe { call!(self, how, unlock, unlock_read) }
    }
}

/// The share of a window's length that passes before it begins.
const WARM_UP: f64 = 0.25;

/// Returns the beginning and the end of a window of about `ns`, within these bounds.
pub(crate) fn window(ns: f64, bounds: RangeInclusive<f64>) -> (u64, u64) {
    let ns = ns.clamp(*bounds.start(), *bounds.end());
    ((ns * WARM_UP) as u64, (ns * (1.0 + WARM_UP)) as u64)
}

/// What threads did in a window.
pub(crate) struct Watched {
    pub(crate) acquisitions: u64,
    /// The length of the window.
    pub(crate) ns: f64,
    /// How long they waited for each lock, all together.
    pub(crate) waited_ns: Vec<f64>,
}

/// Runs threads on the first `cpus` CPUs, each on its own if there are enough.
///
/// # Errors
/// They make no progress.
pub(crate) fn watch<G: ThreadGroup>(
    machine: &Arc<Machine>,
    (cpus, seed): (u32, u64),
    window: (u64, u64),
    group: G,
    counts: fn(&G) -> &Counts,
) -> Result<Watched> {
    let pinned = group.threads() <= cpus as usize;
    let scene = Experiment { pinned, window: Some(window), ..Experiment::of(machine, cpus, seed) };
    let ran = scene.run("the recorded program", group, move |group| counts(group).counted())?;
    let (before, after) = (ran.begin.context("the window has no beginning")?, ran.end);
    let waited = |lock| after.waited(lock, window.1).saturating_sub(before.waited(lock, window.0)) as f64;
    Ok(Watched {
        acquisitions: after.acquisitions - before.acquisitions,
        ns: ran.seen.ns as f64,
        waited_ns: (0..before.waited.len()).map(waited).collect(),
    })
}

/// The present counts.
pub(crate) struct Counts {
    acquisitions: AtomicU64,
    /// For each lock.
    waited: Vec<AtomicU64>,
    /// Of each thread: since when it waits, 0: it does not; and for which lock.
    waits: Vec<(AtomicU64, AtomicU64)>,
}

/// The counts at a moment.
#[derive(Clone)]
struct Counted {
    acquisitions: u64,
    waited: Vec<u64>,
    /// Waits under way: since when, and for which lock.
    waits: Vec<(u64, usize)>,
}

impl Counted {
    /// Returns the time waited for a lock until `now`, unfinished waits included.
    fn waited(&self, lock: usize, now: u64) -> u64 {
        let under_way = self.waits.iter().filter(|(_, waited_for)| *waited_for == lock);
        self.waited[lock] + under_way.map(|(since, _)| now.saturating_sub(*since)).sum::<u64>()
    }
}

impl Counts {
    pub(crate) fn of(threads: usize, locks: usize) -> Counts {
        Counts {
            acquisitions: AtomicU64::new(0),
            waited: (0..locks).map(|_| AtomicU64::new(0)).collect(),
            waits: (0..threads).map(|_| Default::default()).collect(),
        }
    }

    fn counted(&self) -> Counted {
        let waits = self.waits.iter().map(|(since, lock)| (since.load(Relaxed), lock.load(Relaxed) as usize));
        Counted {
            acquisitions: self.acquisitions.load(Relaxed),
            waited: self.waited.iter().map(|waited| waited.load(Relaxed)).collect(),
            waits: waits.filter(|(since, _)| *since != 0).collect(),
        }
    }

    pub(crate) fn acquired(&self) {
        self.acquisitions.fetch_add(1, Relaxed);
    }

    /// Counts the time that a thread takes to acquire a lock as waited.
    pub(crate) fn wait(&self, thread: usize, lock: usize, acquire: impl FnOnce()) {
        let asked = Sim::time_ns().max(1);
        let (since, waited_for) = &self.waits[thread];
        waited_for.store(lock as u64, Relaxed);
        since.store(asked, Relaxed);
        acquire();
        since.store(0, Relaxed);
        self.waited[lock].fetch_add(Sim::time_ns().saturating_sub(asked), Relaxed);
    }
}
