//! The simulated machine of `lab/sim` for tests of a handful of threads: `run` takes closures, [`Traced`] is the
//! platform that their locks run on. It does what [`Sim`] does, and records each operation on a word with its place in
//! the source, each pause between two polls, and each spin that ended because the owner was off its CPU.
#![allow(dead_code, reason = "each test uses a part of it")]

#[allow(unreachable_pub, reason = "other crates' tests use it, too")]
#[path = "../../../../lab/sim/tests/support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::fmt::Write;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use turnwise::platform::{
    Deadline, Hint, IntWord, Lane, Me, OnCpu, Parked, Pause, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word,
};
use turnwise_sim::spec::NS;
use turnwise_sim::{Affinity, Sim, SimWord, Simulation};
pub(crate) use turnwise_sim::{Perturb, Stuck};

/// What a thread does.
pub(crate) type Body = Box<dyn FnOnce()>;

/// The machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) cpus: u32,
    pub(crate) seed: u64,
    /// About how long a thread keeps its CPU while others are ready, in nanoseconds.
    pub(crate) slice_ns: u64,
    pub(crate) perturb: Perturb,
}

impl Config {
    /// Returns a machine with slices of 1 ms.
    pub(crate) fn new(cpus: u32, seed: u64) -> Config {
        Config { cpus, seed, slice_ns: 1_000_000, perturb: Perturb::None }
    }
}

/// A run in which every thread finished.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Virtual time from start to end.
    pub(crate) elapsed_ns: u64,
    /// Times that a thread lost its CPU to another.
    pub(crate) preemptions: u64,
    /// Times that a thread slept.
    pub(crate) sleeps: u64,
    /// Spins that ended since the owner was off its CPU.
    pub(crate) spins_off_cpu: u64,
    /// Pauses between two polls ([`Pause::Relax`]).
    pub(crate) pauses: u64,
    /// Every operation, as its effect is visible: time, thread, operation, file and line.
    pub(crate) trace: String,
}

#[derive(Default)]
struct Notes {
    spins_off_cpu: u64,
    pauses: u64,
    trace: String,
    slots: Vec<&'static ThreadSlot<Traced>>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Runs `threads` to their end.
pub(crate) fn run(config: Config, threads: Vec<Body>) -> Result<Report, Stuck> {
    let mut machine = support::machine(1, config.cpus);
    // A woken thread waits for a CPU; slices end unevenly, and no two transfers take the same time.
    machine.system.latency = config.slice_ns * NS;
    machine.system.min_granularity = config.slice_ns / 2 * NS;
    machine.system.slice_jitter = config.slice_ns / 2 * NS;
    machine.system.wakeup_granularity = config.slice_ns * NS;
    machine.coherence.spread_permille = 400;
    let slots = || -> &'static ThreadSlot<Traced> { Box::leak(Box::new(ThreadSlot::new_in())) };
    NOTES.set(Notes { slots: threads.iter().map(|_| slots()).collect(), ..Notes::default() });
    let config =
        turnwise_sim::Config { perturb: config.perturb, ..turnwise_sim::Config::new(Arc::new(machine), config.seed) };
    let mut simulation = Simulation::new(config, threads.len());
    threads.into_iter().for_each(|body| simulation.spawn(Affinity::Any, body));
    let counters = simulation.run()?.counters;
    let Notes { spins_off_cpu, pauses, trace, .. } = NOTES.take();
    let (elapsed_ns, preemptions) = (counters.now_ps / NS, counters.involuntary);
    Ok(Report { elapsed_ns, preemptions, sleeps: counters.voluntary, spins_off_cpu, pauses, trace })
}

/// Does work that takes virtual time: that of writing this many lines that another CPU has.
pub(crate) fn work(lines: usize) {
    Sim::compute(60 * lines as u64);
}

#[track_caller]
fn note(what: &str) {
    let (now, thread, at) = (Sim::time_ns(), Sim::thread(), Location::caller());
    let (file, line) = (at.file(), at.line());
    NOTES
        .with_borrow_mut(|notes| writeln!(notes.trace, "{now} thread {thread} {what} {file}:{line}"))
        .expect("a string takes all");
}

/// The platform of the tests' locks.
pub(crate) struct Traced;

// SAFETY: tokens are the machine's; slots stay for ever, and a token's is that of its thread.
unsafe impl Platform for Traced {
    type U32 = TracedWord<SimWord<u32>>;
    type U64 = TracedWord<SimWord<u64>>;
    type Ptr<T: 'static> = TracedWord<SimWord<*mut T>>;

    fn pause(pause: Pause) {
        if matches!(pause, Pause::Relax) {
            NOTES.with_borrow_mut(|notes| notes.pauses += 1);
        }
        Sim::pause(pause);
    }

    fn spin_until<W: Word>(
        word: &W,
        ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        ended(Sim::spin_until(word, ready, limit))
    }

    #[track_caller]
    fn park(word: &Self::U32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        note("park");
        Sim::park(&word.0, expected, lane, deadline)
    }

    #[track_caller]
    fn wake(word: *const Self::U32, lane: Lane, count: u32) -> u32 {
        note("wake");
        Sim::wake(word.cast(), lane, count)
    }

    #[track_caller]
    fn requeue(from: &Self::U32, expected: u32, to: *const Self::U32) -> Option<u32> {
        note("requeue");
        Sim::requeue(&from.0, expected, to.cast())
    }

    fn now() -> u64 {
        Sim::now()
    }

    fn current() -> Token {
        Sim::current()
    }

    fn me() -> Option<Me<Self>> {
        Sim::me().map(|me| Me { token: me.token, slot: Self::slot(me.token) })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        NOTES.with_borrow(|notes| notes.slots[token.get() as usize - 2])
    }

    fn on_cpu(token: Token) -> OnCpu {
        Sim::on_cpu(token)
    }

    fn hint(hint: Hint) -> u32 {
        Sim::hint(hint)
    }
}

fn ended<R>(spin: Result<R, SpinEnd>) -> Result<R, SpinEnd> {
    if matches!(spin, Err(SpinEnd::NotRunning)) {
        NOTES.with_borrow_mut(|notes| notes.spins_off_cpu += 1);
    }
    spin
}

/// A word whose operations are recorded, except for loads.
#[repr(transparent)]
pub(crate) struct TracedWord<W>(W);

impl<W: Word> Word for TracedWord<W> {
    type Value = W::Value;

    fn new(value: W::Value) -> Self {
        TracedWord(W::new(value))
    }

    fn load(&self, order: Ordering) -> W::Value {
        self.0.load(order)
    }

    #[track_caller]
    fn store(&self, value: W::Value, order: Ordering) {
        self.noted("store", || self.0.store(value, order));
    }

    #[track_caller]
    fn swap(&self, value: W::Value, order: Ordering) -> W::Value {
        self.noted("swap", || self.0.swap(value, order))
    }

    #[track_caller]
    fn compare_exchange(
        &self,
        current: W::Value,
        new: W::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Value, W::Value> {
        let found = self.0.compare_exchange(current, new, success, failure);
        self.noted(if found.is_ok() { "cmpxchg" } else { "cmpxchg failed" }, || found)
    }
}

impl<W> TracedWord<W> {
    /// Also works outside of the machine, where nothing is recorded.
    #[track_caller]
    fn noted<R>(&self, what: &str, operation: impl FnOnce() -> R) -> R {
        let result = operation();
        if Sim::current() != Token::ANONYMOUS {
            note(what);
        }
        result
    }
}

impl<W: IntWord> IntWord for TracedWord<W> {
    #[track_caller]
    fn fetch_add(&self, value: W::Value, order: Ordering) -> W::Value {
        self.noted("fetch_add", || self.0.fetch_add(value, order))
    }

    #[track_caller]
    fn fetch_sub(&self, value: W::Value, order: Ordering) -> W::Value {
        self.noted("fetch_sub", || self.0.fetch_sub(value, order))
    }

    #[track_caller]
    fn fetch_or(&self, value: W::Value, order: Ordering) -> W::Value {
        self.noted("fetch_or", || self.0.fetch_or(value, order))
    }

    #[track_caller]
    fn fetch_and(&self, value: W::Value, order: Ordering) -> W::Value {
        self.noted("fetch_and", || self.0.fetch_and(value, order))
    }
}
