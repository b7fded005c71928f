//! A recorded program on a simulated machine, its acquisitions in their order: each recorded thread is a simulated one,
//! which repeats what the thread did in its stretches, from one to the next and again from the first.
//!
//! Times are those of the recorded machine: a section takes the same time everywhere. Threads are the recorded ones,
//! whatever the number of CPUs.

use crate::futex::{FutexMutex, FutexRwLock};
use crate::slices::{Part, Slice, cut};
use crate::trace::{Act, Kind, Look, Trace};
use crate::{Counted, Counts, WARM_UP};
use anyhow::{Context, Result, bail, ensure};
use std::sync::Arc;
use turnwise::backoff::NoBackoff;
use turnwise::{RawLock, RawMcsLock, RawMutex, RawRwLock, RawRwSem, RawSeqRwLock, RawSpinLock};
use turnwise_catalogue::{Of, RefCount, Visit, visit};
use turnwise_sim::Sim;
use turnwise_sim::experiment::{Experiment, Ran, ThreadGroup};
use turnwise_sim::spec::Machine;

/// The most locks that are replayed: the most frequently taken. At others threads only compute.
pub const MOST_TRACED: usize = 512;
/// The name of the C library's locks.
pub const LIBC: &str = "libc";
/// The name of this library's.
pub const ADAPTIVE: &str = "adaptive";

/// What a replay predicts.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// How long the program's slices took, ns.
    pub recorded_ns: f64,
    /// How long they take.
    pub ns: f64,
    /// Acquisitions in them.
    pub acquisitions: f64,
    /// Share of the threads' time that they wait for each lock of the trace.
    pub waiting: Vec<f64>,
}

impl Prediction {
    /// Acquisitions per second.
    #[must_use]
    pub fn per_s(&self) -> f64 {
        self.acquisitions / self.ns * 1e9
    }

    /// Returns what was recorded.
    #[must_use]
    pub fn recorded_per_s(&self) -> f64 {
        self.acquisitions / self.recorded_ns * 1e9
    }

    /// Returns the deviation of the prediction from the recorded rate, as a share of that.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.per_s() / self.recorded_per_s() - 1.0
    }
}

/// A recorded program that is ready to be replayed.
pub struct Replay {
    trace: Arc<Trace>,
    slices: Vec<Slice>,
    /// Of each lock of the trace, its place among those that are replayed.
    places: Vec<Option<u16>>,
}

impl Replay {
    /// Prepares a trace.
    ///
    /// # Errors
    /// Its threads did nothing that can be replayed.
    pub fn new(trace: Trace) -> Result<Replay> {
        let slices = cut(&trace);
        ensure!(
            slices.iter().any(|slice| !slice.threads.is_empty()),
            "the recorded threads took too few locks to be replayed"
        );
        let places = busiest(&trace);
        Ok(Replay { trace: Arc::new(trace), slices, places })
    }

    /// Returns the recorded program.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Locks at which threads only compute.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.places.iter().filter(|place| place.is_none()).count()
    }

    /// Returns the slices that are replayed.
    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(|slice| !slice.threads.is_empty() && slice.acquisitions >= 1.0)
    }

    /// Returns how long the recorded threads took, ns.
    #[must_use]
    pub fn recorded_ns(&self) -> f64 {
        self.slices().map(Slice::ns).sum()
    }

    /// Acquisitions in that time.
    #[must_use]
    pub fn acquisitions(&self) -> f64 {
        self.slices().map(|slice| slice.acquisitions).sum()
    }

    /// Returns the most threads that took locks at once.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.slices.iter().map(|slice| slice.threads.len()).max().unwrap_or(0)
    }

    /// Replays it on the first `cpus` CPUs of a machine, with the locks of this name: [`LIBC`], [`ADAPTIVE`], or one of
    /// the catalogue.
    ///
    /// # Errors
    /// There is no such lock, or it is of another kind; the machine is too small; the threads make no progress.
    pub fn on(&self, machine: &Arc<Machine>, cpus: u32, lock: &str, seed: u64) -> Result<Prediction> {
        self.run(machine, cpus, lock, (seed, Look::default()))
    }

    /// Replays it as it was recorded: with the recorder's work where a thread waits. It tries the lock, collects data
    /// if that fails, and only then waits; and it takes notes before the program continues with the lock.
    ///
    /// # Errors
    /// As [`Replay::on`].
    pub fn as_recorded(&self, machine: &Arc<Machine>, cpus: u32, lock: &str, seed: u64) -> Result<Prediction> {
        self.run(machine, cpus, lock, (seed, self.trace.look))
    }

    fn run(&self, machine: &Arc<Machine>, cpus: u32, lock: &str, (seed, look): (u64, Look)) -> Result<Prediction> {
        let has = machine.topology.cpus();
        ensure!(cpus >= 1 && cpus <= has, "machine {} has {has} CPUs, not {cpus}", machine.name);
        let run = Run { replay: self, machine, cpus, seed, look };
        match lock {
            LIBC => run.with::<FutexMutex<Sim>, FutexRwLock<Sim>>(),
            ADAPTIVE => run.with::<RawMutex<Sim>, RawRwSem<Sim>>(),
            _ if turnwise_catalogue::LOCKS.iter().any(|entry| entry.name == lock) => visit(lock, run),
            _ => {
                bail!("there is no lock {lock} to replay with; `turnwise-lab sim --list` names them")
            }
        }
    }
}

/// Places for the locks that are taken most.
fn busiest(trace: &Trace) -> Vec<Option<u16>> {
    let mut taken = vec![0_u64; trace.locks.len()];
    let acts = trace.threads.iter().flat_map(|thread| &thread.stretches).flat_map(|stretch| &stretch.acts);
    for act in acts {
        if let Act::Acquire { lock, .. } = act {
            taken[*lock as usize] += 1;
        }
    }
    let mut order: Vec<usize> = (0..taken.len()).collect();
    order.sort_by_key(|lock| std::cmp::Reverse(taken[*lock]));
    let mut places = vec![None; taken.len()];
    for (place, lock) in order.into_iter().take(MOST_TRACED).enumerate() {
        places[lock] = u16::try_from(place).ok();
    }
    places
}

/// A replay under way.
#[derive(Clone, Copy)]
struct Run<'a> {
    replay: &'a Replay,
    machine: &'a Arc<Machine>,
    cpus: u32,
    seed: u64,
    look: Look,
}

impl Visit<Sim> for Run<'_> {
    type Out = Result<Prediction>;

    fn exclusive<R: RawLock<Platform = Sim>>(self, _: Of<R>) -> Self::Out {
        self.with::<R, FutexRwLock<Sim>>()
    }
    fn shared<R: RawRwLock<Platform = Sim>>(self, _: Of<R>) -> Self::Out {
        self.with::<FutexMutex<Sim>, R>()
    }
    fn mcs(self, _: Of<RawMcsLock<Sim>>) -> Self::Out {
        bail!("the mcs lock's callers bring its nodes, which a recorded program does not; take queued")
    }
    fn sequence(self, _: Of<RawSeqRwLock<Sim>>) -> Self::Out {
        bail!("a recorded program's readers do not read again, as seqrwlock needs it; take rwsem")
    }
    fn counted<C: RefCount>(self, _: Of<C>) -> Self::Out {
        bail!("a count of references is no lock that a recorded program could take")
    }
}

/// Acquisitions that a slice's prediction rests on, about.
const EFFORT: f64 = 30_000.0;
/// However fast the threads are, and however slow: dozens of a scheduler's slices.
const WINDOW_NS: std::ops::RangeInclusive<f64> = 60e6..=300e6;

/// Runs the threads of a slice in a scene.
type Play<'a> = dyn Fn(&Experiment, Crew) -> Result<Ran<Counted>> + 'a;

impl Run<'_> {
    /// Runs it with these locks. Only the locks themselves are compiled for each type.
    fn with<M: RawLock, S: RawRwLock>(self) -> Result<Prediction> {
        self.all(&|scene, crew| {
            scene.run("the recorded program", Cast::<M, S>::new(crew), |cast: &Cast<M, S>| cast.crew.counts.counted())
        })
    }

    fn all(self, play: &Play<'_>) -> Result<Prediction> {
        let trace = &self.replay.trace;
        let mut sum =
            Prediction { recorded_ns: 0.0, ns: 0.0, acquisitions: 0.0, waiting: vec![0.0; trace.locks.len()] };
        let mut thread_ns = 0.0;
        for slice in self.replay.slices() {
            let (per_s, waiting) = self.slice(slice, play)?;
            let ns = slice.acquisitions / per_s * 1e9;
            sum.recorded_ns += slice.ns();
            sum.ns += ns;
            sum.acquisitions += slice.acquisitions;
            let lived = ns * slice.mean_threads();
            thread_ns += lived;
            sum.waiting.iter_mut().zip(waiting).for_each(|(sum, share)| *sum += share * lived);
        }
        sum.waiting.iter_mut().for_each(|sum| *sum /= thread_ns);
        Ok(sum)
    }

    /// Returns the rate in a slice, and the share of time waited for each lock.
    fn slice(self, slice: &Slice, play: &Play<'_>) -> Result<(f64, Vec<f64>)> {
        let threads = slice.threads.len();
        let each_ns = slice.ns() / slice.acquisitions;
        let window = (EFFORT * each_ns).clamp(*WINDOW_NS.start(), *WINDOW_NS.end());
        let (begin, end) = ((window * WARM_UP) as u64, (window * (1.0 + WARM_UP)) as u64);
        let crew = Crew::new(self.replay, slice, self.look, (begin, end));
        let scene = Experiment { window: Some((begin, end)), ..Experiment::of(self.machine, self.cpus, self.seed) };
        let scene = Experiment { pinned: threads <= self.cpus as usize, ..scene };
        let ran = play(&scene, crew)?;
        let before = ran.begin.context("the window has no beginning")?;
        let ns = ran.seen.ns as f64;
        let made = ran.end.acquisitions - before.acquisitions;
        if made == 0 {
            // All of them sleep for longer than that: the slice takes as long as it took.
            return Ok((slice.acquisitions / slice.ns() * 1e9, vec![0.0; self.replay.places.len()]));
        }
        let share = |place: &Option<u16>| {
            let place = place.map(usize::from)?;
            let waited = ran.end.waited(place, end).saturating_sub(before.waited(place, begin));
            Some(waited as f64 / (ns * slice.mean_threads()))
        };
        let waiting = self.replay.places.iter().map(|place| share(place).unwrap_or(0.0)).collect();
        Ok((made as f64 / ns * 1e9, waiting))
    }
}

/// Any lock of the program, on cache lines of its own.
#[repr(align(128))]
struct Slot<M, S> {
    mutex: M,
    rwlock: S,
    spin: RawSpinLock<NoBackoff, Sim>,
}

impl<M: RawLock, S: RawRwLock> Slot<M, S> {
    fn new() -> Self {
        Slot { mutex: M::new_in(), rwlock: S::new_in(), spin: RawSpinLock::new_in() }
    }
}

/// The locks of the program, each at its place.
trait Locks {
    fn lock(&self, place: usize, how: (Kind, bool));
    fn try_lock(&self, place: usize, how: (Kind, bool)) -> bool;
    /// # Safety
    /// The calling thread has it, in this way.
    unsafe fn unlock(&self, place: usize, how: (Kind, bool));
}

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

impl<M: RawLock, S: RawRwLock> Locks for [Slot<M, S>; MOST_TRACED] {
    fn lock(&self, place: usize, how: (Kind, bool)) {
        call!(self[place], how, lock, read)
    }

    fn try_lock(&self, place: usize, how: (Kind, bool)) -> bool {
        call!(self[place], how, try_lock, try_read)
    }

    unsafe fn unlock(&self, place: usize, how: (Kind, bool)) {
        // SAFETY: guaranteed by the caller.
        unsafe { call!(self[place], how, unlock, unlock_read) }
    }
}

/// The threads of a slice, and the locks of the program.
struct Cast<M, S> {
    locks: [Slot<M, S>; MOST_TRACED],
    crew: Crew,
}

impl<M: RawLock, S: RawRwLock> Cast<M, S> {
    fn new(crew: Crew) -> Self {
        Cast { locks: std::array::from_fn(|_| Slot::new()), crew }
    }
}

impl<M: RawLock, S: RawRwLock> ThreadGroup for Cast<M, S> {
    fn threads(&self) -> usize {
        self.crew.threads.len()
    }

    fn act(&self, thread: usize) {
        self.crew.act(&self.locks, thread);
    }
}

/// The threads of a slice.
struct Crew {
    trace: Arc<Trace>,
    places: Vec<Option<u16>>,
    threads: Vec<Part>,
    look: Look,
    /// The window: the slice's beginning and its end.
    window: (u64, u64),
    counts: Counts,
}

impl Crew {
    fn new(replay: &Replay, slice: &Slice, look: Look, window: (u64, u64)) -> Self {
        Crew {
            trace: Arc::clone(&replay.trace),
            places: replay.places.clone(),
            threads: slice.threads.clone(),
            look,
            window,
            counts: Counts::of(slice.threads.len(), MOST_TRACED),
        }
    }

    fn acquire(&self, locks: &dyn Locks, thread: usize, (place, how): (usize, (Kind, bool))) {
        let look = self.look;
        self.counts.wait(thread, place, || {
            if look.before_ns == 0.0 {
                locks.lock(place, how);
            } else if !locks.try_lock(place, how) {
                Sim::compute(look.before_ns as u64);
                locks.lock(place, how);
                Sim::compute(look.after_ns as u64);
            }
        });
    }

    /// Returns when a thread begins and ends: one that lives from the slice's beginning exists before the window.
    fn lives(&self, part: &Part) -> (u64, u64) {
        let (begin, end) = self.window;
        let at = |share: f64| begin + ((end - begin) as f64 * share) as u64;
        (if part.lives.0 == 0.0 { 0 } else { at(part.lives.0) }, at(part.lives.1))
    }

    /// Does what the thread did in a stretch; what is held when its time is over is given back.
    fn repeat(&self, locks: &dyn Locks, thread: usize, acts: &[Act], until_ns: u64) {
        let mut held: Vec<(u32, usize, (Kind, bool))> = Vec::new();
        for act in acts {
            if held.is_empty() && Sim::time_ns() >= until_ns {
                return;
            }
            match *act {
                Act::Run(ns) => Sim::compute(ns.round() as u64),
                Act::Sleep(ns) => Sim::sleep(ns.round() as u64),
                Act::Again => self.counts.acquired(),
                Act::Acquire { lock, reader } => {
                    if let Some(place) = self.places[lock as usize] {
                        let how = (self.trace.locks[lock as usize].kind, reader);
                        self.acquire(locks, thread, (place.into(), how));
                        held.push((lock, place.into(), how));
                    }
                    self.counts.acquired();
                    Sim::progress();
                }
                Act::Release { lock } => {
                    if let Some(at) = held.iter().rposition(|(has, ..)| *has == lock) {
                        let (_, place, how) = held.remove(at);
                        // SAFETY: acquired above in this way, and taken from the list.
                        unsafe { locks.unlock(place, how) };
                    }
                }
            }
        }
    }

    /// Does what the thread did.
    fn act(&self, locks: &dyn Locks, thread: usize) {
        let part = &self.threads[thread];
        let (begin, until_ns) = self.lives(part);
        if begin > 0 {
            Sim::sleep(begin);
        }
        let stretches = &part.stretches;
        // Threads of one kind began at the same time, and would continue in step.
        let first = Sim::chance(stretches.len() as u64) as usize;
        for turn in 0.. {
            if Sim::time_ns() >= until_ns {
                return;
            }
            let stretch = stretches[(first + turn) % stretches.len()];
            self.repeat(locks, thread, &self.trace.threads[part.thread].stretches[stretch].acts, until_ns);
        }
    }
}
