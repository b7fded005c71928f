//! A simulation from start to end.

use super::charge::ProfileEntry;
use super::cpu::{Activity, Cpu};
use super::heap::Heap;
use super::lines::Lines;
use super::memory::{LineTable, Placed, Region, StackOf};
use super::objects::Memory;
use super::perturb::{self, Perturb};
use super::place::IdleCpus;
use super::queue::{Queue, What};
use super::stuck::{Stuck, StuckKind};
use super::thread::{At, Thread};
use super::trace::{Happened, TraceEvent};
use super::{Counts, ENGINE, Engine, Handoffs, WHOLE, YIELDER};
use crate::platform::SimWord;
use crate::spec::{Machine, NS, Ps};
use corosensei::{Coroutine, CoroutineResult, Yielder};
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
    /// Whether to write down what happens.
    pub traced: bool,
    /// A run in which no thread calls [`crate::Sim::progress`] for this long is a livelock.
    pub silence_ns: u64,
    /// A thread that waits for a lock for this long, while others get on, starves; `None`: not checked.
    pub starvation_ns: Option<u64>,
    /// Bytes of simulated memory for the heap and what [`Simulation::place`] places; address space until touched.
    pub arena_bytes: usize,
    /// Bytes of each thread's stack; address space until touched.
    pub stack_bytes: usize,
}

impl Config {
    /// All CPUs of a machine, no perturbation, no trace.
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

type Body = Box<dyn FnOnce()>;
type Action = Box<dyn FnOnce(&Snapshot)>;
type Fiber = Coroutine<(), (), (), StackOf>;

/// What an action sees.
#[derive(Clone, Debug)]
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
    /// A machine at rest.
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

    /// Puts a value on cache lines of its own. Words that threads share must be in one, or on a thread's stack; those
    /// elsewhere get a line each, whatever their layout.
    ///
    /// # Panics
    /// When the simulated memory is full.
    pub fn place<T: 'static>(&mut self, name: &str, value: T) -> Placed<T> {
        let placed = self.memory.as_mut().expect("until it runs").heap.place(value);
        self.names.push((placed.address().addr(), size_of::<T>(), name.to_owned()));
        placed
    }

    /// Runs `f`, which may [allocate](crate::Sim::allocate) in the simulated memory: what is there before the run.
    /// Nothing costs time, and CPU 0 does it all. Whoever uses such objects after the run keeps something
    /// [placed](Simulation::place), which keeps the memory.
    ///
    /// # Panics
    /// Inside of another simulation.
    pub fn build<R>(&mut self, f: impl FnOnce() -> R) -> R {
        self.memory.as_mut().expect("until it runs").build(f)
    }

    /// A thread, ready at time 0.
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
    /// [`Stuck`] when some thread gets nowhere.
    ///
    /// # Panics
    /// When a thread panics, and when called from a simulated thread.
    pub fn run(mut self) -> Result<Outcome, Stuck> {
        assert!(ENGINE.get().is_null(), "a simulation cannot run inside of another");
        let threads = std::mem::take(&mut self.threads);
        let mut engine = self.engine(&threads);
        let mut fibers = Fibers(Vec::with_capacity(threads.len()));
        for (number, (_, body)) in threads.into_iter().enumerate() {
            fibers.0.push(fiber(self.region.stack(number), body));
        }
        engine.start(&self.actions);
        let result = self.drive(&mut engine, &mut fibers.0);
        drop(fibers);
        match result? {
            Some(kind) => Err(engine.stuck(kind, self.config.seed)),
            None => Ok(engine.outcome()),
        }
    }

    fn engine(&mut self, threads: &[(Affinity, Body)]) -> Engine {
        let machine = Arc::clone(&self.config.machine);
        let mut memory = self.memory.take().expect("a simulation runs once");
        let mut chance = fastrand::Rng::with_seed(self.config.seed);
        let perturb = perturb::State::new(self.config.perturb, threads.len(), &mut chance);
        let cpus = &self.config.cpus;
        let home = |number: usize, affinity: Affinity| match affinity {
            Affinity::Any => Thread::new(cpus[number % cpus.len()], false),
            Affinity::Cpu(cpu) => Thread::new(cpu, true),
        };
        Engine {
            now: 0,
            queue: Queue::new(),
            current: 0,
            current_cpu: cpus[0],
            cpus: (0..machine.topology.cpus()).map(|_| Cpu::new()).collect(),
            threads: threads.iter().enumerate().map(|(n, t)| home(n, t.0)).collect(),
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
            handoffs: Handoffs::default(),
            profile: super::Profile::new(),
            trace: self.config.traced.then(Vec::new),
            chance,
            winners: Vec::new(),
            places: Vec::new(),
            perturb,
            counts: Counts::default(),
            last_progress: 0,
            line_ns: 0,
            machine,
        }
    }

    /// The main loop. `Ok(None)`: all threads have ended.
    fn drive(&mut self, engine: &mut Engine, fibers: &mut [Fiber]) -> Result<Option<StuckKind>, Stuck> {
        let mut left = fibers.len();
        let mut steps: u32 = 0;
        while left > 0 {
            let Some((time, what)) = engine.queue.pop() else { return Ok(Some(StuckKind::Deadlock)) };
            engine.now = time;
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1024) || time >= engine.queue.horizon() {
                if let Some(kind) = engine.watchdog(&self.config) {
                    return Ok(Some(kind));
                }
                let silence = self.config.silence_ns.saturating_mul(NS).max(1);
                engine.queue.set_horizon(time.saturating_add(silence));
            }
            let thread = match what {
                What::Action { index } => {
                    let snapshot = engine.snapshot();
                    self.actions[index as usize].1.take().into_iter().for_each(|action| action(&snapshot));
                    None
                }
                what => engine.handle(what),
            };
            if let Some(thread) = thread
                && resume(engine, fibers, thread)
            {
                left -= 1;
                engine.end_thread(thread);
            }
        }
        Ok(None)
    }
}

/// Runs a thread up to its next suspension; whether it returned. If it panics, the panic goes on here.
#[inline]
fn resume(engine: &mut Engine, fibers: &mut [Fiber], thread: u32) -> bool {
    /// From its drop on no thread runs.
    struct Inside;
    impl Drop for Inside {
        #[inline]
        fn drop(&mut self) {
            ENGINE.set(std::ptr::null_mut());
            WHOLE.set(std::ptr::null_mut());
        }
    }
    YIELDER.set(engine.threads[thread as usize].yielder);
    let inside = Inside;
    ENGINE.set(engine);
    WHOLE.set(engine);
    let result = fibers[thread as usize].resume(());
    drop(inside);
    engine.threads[thread as usize].yielder = YIELDER.get();
    matches!(result, CoroutineResult::Return(()))
}

fn fiber(stack: StackOf, body: Body) -> Fiber {
    Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        YIELDER.set(yielder);
        body();
    })
}

/// The threads' coroutines.
struct Fibers(Vec<Fiber>);

impl Drop for Fibers {
    /// Gives up the stacks of threads that will not go on, as after the panic of one of them.
    fn drop(&mut self) {
        for fiber in self.0.iter_mut().filter(|f| f.started() && !f.done()) {
            // SAFETY: nothing outside of the simulation points to the stack, and no thread of it runs any more. What
            // the thread owned is leaked.
            unsafe { fiber.force_reset() };
        }
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
                self.idle.insert(cpu);
            }
        }
    }

    /// The thread that goes on, if this event makes one go on.
    fn handle(&mut self, what: What) -> Option<u32> {
        match what {
            What::Resume { cpu, generation } => return self.resumed(cpu, generation),
            What::Started { cpu } => return self.started(cpu),
            What::Arrive { cpu } => return self.arrive(cpu),
            What::StoreArrives { cpu, number } => return self.store_arrives(cpu, number),
            What::StoreDone { cpu, number } => return self.store_done(cpu, number),
            What::Refill { line } => return self.refill(line),
            What::Dispatch { cpu } => self.dispatch(cpu),
            What::Slice { cpu, generation } => self.slice_over(cpu, generation),
            What::Alarm { thread, generation } => self.alarm(thread, generation),
            What::Action { .. } => {}
        }
        None
    }

    fn end_thread(&mut self, thread: u32) {
        self.current = thread;
        self.assert_may_leave("ends", None);
        self.leave(self.current_cpu, At::Ended, Happened::Ends);
    }

    /// Whether the run is stuck, or one thread starves.
    fn watchdog(&self, config: &Config) -> Option<StuckKind> {
        if self.now > self.last_progress + config.silence_ns.saturating_mul(NS) {
            return Some(StuckKind::Livelock);
        }
        let (_, since) = config.starvation_ns.and_then(|_| self.longest_wait())?;
        let bound = config.starvation_ns?.saturating_mul(NS);
        (self.now > since.saturating_add(bound)).then_some(StuckKind::Starvation)
    }

    fn snapshot(&mut self) -> Snapshot {
        for cpu in self.allowed.clone() {
            self.settle(cpu);
        }
        Snapshot { counters: self.counters(), profile: self.profile.entries() }
    }

    fn counters(&self) -> Counters {
        let Counts { voluntary, involuntary, accesses, transfers, remote_transfers } = self.counts;
        Counters {
            now_ps: self.now,
            cpu_ps: self.profile.busy(),
            voluntary,
            involuntary,
            accesses,
            transfers,
            remote_transfers,
            handoffs: self.handoffs,
            events: self.queue.made(),
        }
    }

    fn outcome(mut self) -> Outcome {
        let Snapshot { counters, profile } = self.snapshot();
        if let Err(fault) = self.lines.check() {
            unreachable!("the caches are incoherent: {fault}");
        }
        Outcome {
            objects: self.objects(),
            counters,
            profile,
            trace: self.trace.take().unwrap_or_default(),
            locks: self.locks.into_iter().map(|known| known.name).collect(),
            cpus: self.allowed.len() as u32,
        }
    }
}
