//! Threads that want a lock for themselves.

use super::body::Load;
use super::{many, open};
use crate::environment::Environment;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Section, Workload};
use anyhow::ensure;
use std::hint::black_box;
use std::ptr;
use std::time::Duration;
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
    if let Some(arrivals) = plan.situation.arrivals {
        return open::sample::<L>(plan, arrivals);
    }
    if plan.situation.locks > 1 {
        return many::sample::<L>(plan);
    }
    match plan.section {
        Section::Tight => run::sample(plan, Load::<(Exclusive, Native, L), _>::of(Tight)),
        Section::Work { inside, outside } => {
            run::sample(plan, Load::<(Exclusive, Native, L), _>::of(Work { inside, outside, jitter: () }))
        }
        Section::Sleep(time) => run::sample(plan, Load::<(Exclusive, Native, L), _>::of(Sleep(time))),
    }
}

/// Returns the section in the world `W`, where a run-time check of the section's kind costs nothing: one copy of the
/// threads' loop for each lock.
pub fn any_section<W: Environment, L: Lock<Protected>>(section: Section, jitter: W::Jitter) -> impl Workload {
    Load::<(Exclusive, W, L), _>::of(Any::of(section, jitter))
}

/// The two halves of an operation.
pub(super) trait Body<W: Environment>: Copy + Send + Sync + 'static {
    /// Prepares the thread, before the first operation.
    fn prepare(self) {}
    fn inside(self, data: &mut Protected);
    fn outside(self, _local: &mut u64) {}
}

/// Announces that the section is about to read the data, or to write it.
#[inline(always)]
#[track_caller]
fn touch<W: Environment>(data: &mut Protected, write: bool) {
    W::touch(ptr::from_mut(data).cast(), size_of::<Protected>(), write);
}

#[derive(Clone, Copy)]
pub(super) struct Tight;
impl<W: Environment> Body<W> for Tight {
    #[inline(always)]
    fn inside(self, data: &mut Protected) {
        let count = data.count;
        touch::<W>(data, true);
        data.count = count + 1;
    }
}

#[derive(Clone, Copy)]
pub(super) struct Work<S> {
    inside: u32,
    outside: u32,
    jitter: S,
}
impl<W: Environment> Body<W> for Work<W::Jitter> {
    #[inline(always)]
    fn inside(self, data: &mut Protected) {
        touch::<W>(data, false);
        let count = data.count;
        data.chain = W::work(data.chain, self.inside);
        touch::<W>(data, true);
        // The compiler must assume that any thread may have changed the data here.
        let data = black_box(data);
        data.count = count + 1;
        data.mirror += 1;
    }

    #[inline(always)]
    fn outside(self, local: &mut u64) {
        *local = black_box(W::think(*local, self.outside, self.jitter));
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sleep(Duration);
impl<W: Environment> Body<W> for Sleep {
    fn prepare(self) {
        W::prepare_to_sleep();
    }

    fn inside(self, data: &mut Protected) {
        touch::<W>(data, false);
        let count = data.count;
        W::sleep(self.0);
        touch::<W>(data, true);
        let data = black_box(data);
        data.count = count + 1;
        data.mirror += 1;
    }
}

/// Any of them. Out of line: the locks share it.
#[derive(Clone, Copy)]
pub(super) enum Any<S> {
    Tight(Tight),
    Work(Work<S>),
    Sleep(Sleep),
}

impl<S> Any<S> {
    pub(super) fn of(section: Section, jitter: S) -> Any<S> {
        match section {
            Section::Tight => Any::Tight(Tight),
            Section::Work { inside, outside } => Any::Work(Work { inside, outside, jitter }),
            Section::Sleep(time) => Any::Sleep(Sleep(time)),
        }
    }
}

impl<W: Environment> Body<W> for Any<W::Jitter> {
    fn prepare(self) {
        if let Any::Sleep(sleep) = self {
            Body::<W>::prepare(sleep);
        }
    }

    #[inline(never)]
    fn inside(self, data: &mut Protected) {
        match self {
            Any::Tight(tight) => Body::<W>::inside(tight, data),
            Any::Work(work) => Body::<W>::inside(work, data),
            Any::Sleep(sleep) => Body::<W>::inside(sleep, data),
        }
    }

    #[inline(never)]
    fn outside(self, local: &mut u64) {
        match self {
            Any::Work(work) => Body::<W>::outside(work, local),
            Any::Tight(_) | Any::Sleep(_) => {}
        }
    }
}

/// The kind of the workload.
enum Exclusive {}

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
        body.inside(data);
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
