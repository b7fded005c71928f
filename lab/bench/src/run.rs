//! One sample: some threads, one lock, a fixed time.
//!
//! The threads count their operations in words of their own, which the sampling thread reads at the start and at the
//! end of the interval. So neither the start of the threads nor their last waits, which are long where a lock
//! collapses, count.

use crate::neighbour::{BusyProcess, nth_cpu};
use crate::probe::{Probe, Timed, Untimed};
use crate::situation::{Neighbour, Situation};
use anyhow::Context;
use hdrhistogram::Histogram;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use turnwise_present::cpus::stay_on;
use turnwise_present::quota::{Quota, Throttled};
use turnwise_present::spent::Spent;

/// What an operation did to the data. Locks that do not distinguish the two only write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It read, with others.
    Read,
    /// It changed something, alone.
    Write,
}

/// A figure for each [`Kind`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ByKind<T> {
    /// Of reads.
    pub read: T,
    /// Of writes.
    pub write: T,
}

/// Operations by kind.
pub type Counts = ByKind<u64>;

impl<T> ByKind<T> {
    /// Returns the one of `kind`.
    pub fn get(&self, kind: Kind) -> &T {
        match kind {
            Kind::Read => &self.read,
            Kind::Write => &self.write,
        }
    }

    /// Returns the one of `kind`, to change it.
    pub fn get_mut(&mut self, kind: Kind) -> &mut T {
        match kind {
            Kind::Read => &mut self.read,
            Kind::Write => &mut self.write,
        }
    }
}

impl Counts {
    /// Returns reads and writes together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.read + self.write
    }

    /// Returns what came after these.
    #[must_use]
    pub fn since(self, begin: Counts) -> Counts {
        Counts { read: self.read - begin.read, write: self.write - begin.write }
    }
}

/// What a thread does inside and outside the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// The least that touches the data inside, nothing outside.
    Tight,
    /// Work inside and outside.
    Work {
        /// The amount with the lock: steps of [`crate::work::work`]; on a simulated machine nanoseconds.
        inside: u32,
        /// The amount without it.
        outside: u32,
    },
    /// Sleeps with the lock, nothing outside.
    Sleep(Duration),
}

/// Which threads read and which write, where the lock distinguishes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Roles {
    /// All threads read in this many of a hundred operations, at random, and write in the others.
    Mixed {
        /// 0 to 100.
        read_percent: u8,
    },
    /// Some only write, the others only read.
    Apart {
        /// This many threads write.
        writers: usize,
        /// The amount of work that they rest for after each write, in addition to the work of all outside.
        rest: u32,
    },
}

impl Roles {
    /// All threads write: all that a mutex can do.
    pub const WRITE: Roles = Roles::Mixed { read_percent: 0 };

    /// Returns the fairness among threads with the same role; of two roles, the less fair.
    #[must_use]
    pub fn fairness(self, ops: &[Counts]) -> f64 {
        let totals: Vec<u64> = ops.iter().map(|ops| ops.total()).collect();
        match self {
            Roles::Apart { writers, .. } if writers > 0 => {
                fairness(&totals[..writers]).min(fairness(&totals[writers..]))
            }
            _ => fairness(&totals),
        }
    }
}

/// Returns how fairly a lock served its threads, least over most: 1 is fair, 0 means that some thread got nothing (or
/// all threads).
#[must_use]
pub fn fairness(ops: &[u64]) -> f64 {
    match (ops.iter().min(), ops.iter().max()) {
        (Some(&least), Some(&most)) if most > 0 => least as f64 / most as f64,
        _ => 0.0,
    }
}

/// How to take one sample.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that fight over the lock.
    pub threads: usize,
    /// What they do.
    pub section: Section,
    /// Which threads read and which write.
    pub roles: Roles,
    /// Further circumstances.
    pub situation: Situation,
    /// Thread `n` stays on the `n`th of the process's CPUs, wrapping around.
    pub pinned: bool,
    /// How long they run before the measured interval.
    pub warm_up: Duration,
    /// The measured interval.
    pub duration: Duration,
    /// Time every acquisition (which slows them down by two readings of a clock).
    pub timed: bool,
}

/// WaitTimes in nanoseconds.
pub type WaitTimes = ByKind<Histogram<u64>>;

/// What one sample showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The interval as it really was.
    pub elapsed: Duration,
    /// Operations of each thread in the interval.
    pub ops: Vec<Counts>,
    /// CPU time of each thread in the interval.
    pub cpu_of_threads: Vec<Duration>,
    /// CPU time of the whole process in the interval, user and system.
    pub cpu: Duration,
    /// Context switches of the process in the interval: a thread slept or yielded.
    pub voluntary: u64,
    /// Context switches of the process in the interval: a thread was preempted.
    pub involuntary: u64,
    /// Under a quota: the share of the kernel's periods in which it was used up.
    pub throttled: Option<f64>,
    /// How long the threads needed to end after the stop signal.
    pub drain: Duration,
    /// How long they waited, if the plan requested it.
    pub waits: Option<WaitTimes>,
}

impl Outcome {
    /// Operations of all threads.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ops.iter().map(|ops| ops.total()).sum()
    }

    /// Returns the operations of one kind, of all threads.
    #[must_use]
    pub fn count(&self, kind: Kind) -> u64 {
        self.ops.iter().map(|ops| ops.get(kind)).sum()
    }
}

/// What threads do to a lock, and what must hold when they are done. Every lock is inlined into its own copy.
pub trait Workload: Copy + Send + Sync + 'static {
    /// What they fight over: the lock and its data.
    type Shared: Sync + 'static;
    /// A thread's private state.
    type Local: Send + 'static;
    /// The error of a section that sleeps, where none may.
    const NO_SLEEP: Option<&'static str> = None;

    /// Creates a fresh lock.
    fn shared(self) -> Self::Shared;

    /// Returns the private state of the thread of this number.
    fn local(self, roles: Roles, thread: usize) -> Self::Local;

    /// Prepares the thread, before its first operation.
    fn prepare(self) {}

    /// Returns the operations between two checks of the stop signal; more than one where both cost the same.
    fn batch(self, _threads: usize) -> u32 {
        1
    }

    /// Does one operation, with the lock.
    fn operate<P: Probe>(self, shared: &Self::Shared, local: &mut Self::Local, probe: &mut P) -> Kind;

    /// Does what follows the operation, without the lock.
    fn rest(self, _local: &mut Self::Local) {}

    /// Called when the thread was asked to stop, and operates no more.
    fn leave<P: Probe>(self, _local: &mut Self::Local, _probe: &mut P) {}

    /// Returns whether a thread saw what no thread may see.
    fn torn(_local: &Self::Local) -> bool {
        false
    }

    /// Called when the threads have been asked to stop: those that wait for others' actions then stop waiting.
    fn stop(_shared: &Self::Shared) {}

    /// Checks that the lock kept its guarantee. `done` is what all threads did, in the interval or not; `torn`: one of
    /// them saw a torn state.
    ///
    /// # Errors
    /// When it did not.
    fn check(shared: &Self::Shared, done: Counts, torn: bool) -> anyhow::Result<()>;
}

/// Runs one sample of `plan` with a fresh lock.
///
/// # Errors
/// When a thread cannot be started, or when the lock broke its guarantee.
pub fn sample<W: Workload>(plan: &Plan, work: W) -> anyhow::Result<Outcome> {
    measure(plan, &Trial { work, lock: LockSlots::new(work.shared()) })
}

/// The part that is copied for each lock and section: kept small, since there are hundreds.
trait ThreadBody: Sync {
    /// Does what a thread does for the whole run.
    fn run_thread(&self, arena: &Arena<'_>, number: usize, probe: Option<Timed>) -> Share;
    /// Ends the waits of threads for each other.
    fn stop(&self);
    /// Checks that the lock kept its guarantee.
    fn check(&self, done: Counts, torn: bool) -> anyhow::Result<()>;
}

/// A workload and its lock.
struct Trial<W: Workload> {
    work: W,
    lock: LockSlots<W::Shared>,
}

impl<W: Workload> ThreadBody for Trial<W> {
    fn run_thread(&self, arena: &Arena<'_>, number: usize, probe: Option<Timed>) -> Share {
        match probe {
            Some(timed) => operate(self, arena, number, timed),
            None => operate(self, arena, number, Untimed),
        }
    }

    fn stop(&self) {
        W::stop(self.lock.lock());
    }

    fn check(&self, done: Counts, torn: bool) -> anyhow::Result<()> {
        W::check(self.lock.lock(), done, torn)
    }
}

/// On lines of its own, so that nothing else slows the lock down.
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// One lock, at another address than in the samples before: what an adaptive lock has learnt about an address, and the
/// next sample's threads may inherit with a recycled thread slot, does not carry over.
struct LockSlots<L>(Vec<Option<Apart<L>>>);

impl<L> LockSlots<L> {
    #[inline(never)]
    fn new(lock: L) -> Self {
        const PLACES: usize = 64;
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let mut places: Vec<_> = (0..PLACES).map(|_| None).collect();
        places[NEXT.fetch_add(1, Relaxed) % PLACES] = Some(Apart(lock));
        LockSlots(places)
    }

    fn lock(&self) -> &L {
        &self.0.iter().flatten().next().expect("a place is taken").0
    }
}

/// What a thread has done so far, for the sampling thread to read.
type Tally = Apart<ByKind<AtomicU64>>;

/// What the threads of a sample share in addition to the lock.
struct Arena<'a> {
    plan: &'a Plan,
    stop: Apart<AtomicBool>,
    tallies: Vec<Tally>,
    /// The clocks of the threads' CPU time; zero: not begun.
    clocks: Vec<AtomicI32>,
    /// Holds the threads back until all are there.
    gate: OnceLock<()>,
    quota: Option<Quota>,
}

/// What one thread returns.
struct Share {
    /// All its operations, in the interval or not.
    done: Counts,
    /// It saw a state that no thread may see.
    torn: bool,
    waits: Option<Box<WaitTimes>>,
}

fn measure(plan: &Plan, body: &dyn ThreadBody) -> anyhow::Result<Outcome> {
    let arena = Arena {
        plan,
        stop: Apart(AtomicBool::new(false)),
        tallies: (0..plan.threads).map(|_| Apart(ByKind::default())).collect(),
        clocks: (0..plan.threads).map(|_| AtomicI32::new(0)).collect(),
        gate: OnceLock::new(),
        quota: plan.situation.quota.map(Quota::enter).transpose()?,
    };
    let _busy = match plan.situation.neighbour {
        Neighbour::Nobody => None,
        Neighbour::Free => Some(BusyProcess::start(None)?),
        Neighbour::OnLastThread => Some(BusyProcess::start(nth_cpu(plan.threads - 1))?),
    };
    let (mut outcome, shares) = thread::scope(|scope| {
        let start = |number| {
            let (arena, probe) = (&arena, plan.timed.then(Timed::default));
            thread::Builder::new().spawn_scoped(scope, move || {
                if plan.pinned {
                    // Where that is not allowed, it roams.
                    let _ = nth_cpu(number).map(stay_on);
                }
                arena.clocks[number].store(own_clock(), Relaxed);
                body.run_thread(arena, number, probe)
            })
        };
        let threads: Result<Vec<_>, _> = (0..plan.threads).map(start).collect();
        if threads.is_err() {
            arena.stop.0.store(true, Relaxed);
            body.stop();
        }
        arena.gate.get_or_init(|| ());
        let threads = threads.with_context(|| format!("cannot start {} threads", plan.threads))?;
        let (stopped, mut outcome) = observe(&arena);
        body.stop();
        let shares: Vec<_> = threads.into_iter().map(|t| t.join().expect("a workload does not panic")).collect();
        outcome.drain = stopped.elapsed();
        anyhow::Ok((outcome, shares))
    })?;
    outcome.waits = check(body, shares)?;
    Ok(outcome)
}

/// Returns all waits, if the lock kept its guarantee.
fn check(body: &dyn ThreadBody, shares: Vec<Share>) -> anyhow::Result<Option<WaitTimes>> {
    let mut done = Counts::default();
    let mut torn = false;
    let mut all: Option<Box<WaitTimes>> = None;
    for share in shares {
        done.read += share.done.read;
        done.write += share.done.write;
        torn |= share.torn;
        match (&mut all, share.waits) {
            (Some(all), Some(waits)) => all.add(&waits),
            (all, waits) => *all = waits,
        }
    }
    body.check(done, torn)?;
    Ok(all.map(|all| *all))
}

impl WaitTimes {
    /// Adds the waits of another.
    pub fn add(&mut self, more: &WaitTimes) {
        self.read += &more.read;
        self.write += &more.write;
    }
}

/// Runs a thread's operations with one probe. Its own function, so that nothing else shares its registers.
#[inline(never)]
fn operate<W: Workload, P: Probe>(bout: &Trial<W>, arena: &Arena<'_>, number: usize, mut probe: P) -> Share {
    let (work, tally) = (bout.work, &arena.tallies[number]);
    let mut local = work.local(arena.plan.roles, number);
    work.prepare();
    arena.gate.wait();
    let lock = bout.lock.lock();
    let more = work.batch(arena.plan.threads) - 1;
    let mut done = Counts::default();
    while !arena.stop.0.load(Relaxed) {
        for _ in 0..more {
            *done.get_mut(work.operate(lock, &mut local, &mut probe)) += 1;
            work.rest(&mut local);
        }
        *done.get_mut(work.operate(lock, &mut local, &mut probe)) += 1;
        tally.0.read.store(done.read, Relaxed);
        tally.0.write.store(done.write, Relaxed);
        work.rest(&mut local);
    }
    work.leave(&mut local, &mut probe);
    Share { done, torn: W::torn(&local), waits: probe.into_waits() }
}

/// Does what the sampling thread does. Returns when the threads were asked to stop, too.
fn observe(arena: &Arena<'_>) -> (Instant, Outcome) {
    thread::sleep(arena.plan.warm_up);
    let begin = Snapshot::take(arena);
    thread::sleep(arena.plan.duration);
    let end = Snapshot::take(arena);
    arena.stop.0.store(true, Relaxed);
    (Instant::now(), end.since(&begin))
}

/// Returns the clock of the calling thread's CPU time; zero if there is none.
fn own_clock() -> libc::clockid_t {
    let mut clock = 0;
    // SAFETY: the thread is the calling one; `clock` is writable.
    unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    clock
}

/// Returns the reading of such a clock, while its thread exists.
fn cpu_time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    let known = clock != 0 && unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    if known { Duration::new(time.tv_sec as u64, time.tv_nsec as u32) } else { Duration::ZERO }
}

struct Snapshot {
    at: Instant,
    ops: Vec<Counts>,
    cpu_of_threads: Vec<Duration>,
    cpu: Duration,
    voluntary: u64,
    involuntary: u64,
    throttled: Option<Throttled>,
}

impl Snapshot {
    fn take(arena: &Arena<'_>) -> Snapshot {
        let Spent { cpu, voluntary, involuntary, .. } = Spent::here();
        let ops = |t: &Tally| Counts { read: t.0.read.load(Relaxed), write: t.0.write.load(Relaxed) };
        Snapshot {
            at: Instant::now(),
            ops: arena.tallies.iter().map(ops).collect(),
            cpu_of_threads: arena.clocks.iter().map(|clock| cpu_time(clock.load(Relaxed))).collect(),
            cpu,
            voluntary,
            involuntary,
            throttled: arena.quota.as_ref().and_then(|quota| quota.throttled().ok()),
        }
    }

    fn since(self, begin: &Snapshot) -> Outcome {
        let threads = self.cpu_of_threads.iter().zip(&begin.cpu_of_threads);
        let cpu_of_threads = threads.map(|(end, begin)| end.saturating_sub(*begin));
        Outcome {
            elapsed: self.at - begin.at,
            ops: self.ops.iter().zip(&begin.ops).map(|(end, begin)| end.since(*begin)).collect(),
            cpu_of_threads: cpu_of_threads.collect(),
            cpu: self.cpu.saturating_sub(begin.cpu),
            voluntary: self.voluntary - begin.voluntary,
            involuntary: self.involuntary - begin.involuntary,
            throttled: self.throttled.zip(begin.throttled).and_then(|(end, begin)| end.share_since(begin)),
            drain: Duration::ZERO,
            waits: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_least_over_most() {
        assert_eq!(fairness(&[50, 100]), 0.5);
        assert_eq!(fairness(&[0, 100]), 0.0);
        assert_eq!(fairness(&[7]), 1.0);
        assert_eq!(fairness(&[0, 0]), 0.0);
    }
}
