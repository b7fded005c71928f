//! Threads that want a lock for themselves.

use super::body::{self, Body, Load, any_section};
use super::situated;
use crate::environment::Environment;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Section, Workload};
use anyhow::ensure;
use std::hint::black_box;
use std::ptr;
use turnwise::platform::Native;

/// A lock with data inside. The workloads are generic over it, so every lock is inlined into its own copy of them.
pub trait Lock<T>: Sync + 'static {
    /// Creates an unlocked lock.
    fn new(value: T) -> Self;
    /// Acquires, runs `f`, releases.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
}

/// What the lock protects. With any lock compared here it fits one cache line.
#[derive(Clone, Copy, Default, Debug)]
pub struct Protected {
    /// Critical sections completed.
    count: u64,
    /// A copy of `count`, written at another time in the section.
    mirror: u64,
    /// Where the work inside takes its seed and leaves its result.
    chain: u64,
}

/// Runs one sample of `plan` with a fresh lock.
///
/// # Errors
/// When a thread cannot be started, or when the lock let two threads in at the same time.
pub fn sample<L: Lock<Protected>>(plan: &Plan) -> anyhow::Result<Outcome> {
    if plan.situation.arrivals.is_some() || plan.situation.locks > 1 {
        return situated::sample::<L>(plan);
    }
    if let Section::Sleep(_) = plan.section {
        return run::sample(plan, any_section::<Exclusive, Native, L>(plan.section, ())?);
    }
    body::sample::<Exclusive, L>(plan)
}

/// Announces that the section is about to read the data, or to write it.
#[inline(always)]
#[track_caller]
fn touch<W: Environment>(data: &mut Protected, write: bool) {
    W::touch(ptr::from_mut(data).cast(), size_of::<Protected>(), write);
}

/// Does what is within the section.
#[inline(always)]
pub(super) fn change<W: Environment>(body: impl Body<W>, data: &mut Protected) {
    if body.tight() {
        let count = data.count;
        touch::<W>(data, true);
        data.count = count + 1;
        return;
    }
    touch::<W>(data, false);
    let count = data.count;
    data.chain = body.inside(data.chain);
    touch::<W>(data, true);
    // The compiler must assume that any thread may have changed the data here.
    let data = black_box(data);
    data.count = count + 1;
    data.mirror += 1;
}

/// They take the lock for themselves.
pub enum Exclusive {}

impl<W: Environment, L: Lock<Protected>, B: Body<W>> Workload for Load<(Exclusive, W, L), B> {
    type Shared = L;
    type Local = u64;

    fn shared(self) -> L {
        L::new(Protected::default())
    }

    fn local(self, _roles: Roles, _thread: usize) -> u64 {
        1
    }

    fn prepare(self) {
        self.body.prepare();
    }

    #[inline(always)]
    fn operate<P: Probe>(self, lock: &L, _local: &mut u64, probe: &mut P) -> Kind {
        take::<W, L, P>(lock, self.body, probe)
    }

    #[inline(always)]
    fn rest(self, local: &mut u64) {
        self.body.outside(local);
    }

    /// Checks mutual exclusion: no increment was lost. (A tight section leaves the mirror alone.)
    fn check(lock: &L, done: Counts, _torn: bool) -> anyhow::Result<()> {
        lock.with(|data| *data).check(done.write)
    }
}

/// Takes the lock once.
#[inline(always)]
pub(super) fn take<W: Environment, L: Lock<Protected>, P: Probe>(lock: &L, body: impl Body<W>, probe: &mut P) -> Kind {
    let address = ptr::from_ref(lock).cast();
    probe.asks(address);
    let asked = probe.mark();
    let acquired = lock.with(|data| {
        let acquired = probe.mark();
        probe.acquired(address, Kind::Write);
        change::<W>(body, data);
        probe.releases(address, Kind::Write);
        acquired
    });
    probe.record(Kind::Write, asked, acquired);
    Kind::Write
}

impl Protected {
    /// Returns the counts of both together.
    pub(super) fn and(self, more: Protected) -> Protected {
        Protected { count: self.count + more.count, mirror: self.mirror + more.mirror, chain: 0 }
    }

    pub(super) fn check(self, total: u64) -> anyhow::Result<()> {
        ensure!(
            self.count == total && (self.mirror == total || self.mirror == 0),
            "the lock let two threads in at once: {total} critical sections, but the data behind it count {} and {}",
            self.count,
            self.mirror,
        );
        Ok(())
    }
}
