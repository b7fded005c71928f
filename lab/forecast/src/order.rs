//! A recorded program on a simulated machine, its acquisitions in their order: each recorded thread is a simulated one,
//! which repeats what the thread did in its stretches, from one to the next and again from the first.
//!
//! Times are those of the recorded machine: a section takes the same time everywhere. Threads are the recorded ones,
//! whatever the number of CPUs.

use crate::futex::{FutexMutex, FutexRwLock};
use crate::replayed::{Counts, How, Slot, watch, window};
use crate::slices::{Part, Slice, cut};
use crate::trace::{Act, Look, Trace};
use anyhow::{Result, bail, ensure};
use std::sync::Arc;
use turnwise::{RawLock, RawMcsLock, RawMutex, RawRwLock, RawRwSem, RawSeqRwLock};
use turnwise_catalogue::{Of, RefCount, Visit, visit};
use turnwise_sim::Sim;
use turnwise_sim::experiment::ThreadGroup;
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

impl Run<'_> {
    /// Runs it with these locks.
    fn with<M: RawLock, S: RawRwLock>(self) -> Result<Prediction> {
        let trace = &self.replay.trace;
        let mut sum =
            Prediction { recorded_ns: 0.0, ns: 0.0, acquisitions: 0.0, waiting: vec![0.0; trace.locks.len()] };
        let mut thread_ns = 0.0;
        for slice in self.replay.slices() {
            let (per_s, waiting) = self.slice::<M, S>(slice)?;
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
    fn slice<M: RawLock, S: RawRwLock>(self, slice: &Slice) -> Result<(f64, Vec<f64>)> {
        let window = window(EFFORT * (slice.ns() / slice.acquisitions), WINDOW_NS);
        let crew = Crew::<M, S>::new(self.replay, slice, self.look, window);
        let watched = watch(self.machine, (self.cpus, self.seed), window, crew, |crew| &crew.counts)?;
        if watched.acquisitions == 0 {
            // All of them sleep for longer than that: the slice takes as long as it took.
            return Ok((slice.acquisitions / slice.ns() * 1e9, vec![0.0; self.replay.places.len()]));
        }
        let share = |place: &Option<u16>| {
            place.map_or(0.0, |place| watched.waited_ns[usize::from(place)] / (watched.ns * slice.mean_threads()))
        };
        let waiting = self.replay.places.iter().map(share).collect();
        Ok((watched.acquisitions as f64 / watched.ns * 1e9, waiting))
    }
}

/// The threads of a slice, and the locks of the program, each at its place.
struct Crew<M, S> {
    locks: [Slot<M, S>; MOST_TRACED],
    trace: Arc<Trace>,
    places: Vec<Option<u16>>,
    parts: Vec<Part>,
    look: Look,
    /// The slice's beginning and its end.
    window: (u64, u64),
    counts: Counts,
}

impl<M: RawLock, S: RawRwLock> Crew<M, S> {
    fn new(replay: &Replay, slice: &Slice, look: Look, window: (u64, u64)) -> Self {
        Crew {
            locks: std::array::from_fn(|_| Slot::new()),
            trace: Arc::clone(&replay.trace),
            places: replay.places.clone(),
            parts: slice.threads.clone(),
            look,
            window,
            counts: Counts::of(slice.threads.len(), MOST_TRACED),
        }
    }

    fn acquire(&self, thread: usize, place: usize, how: How) {
        let (look, slot) = (self.look, &self.locks[place]);
        self.counts.wait(thread, place, || {
            if look.before_ns == 0.0 {
                slot.lock(how);
            } else if !slot.try_lock(how) {
                Sim::compute(look.before_ns as u64);
                slot.lock(how);
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
    fn repeat(&self, thread: usize, acts: &[Act], until_ns: u64) {
        let mut held: Vec<(u32, usize, How)> = Vec::new();
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
                        self.acquire(thread, place.into(), how);
                        held.push((lock, place.into(), how));
                    }
                    self.counts.acquired();
                    Sim::progress();
                }
                Act::Release { lock } => {
                    if let Some(at) = held.iter().rposition(|(has, ..)| *has == lock) {
                        let (_, place, how) = held.remove(at);
                        // SAFETY: acquired above in this way, and taken from the list.
                        unsafe { self.locks[place].unlock(how) };
                    }
                }
            }
        }
    }
}

impl<M: RawLock, S: RawRwLock> ThreadGroup for Crew<M, S> {
    fn threads(&self) -> usize {
        self.parts.len()
    }

    /// Does what the thread did.
    fn act(&self, thread: usize) {
        let part = &self.parts[thread];
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
            self.repeat(thread, &self.trace.threads[part.thread].stretches[stretch].acts, until_ns);
        }
    }
}
