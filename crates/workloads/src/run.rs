//! One sample: some threads, one lock, a fixed time.
//!
//! The threads count their operations in words of their own, which the sampling thread reads at the start and at the
//! end of the interval. So neither the start of the threads nor their last waits, which last long where a lock
//! collapses, count.

use crate::locks::Lock;
use crate::work::work;
use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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

/// What a thread does inside and outside the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// One increment inside, nothing outside.
    Tight,
    /// Steps of [`work`] inside and outside.
    Work {
        /// Steps with the lock.
        inside: u32,
        /// Steps without it.
        outside: u32,
    },
    /// Sleeps with the lock, nothing outside.
    Sleep(Duration),
}

/// How to take one sample.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that fight over the lock.
    pub threads: usize,
    /// What they do.
    pub section: Section,
    /// How long they run before the measured interval.
    pub warm_up: Duration,
    /// The measured interval.
    pub duration: Duration,
    /// Time every acquisition (which slows them down by two readings of a clock).
    pub timed: bool,
}

/// What one sample showed.
#[derive(Debug)]
pub struct Outcome {
    /// The interval as it really was.
    pub elapsed: Duration,
    /// Operations of each thread in the interval.
    pub ops: Vec<u64>,
    /// CPU time of the whole process in the interval, user and system.
    pub cpu: Duration,
    /// Context switches of the process in the interval: a thread slept or yielded.
    pub voluntary: u64,
    /// Context switches of the process in the interval: a thread was preempted.
    pub involuntary: u64,
    /// How long the threads needed to end after they were told to.
    pub drain: Duration,
    /// Waits in nanoseconds, if the plan asked for them.
    pub waits: Option<Histogram<u64>>,
}

impl Outcome {
    /// Operations of all threads.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ops.iter().sum()
    }
}

/// Runs one sample of `plan` with a fresh lock.
///
/// # Errors
/// When a thread cannot be started, or when the lock let two threads in at the same time.
pub fn sample<L: Lock<Protected>>(plan: &Plan) -> anyhow::Result<Outcome> {
    match (plan.section, plan.timed) {
        (Section::Tight, false) => measure::<L, _, Untimed>(plan, Tight),
        (Section::Tight, true) => measure::<L, _, Timed>(plan, Tight),
        (Section::Work { inside, outside }, false) => measure::<L, _, Untimed>(plan, Work { inside, outside }),
        (Section::Work { inside, outside }, true) => measure::<L, _, Timed>(plan, Work { inside, outside }),
        (Section::Sleep(time), false) => measure::<L, _, Untimed>(plan, Sleep(time)),
        (Section::Sleep(time), true) => measure::<L, _, Timed>(plan, Sleep(time)),
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

/// What is recorded of an acquisition.
trait Probe: Send {
    fn new() -> Self;
    fn mark(&self) -> u64;
    fn record(&mut self, asked: u64, acquired: u64);
    fn into_waits(self) -> Option<Histogram<u64>>;
}

struct Untimed;
impl Probe for Untimed {
    fn new() -> Self {
        Untimed
    }
    #[inline(always)]
    fn mark(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn record(&mut self, _asked: u64, _acquired: u64) {}
    fn into_waits(self) -> Option<Histogram<u64>> {
        None
    }
}

struct Timed {
    clock: quanta::Clock,
    waits: Histogram<u64>,
}

/// The CPU's own counter where it is steady, else the system's clock; calibrated once.
static CLOCK: LazyLock<quanta::Clock> = LazyLock::new(quanta::Clock::new);

/// Waits from 1 ns to 100 s, to two digits.
fn waits() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("the bounds are constants that it accepts")
}

impl Probe for Timed {
    fn new() -> Self {
        Timed { clock: CLOCK.clone(), waits: waits() }
    }
    #[inline(always)]
    fn mark(&self) -> u64 {
        self.clock.raw()
    }
    #[inline(always)]
    fn record(&mut self, asked: u64, acquired: u64) {
        self.waits.saturating_record(self.clock.delta_as_nanos(asked, acquired));
    }
    fn into_waits(self) -> Option<Histogram<u64>> {
        Some(self.waits)
    }
}

/// On lines of its own, so that nothing else slows the lock down.
#[repr(align(128))]
struct Apart<T>(T);

/// One lock, at another address than in the samples before: what an adaptive lock has learnt about an address, and the
/// next sample's threads may inherit with a recycled thread slot, does not carry over.
struct Shelf<L>(Vec<Option<Apart<L>>>);

impl<L> Shelf<L> {
    fn new(lock: L) -> Self {
        const PLACES: usize = 64;
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let mut places: Vec<_> = (0..PLACES).map(|_| None).collect();
        places[NEXT.fetch_add(1, Relaxed) % PLACES] = Some(Apart(lock));
        Shelf(places)
    }

    fn lock(&self) -> &L {
        &self.0.iter().flatten().next().expect("a place is taken").0
    }

    fn take(self) -> L {
        self.0.into_iter().flatten().next().expect("a place is taken").0
    }
}

/// What the threads of a sample share.
struct Arena<L> {
    lock: Shelf<L>,
    stop: Apart<AtomicBool>,
    ops: Vec<Apart<AtomicU64>>,
    gate: Gate,
}

/// Holds the threads back until all are there.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(open, |open| !*open).unwrap_or_else(PoisonError::into_inner));
    }

    fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }
}

/// What one thread brings home: all its operations, in the interval or not, and its waits.
type Share = (u64, Option<Histogram<u64>>);

fn measure<L: Lock<Protected>, B: Body, P: Probe>(plan: &Plan, body: B) -> anyhow::Result<Outcome> {
    let arena = Arena {
        lock: Shelf::new(L::new(Protected::default())),
        stop: Apart(AtomicBool::new(false)),
        ops: (0..plan.threads).map(|_| Apart(AtomicU64::new(0))).collect(),
        gate: Gate::default(),
    };
    let (mut outcome, shares) = thread::scope(|scope| {
        let start = |ops| {
            let probe = P::new();
            let arena = &arena;
            thread::Builder::new().spawn_scoped(scope, move || operate(arena, ops, body, probe))
        };
        let threads: Result<Vec<_>, _> = arena.ops.iter().map(start).collect();
        if threads.is_err() {
            arena.stop.0.store(true, Relaxed);
        }
        arena.gate.open();
        let threads = threads.with_context(|| format!("cannot start {} threads", plan.threads))?;
        let (stopped, mut outcome) = observe(&arena, plan);
        let shares: Vec<Share> = threads.into_iter().map(|t| t.join().expect("a workload does not panic")).collect();
        outcome.drain = stopped.elapsed();
        anyhow::Ok((outcome, shares))
    })?;
    check(&arena.lock.take().into_inner(), &shares)?;
    outcome.waits = shares.into_iter().filter_map(|share| share.1).reduce(|mut all, one| {
        all += one;
        all
    });
    Ok(outcome)
}

/// What a thread does.
fn operate<L: Lock<Protected>, B: Body, P: Probe>(
    arena: &Arena<L>,
    ops: &Apart<AtomicU64>,
    body: B,
    mut probe: P,
) -> Share {
    let lock = arena.lock.lock();
    let mut local = 1;
    let mut total = 0_u64;
    body.prepare();
    arena.gate.pass();
    while !arena.stop.0.load(Relaxed) {
        let asked = probe.mark();
        let acquired = lock.with(|data| {
            let acquired = probe.mark();
            body.inside(data);
            acquired
        });
        total += 1;
        ops.0.store(total, Relaxed);
        probe.record(asked, acquired);
        body.outside(&mut local);
    }
    (total, probe.into_waits())
}

/// What the sampling thread does. Returns when the threads were told to stop, too.
fn observe<L>(arena: &Arena<L>, plan: &Plan) -> (Instant, Outcome) {
    thread::sleep(plan.warm_up);
    let begin = Snapshot::take(&arena.ops);
    thread::sleep(plan.duration);
    let end = Snapshot::take(&arena.ops);
    arena.stop.0.store(true, Relaxed);
    (Instant::now(), end.since(&begin))
}

struct Snapshot {
    at: Instant,
    ops: Vec<u64>,
    cpu: Duration,
    voluntary: u64,
    involuntary: u64,
}

impl Snapshot {
    fn take(ops: &[Apart<AtomicU64>]) -> Snapshot {
        // SAFETY: all bytes zero is a valid rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is writable.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        Snapshot {
            at: Instant::now(),
            ops: ops.iter().map(|n| n.0.load(Relaxed)).collect(),
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        }
    }

    fn since(self, begin: &Snapshot) -> Outcome {
        Outcome {
            elapsed: self.at - begin.at,
            ops: self.ops.iter().zip(&begin.ops).map(|(end, begin)| end - begin).collect(),
            cpu: self.cpu.saturating_sub(begin.cpu),
            voluntary: self.voluntary - begin.voluntary,
            involuntary: self.involuntary - begin.involuntary,
            drain: Duration::ZERO,
            waits: None,
        }
    }
}

/// Mutual exclusion: no increment was lost. (A tight section leaves the mirror alone.)
fn check(data: &Protected, shares: &[Share]) -> anyhow::Result<()> {
    let total: u64 = shares.iter().map(|share| share.0).sum();
    ensure!(
        data.count == total && (data.mirror == total || data.mirror == 0),
        "the lock let two threads in at once: {total} critical sections, but the data behind it count {} and {}",
        data.count,
        data.mirror,
    );
    Ok(())
}
