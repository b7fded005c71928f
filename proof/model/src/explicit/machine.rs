//! What the threads of a check request, and how they are suspended and resumed.
//!
//! A thread is suspended right before each operation that others can see. One step of the search is one such operation
//! with all that the thread then does privately.

use super::memory::{Arena, Suspend};
use super::setting::{Machine, Size};
use super::state::{Choice, DEADLINE, GRAVES, NOT_RUNNING, Pending, State};
use crate::lab::{self, Place};
use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::ptr::null;
use turnwise::platform::{Deadline, Lane, Parked, SpinEnd, SpinLimit, ThreadSlot};
use turnwise::wait::Policy;

use super::{Explicit, ExplicitWord};

/// How far the clock jumps: past the time after which a waiter requests a hand-off.
const JUMP_NS: u64 = Policy::DEFAULT.handoff_after_ns + 1_000_000;

/// An operation, for the trace and for watchers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) thread: usize,
    pub(super) what: &'static str,
    pub(super) at: Place,
    pub(super) address: usize,
    pub(super) old: u64,
    pub(super) new: u64,
    /// Whether its thread's last poll was that of a spin.
    pub(super) spins: bool,
}

impl Record {
    /// Returns whether it may have changed the word at `address`.
    pub(super) fn writes<T>(&self, word: &ExplicitWord<T>) -> bool {
        let other = matches!(self.what, "load" | "cmpxchg failed" | "park" | "wake" | "requeue");
        self.address == std::ptr::from_ref(word).addr() && !other
    }
}

/// Inspects each operation, and may fail the check.
pub(super) type Watch = Box<dyn Fn(&Record)>;

/// A check in progress.
pub(super) struct CheckRun {
    pub(super) state: State,
    pub(super) machine: Machine,
    pub(super) arena: Arena,
    pub(super) slots: Vec<&'static ThreadSlot<Explicit>>,
    pub(super) trace: Vec<Record>,
    pub(super) current: usize,
}

thread_local! {
    static RUN: RefCell<Option<CheckRun>> = const { RefCell::new(None) };
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    /// How the running coroutine suspends itself; null outside of a coroutine.
    static SUSPEND: Cell<*const Suspend> = const { Cell::new(std::ptr::null()) };
}

pub(super) fn with<R>(f: impl FnOnce(&mut CheckRun) -> R) -> R {
    RUN.with_borrow_mut(|world| f(world.as_mut().expect("inside of a check")))
}

/// Starts a check: an empty arena, threads without bodies.
pub(super) fn start(machine: Machine, size: Size) {
    let state = State::new(&[], size);
    let world = CheckRun { state, machine, arena: Arena::new(), slots: Vec::new(), trace: Vec::new(), current: 0 };
    RUN.set(Some(world));
    WATCH.set(None);
    for _ in 0..super::state::THREADS {
        let slot = keep(ThreadSlot::new_in());
        with(|w| w.slots.push(slot));
    }
}

/// Resets the state once the bodies are there.
pub(super) fn ready(threads: &[bool], size: Size) {
    with(|w| {
        let clock = w.state.clock;
        w.state = State { clock, ..State::new(threads, size) };
        w.trace.clear();
    });
}

/// Ends the check. Objects are gone after this.
pub(super) fn finish() {
    WATCH.set(None);
    SUSPEND.set(std::ptr::null());
    RUN.set(None);
}

pub(super) fn keep<T: 'static>(value: T) -> &'static T {
    with(|w| w.arena.keep(value))
}

pub(super) fn watch(watch: Watch) {
    WATCH.set(Some(watch));
}

/// Runs `f` as thread `number`, alone. It does not wait.
pub(super) fn act(number: usize, f: impl FnOnce()) {
    let before = with(|w| std::mem::replace(&mut w.current, number));
    f();
    with(|w| w.current = before);
}

/// Prepares thread `number` to continue by this choice; `suspend` is the way back to it, if it already runs.
pub(super) fn begin(choice: Choice, suspend: *const Suspend) {
    let left = with(|w| {
        w.current = usize::from(choice.thread);
        w.state.begin(choice);
        std::mem::replace(&mut w.state.threads[w.current].leaves, null())
    });
    // SAFETY: null, or a counter in the arena, which stays to the end of the check.
    if let Some(counter) = unsafe { left.as_ref() } {
        counter.set(counter.get() - 1);
    }
    SUSPEND.set(suspend);
}

/// Ends a step; returns how to get back to the thread.
pub(super) fn end(done: bool) -> *const Suspend {
    if done {
        with(|w| w.state.threads[w.current].pending = Pending::Done);
    }
    SUSPEND.replace(std::ptr::null())
}

/// Notes that the running coroutine has begun.
pub(super) fn begun(suspend: &Suspend) {
    SUSPEND.set(suspend);
}

fn inside() -> bool {
    !SUSPEND.get().is_null()
}

pub(super) fn current() -> usize {
    with(|w| w.current)
}

#[inline(never)]
fn suspend(pending: Pending) -> u8 {
    with(|w| w.state.threads[w.current].pending = pending);
    // SAFETY: set to that of the coroutine which runs now, and which stays until it returns.
    unsafe { (*SUSPEND.get()).suspend(()) }
}

/// Makes the running thread leave a section, in which `counter` counts it, with its next operation.
pub(super) fn leave(counter: &Cell<u32>) {
    with(|w| w.state.threads[w.current].leaves = counter);
}

/// Lets others take any steps here.
pub(super) fn point() {
    point_before(Pending::Operation);
}

fn point_before(what: Pending) {
    if inside() && !with(|w| std::mem::take(&mut w.state.threads[w.current].pass)) {
        suspend(what);
    }
}

/// Lets the first thread, which is the caller, be stopped in `what`, `anywhere` or while it sleeps.
pub(super) fn stoppable(anywhere: bool, what: impl FnOnce()) {
    with(|w| w.state.stops_anywhere = anywhere);
    what();
    with(|w| w.state.stops_anywhere = false);
}

/// Returns whether thread `number` was stopped for ever.
pub(super) fn is_stopped(number: usize) -> bool {
    with(|w| w.state.is_stopped(number))
}

/// Returns the time, for observers.
pub(super) fn clock() -> u64 {
    with(|w| w.state.clock)
}

/// Fails the check if the word was freed.
pub(super) fn alive(address: usize, at: Place) {
    let dead = with(|w| w.state.graves[..w.state.buried].iter().any(|&(from, to)| (from..to).contains(&address)));
    assert!(!dead, "thread {} uses a lock after it was freed, at {at}", current());
}

/// Marks the lock at `value` as freed: no thread may use a word of it from here on.
pub(super) fn bury<T>(value: &'static T) {
    let from = std::ptr::from_ref(value).addr();
    with(|w| {
        assert!(w.state.buried < GRAVES, "too much is freed");
        w.state.graves[w.state.buried] = (from, from + size_of::<T>());
        w.state.buried += 1;
    });
}

/// Notes that the thread polled a word and found this.
pub(super) fn read(at: usize, value: u64) {
    if inside() {
        with(|w| w.state.threads[w.current].note_read(at, value));
    }
}

/// Notes that the thread did something: what it read before is no reason to wait.
fn acted() {
    with(|w| w.state.threads[w.current].unsteady = true);
}

/// Notes that the thread begins to wait for a change.
pub(super) fn begin_to_poll() {
    with(|w| w.state.threads[w.current].forget_reads());
}

/// Pauses in a polling loop. If nothing was polled, the loop is a delay.
#[inline(never)]
pub(super) fn relax() {
    if inside() && with(|w| w.state.threads[w.current].read > 0) {
        suspend(Pending::Vain { deadline: false, owner: false });
        look_again();
    }
}

/// Notes that the next poll follows at once: it is why the thread continues.
fn look_again() {
    with(|w| {
        let t = &mut w.state.threads[w.current];
        t.forget_reads();
        t.pass = true;
    });
}

/// After an unsuccessful poll: waits for a change, or for the end of the spin.
#[inline(never)]
pub(super) fn vain(limit: SpinLimit) -> Result<(), SpinEnd> {
    assert!(inside(), "nobody would ever end this spin");
    let machine = with(|w| w.machine);
    let (deadline, owner) = (limit.until.is_some() && machine.spins_end, limit.owner.is_some() && machine.owners_leave);
    match suspend(Pending::Vain { deadline, owner }) {
        DEADLINE => Err(SpinEnd::Deadline),
        NOT_RUNNING => Err(SpinEnd::NotRunning),
        _ => {
            look_again();
            Ok(())
        }
    }
}

/// Sleeps, if the word is as expected.
#[inline(never)]
pub(super) fn park(
    word: &ExplicitWord<u32>,
    expected: u32,
    lane: Lane,
    deadline: Option<Deadline>,
    at: Place,
) -> Parked {
    point_before(Pending::Park);
    alive(word.address(), at);
    let found = word.peek();
    note("park", at, word.address(), expected.into(), found.into());
    if found != expected {
        return Parked::Changed;
    }
    sleep(word.address(), lane, deadline.map(|d| d.at))
}

fn sleep(word: usize, lane: Lane, deadline: Option<u64>) -> Parked {
    assert!(inside(), "nobody would ever wake a thread outside of a search");
    with(|w| {
        let s = &mut w.state;
        s.sleepers[s.asleep] = w.current as u8;
        s.asleep += 1;
        s.threads[w.current].forget_reads();
    });
    suspend(Pending::Asleep { word, lane, deadline });
    with(|w| w.state.threads[w.current].parked)
}

#[inline(never)]
pub(super) fn wake(word: usize, lane: Lane, count: u32, at: Place) -> u32 {
    point();
    let asked = lab::waking(at, count);
    let mut woken = 0;
    with(|w| {
        while woken < asked {
            let Some(thread) = w.state.in_queue(word, Some(lane)) else { break };
            w.state.wake(thread);
            woken += 1;
        }
    });
    acted();
    note("wake", at, word, u64::from(count), u64::from(woken));
    woken
}

/// Wakes the first sleeper and moves the others, if the word is as expected.
#[inline(never)]
pub(super) fn requeue(from: &ExplicitWord<u32>, expected: u32, to: usize, at: Place) -> Option<u32> {
    point();
    alive(from.address(), at);
    (from.peek() == expected).then(|| move_sleepers(from.address(), to, at))
}

fn move_sleepers(from: usize, to: usize, at: Place) -> u32 {
    let most = lab::waking(at, u32::MAX);
    let moved = with(|w| {
        let mut moved = 0;
        while let Some(thread) = w.state.in_queue(from, None).filter(|_| moved < most) {
            if moved == 0 {
                w.state.wake(thread);
            } else if let Pending::Asleep { word, lane, .. } = &mut w.state.threads[thread].pending {
                (*word, *lane) = (to, Lane::Waiters);
            }
            moved += 1;
        }
        moved
    });
    acted();
    note("requeue", at, from, 0, u64::from(moved));
    moved
}

/// Returns the time, which may jump as it is read.
#[inline(never)]
pub(super) fn now() -> u64 {
    let (jumps, moves) = with(|w| (w.state.left.jumps > 0, w.state.left.timeouts > 0));
    if inside() && (jumps || moves) && suspend(Pending::Clock) == 1 {
        with(|w| {
            w.state.left.jumps -= 1;
            w.state.clock += JUMP_NS;
        });
    }
    with(|w| w.state.clock)
}

/// Returns whether a thread is found off its CPU, if the machine has such threads.
#[inline(never)]
pub(super) fn off_cpu() -> bool {
    inside() && with(|w| w.machine.owners_leave) && suspend(Pending::Ask) == 1
}

/// Returns an answer of the environment, one or the other.
pub(super) fn choose() -> bool {
    suspend(Pending::Ask) == 1
}

/// Forks the process if the search says so; returns whether this is the child, in which no other thread exists.
pub(super) fn fork() -> bool {
    let child = suspend(Pending::Fork) == 1;
    if child {
        with(|w| {
            w.state.left.forks -= 1;
            w.state.generation += 1;
            w.state.asleep = 0;
            for (index, thread) in w.state.threads.iter_mut().enumerate() {
                match thread.pending {
                    _ if index == w.current => {}
                    Pending::Unborn => thread.pending = Pending::Local,
                    _ => thread.pending = Pending::Done,
                }
            }
        });
    }
    child
}

/// Notes an operation of the running thread that writes.
pub(super) fn wrote(what: &'static str, at: Place, address: usize, old: u64, new: u64) {
    acted();
    note(what, at, address, old, new);
}

/// Notes an operation of the running thread.
pub(super) fn note(what: &'static str, at: Place, address: usize, old: u64, new: u64) {
    if !inside() {
        return;
    }
    let spins = place_before().is_some_and(lab::is_of_spin);
    let record = with(|w| {
        let record = Record { thread: w.current, what, at, address, old, new, spins };
        w.trace.push(record);
        record
    });
    WATCH.with_borrow(|watch| watch.iter().for_each(|watch| watch(&record)));
}

/// Returns where the running thread did its last operation on a word.
pub(super) fn place_before() -> Option<Place> {
    with(|w| w.trace.iter().rfind(|e| e.thread == w.current).map(|e| e.at))
}

/// Returns the operations so far, in order.
pub(super) fn trace() -> String {
    with(|w| {
        let mut out = String::new();
        for e in &w.trace {
            let file = e.at.file().rsplit('/').next().unwrap_or_default();
            let place = w.arena.offset(e.address);
            let _ = write!(out, "  {} {}:{} {} {place:#x}: {:#x}", e.thread, file, e.at.line(), e.what, e.old);
            let _ = if e.old == e.new { writeln!(out) } else { writeln!(out, " -> {:#x}", e.new) };
        }
        out
    })
}

/// Describes which thread waits for what.
pub(super) fn describe() -> String {
    with(|w| {
        let mut out = String::new();
        for (number, thread) in w.state.threads.iter().enumerate() {
            let _ = match thread.pending {
                Pending::Done | Pending::Unborn => Ok(()),
                Pending::Stopped => write!(out, "; thread {number} is stopped"),
                Pending::Asleep { word, lane, .. } => {
                    write!(out, "; thread {number} sleeps on word {:#x} in lane {lane:?}", w.arena.offset(word))
                }
                Pending::Vain { .. } => write!(out, "; thread {number} spins"),
                other => write!(out, "; thread {number}: {other:?}"),
            };
        }
        out
    })
}
