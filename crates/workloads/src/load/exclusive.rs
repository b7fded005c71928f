//! Threads that want a lock for themselves.

use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Section, Workload};
use crate::work::work;
use anyhow::ensure;
use std::hint::black_box;
use std::marker::PhantomData;
use std::thread;
use std::time::Duration;

/// A lock with data inside. The workloads are generic over it, so every lock is inlined into its own copy of them.
pub trait Lock<T>: Sync {
    /// An unlocked lock.
    fn new(value: T) -> Self;
    /// Acquires, runs `f`, releases.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
    /// The data.
    fn into_inner(self) -> T;
}

/// What the lock protects. With any lock compared here it fits one cache line.
#[derive(Clone, Copy, Default, Debug)]
pub struct Protected {
    /// Critical sections completed.
    count: u64,
    /// The same, written at another time in the section.
    mirror: u64,
    /// Where the work inside takes its seed and leaves its result.
    chain: u64,
}

/// Runs one sample of `plan` with a fresh lock.
///
/// # Errors
/// When a thread cannot be started, or when the lock let two threads in at the same time.
pub fn sample<L: Lock<Protected>>(plan: &Plan) -> anyhow::Result<Outcome> {
    match plan.section {
        Section::Tight => run::sample(plan, Exclusive::<L, _>::of(Tight)),
        Section::Work { inside, outside } => run::sample(plan, Exclusive::<L, _>::of(Work { inside, outside })),
        Section::Sleep(time) => run::sample(plan, Exclusive::<L, _>::of(Sleep(time))),
    }
}

/// The two halves of an operation.
trait Body: Copy + Send + Sync {
    /// In the thread, before the first operation.
    fn prepare(self) {}
    fn inside(self, data: &mut Protected);
    fn outside(self, _local: &mut u64) {}
}

#[derive(Clone, Copy)]
struct Tight;
impl Body for Tight {
    #[inline(always)]
    fn inside(self, data: &mut Protected) {
        data.count += 1;
    }
}

#[derive(Clone, Copy)]
struct Work {
    inside: u32,
    outside: u32,
}
impl Body for Work {
    #[inline(always)]
    fn inside(self, data: &mut Protected) {
        let count = data.count;
        data.chain = work(data.chain, self.inside);
        // The compiler must take it that anybody may have changed the data here.
        let data = black_box(data);
        data.count = count + 1;
        data.mirror += 1;
    }

    #[inline(always)]
    fn outside(self, local: &mut u64) {
        *local = black_box(work(*local, self.outside));
    }
}

#[derive(Clone, Copy)]
struct Sleep(Duration);
impl Body for Sleep {
    /// The kernel rounds sleeps up by 50 us otherwise.
    fn prepare(self) {
        // SAFETY: sets the calling thread's timer slack to 1 ns; no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    }

    fn inside(self, data: &mut Protected) {
        let count = data.count;
        thread::sleep(self.0);
        let data = black_box(data);
        data.count = count + 1;
        data.mirror += 1;
    }
}

struct Exclusive<L, B> {
    body: B,
    lock: PhantomData<fn() -> L>,
}

impl<L, B> Exclusive<L, B> {
    fn of(body: B) -> Self {
        Exclusive { body, lock: PhantomData }
    }
}

impl<L, B: Copy> Clone for Exclusive<L, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L, B: Copy> Copy for Exclusive<L, B> {}

impl<L: Lock<Protected>, B: Body> Workload for Exclusive<L, B> {
    type Shared = L;
    type Local = u64;

    fn shared(self) -> L {
        L::new(Protected::default())
    }

    fn local(self, _plan: &Plan, _thread: usize) -> u64 {
        1
    }

    fn prepare(self) {
        self.body.prepare();
    }

    #[inline(always)]
    fn operate<P: Probe>(self, lock: &L, _local: &mut u64, probe: &mut P) -> Kind {
        let asked = probe.mark();
        let acquired = lock.with(|data| {
            let acquired = probe.mark();
            self.body.inside(data);
            acquired
        });
        probe.record(Kind::Write, asked, acquired);
        Kind::Write
    }

    #[inline(always)]
    fn rest(self, local: &mut u64) {
        self.body.outside(local);
    }

    /// Mutual exclusion: no increment was lost. (A tight section leaves the mirror alone.)
    fn check(lock: L, _locals: &[u64], done: Counts) -> anyhow::Result<()> {
        let data = lock.into_inner();
        let total = done.write;
        ensure!(
            data.count == total && (data.mirror == total || data.mirror == 0),
            "the lock let two threads in at once: {total} critical sections, but the data behind it count {} and {}",
            data.count,
            data.mirror,
        );
        Ok(())
    }
}
