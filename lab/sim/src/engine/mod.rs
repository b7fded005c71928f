//! Time, cache lines, CPUs and threads.
//!
//! Everything that happens has a time in integer picoseconds; events of one time happen in order of creation, and all
//! chance comes from one seeded generator, so a seed determines a run. Threads are coroutines that run the locks' own
//! code up to the next operation, whose cost decides when they continue. If nothing else happens before that, they
//! continue without a switch.
//!
//! Invariants (docs/design.md has them in full):
//! 1. a line has an owner or sharers;
//! 2. an access happens at one moment and sees the last write before it;
//! 3. requests for a line are served in the order of their arrival, one transfer for writing at a time;
//! 4. threads parked on lines are polled after every write to them;
//! 5. a thread that sleeps on a word fell asleep while it held the expected value, and is in one queue;
//! 6. the profile adds up to elapsed time x CPUs;
//! 7. a thread is in one place, a bound one only on its CPU;
//! 8. a configuration and a seed determine a run.
//!
//! Nothing may depend on where the host's compiler or allocator puts a word: addresses go through `memory.rs` first.
//!
//! | file | what |
//! |---|---|
//! | `run.rs` | a simulation from start to end |
//! | `fibers.rs` | threads as coroutines |
//! | `cpu.rs`, `thread.rs` | what is known about a CPU and about a thread |
//! | `queue.rs` | events |
//! | `memory.rs`, `stacks.rs`, `lines.rs` | which word is on which line; which CPUs have the line |
//! | `heap.rs`, `grace.rs`, `objects.rs` | objects that come and go; when no thread sees them any more |
//! | `access.rs`, `posted.rs` | accesses, and spinning on lines; the store buffer |
//! | `sched.rs`, `place.rs` | slices, preemption, migration; where a woken thread goes |
//! | `runqueue.rs` | run queues as memory |
//! | `futex.rs` | sleep and wake-up |
//! | `preempt.rs` | sections in which a thread keeps its CPU |
//! | `charge.rs`, `trace.rs`, `holders.rs`, `stuck.rs` | profile, trace, hand-offs, deadlocks |

mod access;
mod charge;
mod cpu;
mod fibers;
mod futex;
mod grace;
mod heap;
mod holders;
mod lines;
mod memory;
mod objects;
mod perturb;
mod place;
mod posted;
mod preempt;
mod queue;
mod run;
mod runqueue;
mod sched;
mod stacks;
mod stuck;
mod thread;
mod trace;

pub use charge::{Kind, ProfileEntry};
pub use holders::Handoffs;
pub use memory::Placed;
pub use objects::SimPin;
pub use perturb::Perturb;
pub use run::{Affinity, Config, Counters, MAX_THREADS, Outcome, Simulation, Snapshot};
pub use stuck::{Stuck, StuckKind};
pub use trace::{Happened, TraceEvent};

pub(crate) use charge::Doing;
pub(crate) use cpu::{Posted, copy};
pub(crate) use fibers::suspend;
pub(crate) use lines::Op;
pub(crate) use thread::{SpinEnded, Watch};

use crate::platform::{Sim, SimWord};
use crate::spec::{Machine, Ps};
use charge::{Profile, Scope};
use cpu::Cpu;
use holders::Known;
use lines::Lines;
use memory::LineTable;
use place::IdleCpus;
use queue::{Queue, What};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;
use thread::Thread;
use turnwise::platform::ThreadSlot;

/// How the running thread must continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Flow {
    /// At once: the time of its operation has passed.
    On,
    /// When it is resumed.
    Suspend,
}

/// The state of a simulation.
pub(crate) struct Engine {
    pub(crate) machine: Arc<Machine>,
    pub(crate) now: Ps,
    queue: Queue,
    /// The thread that runs, and its CPU.
    pub(crate) current: u32,
    pub(crate) current_cpu: u32,
    cpus: Vec<Cpu>,
    pub(crate) threads: Vec<Thread>,
    /// CPUs that threads may use.
    allowed: Vec<u32>,
    idle: IdleCpus,
    /// Ready threads that no CPU runs.
    waiting: usize,
    lines: Lines,
    table: LineTable,
    memory: Box<objects::Memory>,
    sleepers: FxHashMap<usize, futex::Bucket>,
    slots: Vec<Placed<ThreadSlot<Sim>>>,
    /// 1 while the thread of this number is on a CPU.
    on_cpu: Vec<Placed<SimWord<u32>>>,
    names: Vec<(usize, usize, String)>,
    locks: Vec<Known>,
    lock_numbers: FxHashMap<usize, u32>,
    profile: Profile,
    trace: Option<Vec<TraceEvent>>,
    pub(crate) chance: fastrand::Rng,
    /// Room for winners, and for places to draw.
    winners: Vec<lines::Winner>,
    places: Vec<u32>,
    perturb: perturb::State,
    /// Without those that follow from the rest: see [`Engine::counters`].
    counts: Counters,
    last_progress: Ps,
    owner: fibers::Owner,
    /// The cost of a line as estimated by a backing-off spinner, in nanoseconds: a running mean of its polls.
    pub(crate) line_ns: u32,
}

thread_local! {
    /// The engine whose thread runs on this thread of the host; null outside of a simulated thread.
    static ENGINE: Cell<*mut Engine> = const { Cell::new(std::ptr::null_mut()) };
    /// As [`ENGINE`], but also set while its thread does something [for free](for_free).
    static WHOLE: Cell<*mut Engine> = const { Cell::new(std::ptr::null_mut()) };
    /// The memory of the simulation that is being built on this thread of the host.
    static BUILDING: Cell<*mut objects::Memory> = const { Cell::new(std::ptr::null_mut()) };
}

/// Returns whether the caller is a simulated thread.
#[inline]
pub(crate) fn inside() -> bool {
    !ENGINE.get().is_null()
}

/// Accesses the engine. `f` must not call into code that does so, too: locks, workloads.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut Engine) -> R) -> R {
    let engine = ENGINE.get();
    assert!(!engine.is_null(), "only a simulated thread can do this");
    // SAFETY: set while a thread runs, whose code is all that runs on this thread of the host then; references made
    // here end before it is suspended or calls this again.
    f(unsafe { &mut *engine })
}

/// Notes that a word is dropped.
#[inline(never)]
pub(crate) fn forget(address: usize) {
    let engine = WHOLE.get();
    if !engine.is_null() {
        // SAFETY: as in `with`; words are dropped by threads, and never while the engine accesses itself.
        unsafe { &mut *engine }.table.forget(address);
    }
}

/// Does as [`with`], and waits if that takes time.
#[inline]
pub(crate) fn step(f: impl FnOnce(&mut Engine) -> Flow) {
    if with(f) == Flow::Suspend {
        suspend();
    }
}

/// Runs `f`, in which accesses to words cost nothing and no other thread runs.
pub(crate) fn for_free<R>(f: impl FnOnce() -> R) -> R {
    let engine = ENGINE.replace(std::ptr::null_mut());
    let result = f();
    ENGINE.set(engine);
    result
}

/// Gets the line of an address, after the store buffer if necessary; returns its number.
#[inline]
pub(crate) fn reach(address: usize, op: Op, doing: Doing) -> u32 {
    let (line, flow) = with(|e| {
        let line = e.line(address);
        let flow = if e.must_drain(line, op) { None } else { Some(e.access(line, op, doing)) };
        (line, flow)
    });
    after_reach(line, op, doing, flow);
    line
}

/// Does as [`reach`], where the line is known.
#[inline]
pub(crate) fn reach_line(line: u32, op: Op, doing: Doing) {
    let flow = with(|e| if e.must_drain(line, op) { None } else { Some(e.access(line, op, doing)) });
    after_reach(line, op, doing, flow);
}

/// Waits for a line, if that takes time. No flow: it must come after the store buffer.
#[inline(always)]
fn after_reach(line: u32, op: Op, doing: Doing, flow: Option<Flow>) {
    match flow {
        Some(Flow::On) => {}
        Some(Flow::Suspend) => suspend(),
        None => reach_drained(line, op, doing),
    }
}

/// Gets a line after the store buffer.
#[cold]
fn reach_drained(line: u32, op: Op, doing: Doing) {
    if op != Op::Load {
        with(|e| e.request_ahead(line));
    }
    step(Engine::drain);
    step(|e| e.access(line, op, doing));
}

impl Engine {
    /// Returns the running thread.
    #[inline]
    pub(crate) fn thread(&mut self) -> &mut Thread {
        &mut self.threads[self.current as usize]
    }

    #[inline]
    fn cpu(&mut self) -> &mut Cpu {
        &mut self.cpus[self.current_cpu as usize]
    }

    /// Makes the running thread do this from now on; returns what it did before.
    pub(crate) fn enter(&mut self, name: &'static str) -> Scope {
        let before = self.thread().scope;
        let scope = self.profile.doing(before, name);
        self.leave_to(scope)
    }

    /// Makes the running thread this program from now on.
    pub(crate) fn becomes(&mut self, command: &'static str) {
        let before = self.thread().scope;
        let scope = self.profile.running(before, command);
        self.leave_to(scope);
    }

    /// Makes the running thread return to this; returns what it did before.
    pub(crate) fn leave_to(&mut self, scope: Scope) -> Scope {
        self.settle(self.current_cpu);
        std::mem::replace(&mut self.thread().scope, scope)
    }

    fn trace(&mut self, what: Happened) {
        self.trace_of(self.current_cpu, self.current, what);
    }

    fn trace_of(&mut self, cpu: u32, thread: u32, what: Happened) {
        if let Some(trace) = &mut self.trace {
            trace.push(TraceEvent { ps: self.now, cpu, thread, what });
        }
    }

    /// Makes the CPU do something else from now on, after charging what it has done.
    #[inline]
    fn does(&mut self, cpu: u32, doing: Doing) {
        if self.cpus[cpu as usize].doing == doing {
            return; // and is charged with what comes
        }
        self.settle(cpu);
        self.cpus[cpu as usize].doing = doing;
    }

    /// Charges the time up to now: before the profile is read, or another thread or scope is charged. The CPU's
    /// activity changes in [`Engine::does`], which settles.
    #[inline]
    fn settle(&mut self, cpu: u32) {
        let cpu = &mut self.cpus[cpu as usize];
        if self.now > cpu.accounted {
            let scope = cpu.thread.map_or(Scope::default(), |thread| self.threads[thread as usize].scope);
            self.profile.add(cpu.doing, scope, self.now - cpu.accounted);
            cpu.accounted = self.now;
        }
    }

    /// Keeps the running thread busy for `time`; it cannot be preempted meanwhile.
    #[inline(always)]
    pub(crate) fn spend(&mut self, doing: Doing, time: Ps) -> Flow {
        self.does(self.current_cpu, doing);
        self.go_on_at(self.now + time)
    }

    #[inline(never)]
    fn go_on_at(&mut self, time: Ps) -> Flow {
        if time < self.queue.next_time() {
            self.now = time;
            return Flow::On;
        }
        let (cpu, generation) = (self.current_cpu, self.cpu().generation);
        self.cpu().activity = cpu::Activity::Operation;
        self.queue.push(time, What::Resume { cpu, generation });
        Flow::Suspend
    }

    /// Returns the name of the place that an address is in.
    fn name_of(&self, address: usize) -> String {
        let place = self.names.iter().find(|(start, bytes, _)| (*start..start + (*bytes).max(1)).contains(&address));
        match place {
            Some((start, _, name)) if *start == address => name.clone(),
            Some((start, _, name)) => format!("{name}+{}", address - start),
            None if self.table.is_placed(address) => "a word on the heap".to_owned(),
            None => "a word on a stack".to_owned(),
        }
    }

    pub(crate) fn slot(&self, thread: u32) -> &'static ThreadSlot<Sim> {
        let slot: *const ThreadSlot<Sim> = &raw const *self.slots[thread as usize];
        // SAFETY: the slots stay until the simulation ends, when none of its threads runs any more.
        unsafe { &*slot }
    }

    /// Returns the word that says whether a thread is on a CPU.
    pub(crate) fn on_cpu_word(&self, thread: u32) -> Placed<SimWord<u32>> {
        self.on_cpu[thread as usize].clone()
    }

    /// Returns the number of CPUs that threads may use.
    pub(crate) fn cpus_allowed(&self) -> u32 {
        self.allowed.len() as u32
    }

    /// Returns the CPU that a thread is on, or was on last.
    pub(crate) fn last_cpu(&self, thread: u32) -> u32 {
        self.threads[thread as usize].cpu
    }

    /// Returns whether the restartable-sequence areas show that a thread is off its CPU: its CPU is the caller's, or
    /// one on which another thread spins.
    pub(crate) fn seen_off(&self, thread: u32) -> bool {
        let cpu = self.last_cpu(thread);
        let there = &self.cpus[cpu as usize];
        cpu == self.current_cpu || (there.activity == cpu::Activity::Spin && there.thread != Some(thread))
    }

    /// Returns whether the other thread of the running one's core is busy.
    pub(crate) fn sibling_busy(&self) -> bool {
        self.shares_core(self.current_cpu)
    }

    /// Returns whether another CPU of this one's core executes instructions. One that polls while idle does; one that
    /// spins pauses, which leaves the core to the other.
    fn shares_core(&self, cpu: u32) -> bool {
        let per_core = self.machine.topology.threads_per_core;
        let first = cpu / per_core * per_core;
        let poll = self.machine.system.idle_poll;
        let busy = |other: u32| {
            let there = &self.cpus[other as usize];
            let polls = there.idle_for(self.now).is_some_and(|time| time < poll);
            other != cpu && (polls || !matches!(there.activity, cpu::Activity::Idle | cpu::Activity::Spin))
        };
        per_core > 1 && (first..first + per_core).any(busy)
    }

    /// Returns the time of what takes the kernel this long on a core of its own, with the other thread as it is now.
    pub(super) fn on_its_core(&self, cpu: u32, ps: Ps) -> Ps {
        let slow = if self.shares_core(cpu) { self.machine.cpu.smt_permille } else { 1000 };
        ps * Ps::from(slow) / 1000
    }

    pub(crate) fn progress(&mut self) {
        self.last_progress = self.now;
    }
}
