//! CPUs, threads and time.
//!
//! Each CPU has a time at which it acts next. The one whose time comes first runs its thread up to the thread's next
//! operation, whose cost sets the CPU's next time. A spinning thread keeps its CPU, which acts again when the word is
//! written, the owner leaves its CPU, or the time is out. Ready threads wait in one line for a CPU; a thread whose
//! slice is over goes to its end.

use super::Stub;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use turnwise::platform::{Lane, Parked, SpinEnd, SpinLimit, ThreadSlot, Token};

/// What operations cost, in nanoseconds; each takes up to twice that, at random.
pub(super) struct Cost;

impl Cost {
    pub(super) const LOAD: u64 = 2;
    pub(super) const EXCHANGE: u64 = 10;
    pub(super) const RELAX: u64 = 20;
    pub(super) const CLOCK: u64 = 20;
    pub(super) const LINE: u64 = 40;
    const CALL: u64 = 500;
    const SWITCH: u64 = 1_500;
    const WAKE: u64 = 10_000;
}

/// No thread gets on if no word is written for this long.
const SILENCE_NS: u64 = 10_000_000_000;

/// The machine.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// CPUs.
    pub cpus: usize,
    /// The random seed.
    pub seed: u64,
    /// Longest time that a thread keeps its CPU while others are ready, in nanoseconds.
    pub slice_ns: u64,
    /// Whether to write down every operation.
    pub traced: bool,
}

impl Config {
    /// A machine with slices of 1 ms and no trace.
    pub fn new(cpus: usize, seed: u64) -> Config {
        Config { cpus, seed, slice_ns: 1_000_000, traced: false }
    }
}

/// A run in which every thread finished.
#[derive(Debug, Default)]
pub struct Report {
    /// Virtual time from start to end.
    pub elapsed_ns: u64,
    /// Times that a thread lost its CPU at the end of its slice.
    pub preemptions: u64,
    /// Times that a thread slept.
    pub sleeps: u64,
    /// Spins that ended since the owner was off its CPU.
    pub spins_off_cpu: u64,
    /// Every operation: time, CPU, thread, operation, word (numbered in order of first use).
    pub trace: String,
}

/// A run in which some threads wait for ever.
#[derive(Debug)]
pub struct Stuck {
    /// Who waits for what.
    pub message: String,
    /// What happened up to then.
    pub report: Report,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stuck {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Ready,
    Cpu(usize),
    Asleep { word: usize, lane: Lane },
    Done,
}

struct Thread {
    at: At,
    deadline: Option<u64>,
    parked: Parked,
    /// The words that it spins on, and the thread that must run for it.
    watched: Option<([usize; 2], Option<Token>)>,
    /// When a word that it spins for last changed.
    changed: u64,
}

#[derive(Default)]
struct Cpu {
    thread: Option<usize>,
    next: u64,
    slice_end: u64,
}

struct State {
    config: Config,
    now: u64,
    chance: u64,
    current: usize,
    threads: Vec<Thread>,
    cpus: Vec<Cpu>,
    ready: VecDeque<usize>,
    /// Longest sleeper first.
    sleepers: Vec<usize>,
    words: BTreeMap<usize, usize>,
    last_write: u64,
    slots: Box<[ThreadSlot<Stub>]>,
    report: Report,
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
    /// How the running coroutine suspends itself; null outside of a machine.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
}

type Fiber = Coroutine<(), (), ()>;

/// Runs `threads` to their end, all ready at time 0.
///
/// # Errors
/// [`Stuck`] when some thread waits and nobody will ever end that.
///
/// # Panics
/// When the machine has no CPU, when it is started from inside of a machine, or when a thread panics.
pub fn run(config: Config, threads: Vec<Box<dyn FnOnce()>>) -> Result<Report, Stuck> {
    assert!(config.cpus > 0, "a machine needs a CPU");
    assert!(YIELDER.get().is_null(), "a machine cannot run inside of a machine");
    STATE.set(Some(State::new(config, threads.len())));
    let mut yielders = vec![std::ptr::null(); threads.len()];
    let mut fibers: Vec<Fiber> = threads.into_iter().map(fiber).collect();
    while let Some(thread) = with(State::advance) {
        YIELDER.set(yielders[thread]);
        let result = panic::catch_unwind(AssertUnwindSafe(|| fibers[thread].resume(())));
        yielders[thread] = YIELDER.replace(std::ptr::null());
        match result {
            Ok(CoroutineResult::Yield(())) => {}
            Ok(CoroutineResult::Return(())) => with(|s| s.leave_cpu(thread, At::Done)),
            Err(panic) => {
                abandon(&mut fibers);
                panic::resume_unwind(panic);
            }
        }
    }
    abandon(&mut fibers);
    let State { threads, words, mut report, now, .. } = STATE.take().expect("set above");
    report.elapsed_ns = now;
    if threads.iter().all(|t| t.at == At::Done) {
        return Ok(report);
    }
    Err(Stuck { message: describe(&threads, &words), report })
}

/// Gives up the stacks of threads that will not go on.
fn abandon(fibers: &mut [Fiber]) {
    for fiber in fibers.iter_mut().filter(|f| f.started() && !f.done()) {
        // SAFETY: nothing outside points to the stack: the locks' nodes are in slots, which the machine owns and nobody
        // uses after it. What the thread owned is leaked.
        unsafe { fiber.force_reset() };
    }
}

fn fiber(body: Box<dyn FnOnce()>) -> Fiber {
    Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
        YIELDER.set(yielder);
        body();
    })
}

fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(|state| f(state.as_mut().expect("inside of a machine")))
}

fn inside() -> bool {
    !YIELDER.get().is_null()
}

fn suspend() {
    let yielder = YIELDER.get();
    // SAFETY: `run` set it to that of the coroutine which runs now, and which stays until it returns.
    unsafe { (*yielder).suspend(()) };
}

/// Takes `cost` to twice that; others may run meanwhile. Nothing outside of a machine.
pub(super) fn step(cost: u64) {
    if inside() {
        with(|s| {
            let time = cost + s.below(cost + 1);
            let cpu = s.current_cpu();
            s.cpus[cpu].next = s.now + time;
        });
        suspend();
    }
}

pub(super) fn yield_now() {
    if inside() {
        with(|s| s.leave_cpu(s.current, At::Ready));
        suspend();
    }
}

/// Looks until there is a result; between two looks the thread waits on its CPU for something to change.
pub(super) fn spin<R>(
    watched: [usize; 2],
    limit: SpinLimit,
    mut look: impl FnMut() -> Option<R>,
) -> Result<R, SpinEnd> {
    assert!(inside(), "nobody would ever end a spin outside of a machine");
    with(|s| s.threads[s.current].changed = s.now);
    loop {
        if let Some(result) = look() {
            return Ok(result);
        }
        let still = limit.still_ns.map(|ns| with(|s| s.threads[s.current].changed) + u64::from(ns));
        let limit = SpinLimit { until: limit.until.into_iter().chain(still).min(), ..limit };
        with(|s| s.spin_ended(limit))?;
        with(|s| s.watch(watched, limit));
        suspend();
    }
}

pub(super) fn park(word: usize, holds: impl FnOnce() -> bool, lane: Lane, deadline: Option<u64>) -> Parked {
    assert!(inside(), "nobody would ever wake a thread outside of a machine");
    step(Cost::CALL);
    if !holds() {
        return Parked::Changed;
    }
    note("park", word);
    with(|s| s.sleep(word, lane, deadline));
    suspend();
    with(|s| s.threads[s.current].parked)
}

pub(super) fn wake(word: usize, lane: Lane, count: u32) -> u32 {
    step(Cost::CALL);
    note("wake", word);
    if inside() { with(|s| s.wake(word, lane, count)) } else { 0 }
}

pub(super) fn requeue(from: usize, holds: impl FnOnce() -> bool, to: usize) -> Option<u32> {
    step(Cost::CALL);
    note("requeue", from);
    if !holds() || !inside() {
        return None;
    }
    Some(with(|s| s.wake(from, Lane::Waiters, 1) + s.redirect(from, to)))
}

pub(super) fn now() -> u64 {
    if inside() { with(|s| s.now) } else { 0 }
}

pub(super) fn current() -> Option<usize> {
    inside().then(|| with(|s| s.current))
}

pub(super) fn cpu() -> u32 {
    if inside() { with(|s| s.current_cpu()) as u32 } else { 0 }
}

pub(super) fn cpus() -> u32 {
    if inside() { with(|s| s.cpus.len()) as u32 } else { 1 }
}

pub(super) fn running(thread: usize) -> bool {
    with(|s| matches!(s.threads[thread].at, At::Cpu(_)))
}

pub(super) fn slot(thread: usize) -> &'static ThreadSlot<Stub> {
    with(|s| {
        let slot: *const _ = &raw const s.slots[thread];
        // SAFETY: the slots stay until `run` returns, when no thread of the machine runs any more.
        unsafe { &*slot }
    })
}

/// Writes down an operation of the running thread.
pub(super) fn note(what: &'static str, word: usize) {
    if inside() {
        with(|s| s.note(what, word));
    }
}

/// A word was written: whoever watches it looks again.
pub(super) fn wrote(word: usize) {
    if inside() {
        with(|s| {
            s.last_write = s.now;
            s.look_again(|(watched, _)| watched.contains(&word));
        });
    }
}

impl State {
    fn new(config: Config, threads: usize) -> State {
        let thread = || Thread { at: At::Ready, deadline: None, parked: Parked::Woken, watched: None, changed: 0 };
        State {
            config,
            now: 0,
            chance: config.seed,
            current: 0,
            threads: (0..threads).map(|_| thread()).collect(),
            cpus: (0..config.cpus).map(|_| Cpu::default()).collect(),
            ready: (0..threads).collect(),
            sleepers: Vec::new(),
            words: BTreeMap::new(),
            last_write: 0,
            slots: (0..threads).map(|_| ThreadSlot::new_in()).collect(),
            report: Report::default(),
        }
    }

    /// A number below `bound`, by splitmix64 (G. Steele, D. Lea and C. Flood, 2014).
    fn below(&mut self, bound: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Goes on to the next time at which a thread acts; that thread, or `None` at the end.
    fn advance(&mut self) -> Option<usize> {
        loop {
            self.fill_cpus();
            let busy = self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.thread.is_some());
            let first = busy.map(|(index, cpu)| (cpu.next, index)).min();
            let alarm = self.sleepers.iter().filter_map(|&t| Some((self.threads[t].deadline?, t))).min();
            match (first, alarm) {
                (first, Some((at, thread))) if first.is_none_or(|(next, _)| at < next) => {
                    self.now = self.now.max(at);
                    self.rouse(thread, Parked::TimedOut);
                }
                (Some((next, cpu)), _) => {
                    self.now = next;
                    if self.now - self.last_write > SILENCE_NS {
                        return None;
                    }
                    if let Some(thread) = self.keep_slice(cpu) {
                        self.current = thread;
                        self.threads[thread].watched = None;
                        return Some(thread);
                    }
                }
                (None, None) => return None,
                (None, Some(_)) => unreachable!("the first arm takes an alarm when no CPU is busy"),
            }
        }
    }

    fn fill_cpus(&mut self) {
        for index in 0..self.cpus.len() {
            if self.cpus[index].thread.is_some() {
                continue;
            }
            let Some(thread) = self.ready.pop_front() else { return };
            let slice = self.slice();
            let cpu = &mut self.cpus[index];
            cpu.next = cpu.next.max(self.now) + Cost::SWITCH;
            cpu.slice_end = cpu.next + slice;
            cpu.thread = Some(thread);
            self.threads[thread].at = At::Cpu(index);
        }
    }

    fn slice(&mut self) -> u64 {
        let half = self.config.slice_ns / 2;
        half + self.below(half + 1)
    }

    /// The CPU's thread, unless its slice is over and another is ready.
    fn keep_slice(&mut self, cpu: usize) -> Option<usize> {
        let thread = self.cpus[cpu].thread?;
        if self.now >= self.cpus[cpu].slice_end {
            if !self.ready.is_empty() {
                self.report.preemptions += 1;
                self.leave_cpu(thread, At::Ready);
                return None;
            }
            self.cpus[cpu].slice_end = self.now + self.slice();
        }
        Some(thread)
    }

    fn current_cpu(&self) -> usize {
        match self.threads[self.current].at {
            At::Cpu(cpu) => cpu,
            _ => unreachable!("the running thread is on a CPU"),
        }
    }

    fn leave_cpu(&mut self, thread: usize, to: At) {
        if let At::Cpu(cpu) = self.threads[thread].at {
            self.cpus[cpu].thread = None;
            self.cpus[cpu].next = self.now;
        }
        self.threads[thread].at = to;
        if to == At::Ready {
            self.ready.push_back(thread);
        }
        self.look_again(|(_, owner)| owner.is_some_and(|o| o == super::token(thread)));
    }

    /// Spinners of this kind act soon.
    fn look_again(&mut self, which: impl Fn(&([usize; 2], Option<Token>)) -> bool) {
        for cpu in &mut self.cpus {
            let Some(thread) = cpu.thread else { continue };
            if self.threads[thread].watched.as_ref().is_some_and(&which) {
                cpu.next = cpu.next.min(self.now + Cost::LINE);
                self.threads[thread].changed = self.now;
            }
        }
    }

    fn watch(&mut self, watched: [usize; 2], limit: SpinLimit) {
        let cpu = self.current_cpu();
        let end = self.cpus[cpu].slice_end.max(self.now + Cost::LINE);
        self.cpus[cpu].next = limit.until.map_or(end, |until| until.min(end));
        self.threads[self.current].watched = Some((watched, limit.owner));
    }

    fn spin_ended(&mut self, limit: SpinLimit) -> Result<(), SpinEnd> {
        if limit.until.is_some_and(|until| self.now >= until) {
            return Err(SpinEnd::Deadline);
        }
        let owner = limit.owner.and_then(|owner| (owner.get() as usize).checked_sub(2));
        if owner.is_some_and(|owner| !matches!(self.threads[owner].at, At::Cpu(_))) {
            self.report.spins_off_cpu += 1;
            return Err(SpinEnd::NotRunning);
        }
        Ok(())
    }

    fn sleep(&mut self, word: usize, lane: Lane, deadline: Option<u64>) {
        self.report.sleeps += 1;
        self.threads[self.current].deadline = deadline;
        self.sleepers.push(self.current);
        self.leave_cpu(self.current, At::Asleep { word, lane });
    }

    fn rouse(&mut self, thread: usize, parked: Parked) {
        self.sleepers.retain(|&t| t != thread);
        let t = &mut self.threads[thread];
        (t.deadline, t.parked, t.at) = (None, parked, At::Ready);
        self.ready.push_back(thread);
        // An idle CPU takes a while to notice.
        for cpu in self.cpus.iter_mut().filter(|cpu| cpu.thread.is_none()) {
            cpu.next = cpu.next.max(self.now + Cost::WAKE);
        }
    }

    fn sleeper(&self, word: usize, lane: Lane) -> Option<usize> {
        let here = At::Asleep { word, lane };
        self.sleepers.iter().copied().find(|&t| self.threads[t].at == here)
    }

    fn wake(&mut self, word: usize, lane: Lane, count: u32) -> u32 {
        let mut woken = 0;
        while woken < count {
            let Some(thread) = self.sleeper(word, lane) else { break };
            self.rouse(thread, Parked::Woken);
            woken += 1;
        }
        woken
    }

    fn redirect(&mut self, from: usize, to: usize) -> u32 {
        let mut moved = 0;
        while let Some(thread) = self.sleeper(from, Lane::Waiters) {
            self.threads[thread].at = At::Asleep { word: to, lane: Lane::Waiters };
            moved += 1;
        }
        moved
    }

    fn note(&mut self, what: &str, word: usize) {
        if self.config.traced {
            let (now, cpu, thread, next) = (self.now, self.current_cpu(), self.current, self.words.len());
            let word = *self.words.entry(word).or_insert(next);
            let _ = writeln!(self.report.trace, "{now} cpu {cpu} thread {thread} {what} word {word}");
        }
    }
}

fn describe(threads: &[Thread], words: &BTreeMap<usize, usize>) -> String {
    let mut out = "nobody gets on".to_owned();
    let name = |word: &usize| words.get(word).map_or_else(|| format!("{word:#x}"), |n| n.to_string());
    for (number, thread) in threads.iter().enumerate() {
        let _ = match (thread.at, &thread.watched) {
            (At::Asleep { word, lane }, _) => {
                write!(out, "; thread {number} sleeps on word {} in lane {lane:?}", name(&word))
            }
            (At::Done, _) => Ok(()),
            (_, Some((watched, _))) => write!(out, "; thread {number} spins on word {}", name(&watched[0])),
            (_, None) => write!(out, "; thread {number} can run"),
        };
    }
    out
}
