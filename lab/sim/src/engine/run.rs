//! A simulation from start to end.

use super::charge::ProfileEntry;
use super::cpu::{Activity, Cpu};
use super::fibers::{Body, Fiber, Owner, Stop, fiber};
use super::heap::Heap;
use super::lines::Lines;
use super::memory::{LineTable, Placed, Region};
use super::objects::Memory;
use super::perturb::{self, Perturb};
use super::place::IdleCpus;
use super::queue::{Queue, What};
use super::stuck::Stuck;
use super::thread::{At, Thread};
use super::trace::{Happened, TraceEvent};
use super::{ENGINE, Engine, Handoffs};
use crate::platform::SimWord;
use crate::spec::{Machine, NS, Ps};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use turnwise::platform::{ThreadSlot, Word};

/// How to run a simulation.
#[derive(Clone, Debug)]
pub struct Config {
    /// The machine.
    pub machine: Arc<Machine>,
    /// CPUs that threads may use.
    pub cpus: Vec<u32>,
    /// The random seed.
    pub seed: u64,
    /// Unlikely schedules.
    pub perturb: Perturb,
    /// Whether to record what happens.
    pub traced: bool,
    /// A run in which no thread calls [`crate::Sim::progress`] for this long is a livelock.
    pub silence_ns: u64,
    /// A thread that waits for a lock for this long, while others make progress, starves; `None`: not checked.
    pub starvation_ns: Option<u64>,
    /// Bytes of simulated memory for the heap and what [`Simulation::place`] places; address space until touched.
    pub arena_bytes: usize,
    /// Bytes of each thread's stack; address space until touched.
    pub stack_bytes: usize,
}

impl Config {
    /// Returns all CPUs of a machine, no perturbation, no trace.
    #[must_use]
    pub fn new(machine: Arc<Machine>, seed: u64) -> Config {
        let cpus = (0..machine.topology.cpus()).collect();
        Config {
            machine,
            cpus,
            seed,
            perturb: Perturb::None,
            traced: false,
            silence_ns: 10_000_000_000,
            starvation_ns: None,
            arena_bytes: 64 << 20,
            stack_bytes: 128 << 10,
        }
    }
}

/// Which CPUs a thread may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affinity {
    /// All CPUs that the simulation has.
    Any,
    /// This CPU alone.
    Cpu(u32),
}

/// What has been counted so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Simulated time, picoseconds.
    pub now_ps: Ps,
    /// CPU time of threads and system, all CPUs, picoseconds.
    pub cpu_ps: Ps,
    /// Times that a thread slept.
    pub voluntary: u64,
    /// Times that a thread was preempted, or yielded to another.
    pub involuntary: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Lines that moved from one cache to another.
    pub transfers: u64,
    /// How many of these moved between nodes.
    pub remote_transfers: u64,
    /// Acquisitions by where the last owner was.
    pub handoffs: Handoffs,
    /// Events so far.
    pub events: u64,
}

/// A run in which every thread came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What has been counted at the end.
    pub counters: Counters,
    /// Where CPU time went.
    pub profile: Vec<ProfileEntry>,
    /// What happened, if the configuration asked for it.
    pub trace: Vec<TraceEvent>,
    /// The names of locks, by their numbers in the trace.
    pub locks: Vec<String>,
    /// CPUs that threads could use.
    pub cpus: u32,
    /// Blocks of the heap that were not freed.
    pub objects: usize,
}

type Action = Box<dyn FnOnce(&Snapshot)>;

/// What an action sees.
#[derive(Clone, Default, Debug)]
pub struct Snapshot {
    /// What has been counted.
    pub counters: Counters,
    /// Where CPU time went.
    pub profile: Vec<ProfileEntry>,
}

/// A simulation to be.
pub struct Simulation {
    config: Config,
    memory: Option<Box<Memory>>,
    region_stacks: usize,
    names: Vec<(usize, usize, String)>,
    threads: Vec<(Affinity, Body)>,
    actions: Vec<(u64, Option<Action>)>,
    region: Rc<Region>,
}

/// Most threads of a simulation.
pub const MAX_THREADS: usize = 16_384;

impl Simulation {
    /// Creates a machine at rest.
    ///
    /// # Panics
    /// When the configuration names no CPU, or one that the machine lacks, or when the host has no address space left.
    #[must_use]
    pub fn new(config: Config, threads: usize) -> Simulation {
        assert!(!config.cpus.is_empty(), "a simulation needs a CPU");
        let cpus = config.machine.topology.cpus();
        assert!(config.cpus.iter().all(|&cpu| cpu < cpus), "the machine has CPUs 0 to {}", cpus - 1);
        assert!(threads <= MAX_THREADS, "{threads} threads: at most {MAX_THREADS}");
        let region = Region::map(config.arena_bytes, threads, config.stack_bytes).expect("address space of the host");
        let region = Rc::new(region);
        let memory = Some(Box::new(Memory::new(Heap::new(Rc::clone(&region)))));
        let (names, bodies, actions) = (Vec::new(), Vec::new(), Vec::new());
        Simulation { config, memory, region_stacks: threads, names, threads: bodies, actions, region }
    }

    /// Puts a value on cache lines of its own. Words that threads share must be in one, or on a thread's stack; words
    /// elsewhere get a line each, whatever their layout.
    ///
    /// # Panics
    /// When the simulated memory is full.
    pub fn place<T: 'static>(&mut self, name: &str, value: T) -> Placed<T> {
        let placed = self.memory.as_mut().expect("until it runs").heap.place(value);
        self.names.push((placed.address().addr(), size_of::<T>(), name.to_owned()));
        placed
    }

    /// Runs `f`, which may [allocate](crate::Sim::allocate) in the simulated memory: the objects that exist before the
    /// run. Nothing costs time, and CPU 0 does it all. A user of such objects after the run must keep something
    /// [placed](Simulation::place), which keeps the memory.
    ///
    /// # Panics
    /// Inside of another simulation.
    pub fn build<R>(&mut self, f: impl FnOnce() -> R) -> R {
        self.memory.as_mut().expect("until it runs").build(f)
    }

    /// Adds a thread, ready at time 0.
    ///
    /// # Panics
    /// When there are more than were announced, or the affinity names a CPU that the simulation lacks.
    pub fn spawn(&mut self, affinity: Affinity, body: impl FnOnce() + 'static) {
        assert!(self.threads.len() < self.region_stacks, "more threads than announced: {}", self.region_stacks);
        if let Affinity::Cpu(cpu) = affinity {
            assert!(self.config.cpus.contains(&cpu), "the simulation lacks CPU {cpu}");
        }
        self.threads.push((affinity, Box::new(body)));
    }

    /// Does this at a time, outside of every thread, at no cost.
    pub fn at(&mut self, ns: u64, action: impl FnOnce(&Snapshot) + 'static) {
        self.actions.push((ns, Some(Box::new(action))));
    }

    /// Runs until every thread has returned.
    ///
    /// # Errors
    /// [`Stuck`] when some thread makes no progress.
    ///
    /// # Panics
    /// When a thread panics, and when called from a simulated thread.
    pub fn run(mut self) -> Result<Outcome, Stuck> {
        assert!(ENGINE.get().is_null(), "a simulation cannot run inside of another");
        let (mut engine, mut fibers) = self.engine();
        engine.start(&self.actions);
        loop {
            // Threads that have not ended, also as one panics, are abandoned with their stacks, and what they own is
            // leaked: nothing outside of the simulation points there.
            match engine.run_until_stop(&mut fibers) {
                Stop::Action(index) => {
                    let snapshot = engine.snapshot();
                    self.actions[index as usize].1.take().into_iter().for_each(|action| action(&snapshot));
                }
                Stop::Stuck(kind) => return Err(engine.stuck(kind, self.config.seed)),
                Stop::Ended => return Ok(engine.outcome()),
            }
        }
    }

    fn engine(&mut self) -> (Engine, Vec<Fiber>) {
        let (threads, bodies): (Vec<Affinity>, Vec<Body>) = std::mem::take(&mut self.threads).into_iter().unzip();
        // SAFETY: each stack is one thread's, in a region that outlives the run.
        let stack = |number| unsafe { self.region.stack(number) };
        let fibers = (0..).zip(bodies).map(|(number, body)| fiber(number, stack(number), body)).collect();
        let machine = Arc::clone(&self.config.machine);
        let mut memory = self.memory.take().expect("a simulation runs once");
        let mut chance = fastrand::Rng::with_seed(self.config.seed);
        let perturb = perturb::State::new(self.config.perturb, threads.len(), &mut chance);
        let cpus = &self.config.cpus;
        let home = |number: usize, affinity: Affinity| match affinity {
            Affinity::Any => Thread::new(cpus[number % cpus.len()], false),
            Affinity::Cpu(cpu) => Thread::new(cpu, true),
        };
        let engine = Engine {
            now: 0,
            queue: Queue::new(),
            current: 0,
            current_cpu: cpus[0],
            cpus: (0..machine.topology.cpus()).map(|_| Cpu::new()).collect(),
            threads: threads.iter().enumerate().map(|(n, &affinity)| home(n, affinity)).collect(),
            allowed: cpus.clone(),
            idle: IdleCpus::new(&machine.topology),
            waiting: 0,
            lines: Lines::new(Arc::clone(&machine), chance.fork()),
            table: LineTable::new(Rc::clone(&self.region), machine.coherence.line_bytes),
            sleepers: FxHashMap::default(),
            slots: threads.iter().map(|_| memory.heap.place(ThreadSlot::new_in())).collect(),
            on_cpu: threads.iter().map(|_| memory.heap.place(SimWord::new(0))).collect(),
            memory,
            names: std::mem::take(&mut self.names),
            locks: Vec::new(),
            lock_numbers: FxHashMap::default(),
            profile: super::Profile::new(),
            trace: self.config.traced.then(Vec::new),
            chance,
            winners: Vec::new(),
            places: Vec::new(),
            perturb,
            counts: Counters::default(),
            last_progress: 0,
            owner: Owner::new(threads.len(), self.config.silence_ns, self.config.starvation_ns),
            line_ns: 0,
            machine,
        };
        (engine, fibers)
    }
}

impl Engine {
    fn start(&mut self, actions: &[(u64, Option<Action>)]) {
        for (index, (ns, _)) in (0..).zip(actions) {
            self.queue.push(ns * NS, What::Action { index });
        }
        self.create_queues();
        for thread in 0..self.threads.len() as u32 {
            let cpu = self.threads[thread as usize].cpu;
            self.enqueue(cpu, thread);
        }
        for cpu in self.allowed.clone() {
            if self.cpus[cpu as usize].has_ready() {
                // Threads do not start in step.
                let skew = self.chance.u64(0..=1_000 * NS);
                self.cpus[cpu as usize].activity = Activity::Wakes;
                self.queue.push(skew, What::Dispatch { cpu });
            } else {
                self.idle.set(cpu, true);
            }
        }
    }

    /// Ends the running thread.
    pub(super) fn end_thread(&mut self) {
        self.assert_may_leave("ends", None);
        self.leave(self.current_cpu, At::Ended, Happened::Ends);
    }

    fn snapshot(&mut self) -> Snapshot {
        for cpu in self.allowed.clone() {
            self.settle(cpu);
        }
        self.profile.add_up();
        Snapshot { counters: self.counters(), profile: self.profile.entries() }
    }

    fn counters(&self) -> Counters {
        Counters { now_ps: self.now, cpu_ps: self.profile.busy(), events: self.queue.made(), ..self.counts }
    }

    fn outcome(mut self) -> Outcome {
        let Snapshot { counters, profile } = self.snapshot();
        if let Err(fault) = self.lines.check() {
            unreachable!("the caches are incoherent: {fault}");
        }
        Outcome {
            objects: self.memory.heap.live(),
            counters,
            profile,
            trace: self.trace.take().unwrap_or_default(),
            locks: self.locks.into_iter().map(|known| known.name).collect(),
            cpus: self.allowed.len() as u32,
        }
    }
}
