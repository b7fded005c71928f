//! What one execution of a model keeps next to loom: the threads' identities, the sleepers, the time.
//!
//! All of it is plain state, which loom does not see: a wake-up thus gives no happens-before edge, and a lock that
//! relies on one is exposed. It needs no locks either, since loom runs the threads of a model as coroutines and
//! switches only inside its own operations. No borrow of the state may be held across one of these.

use super::memory::Memory;
use super::{Identity, Loom, Races, Setup};
use crate::lab::Place;
use loom::sync::atomic::AtomicU32;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Lane, ThreadSlot, Token};

/// Threads of a model, the first one included. Loom has room for five; one tosses the coins.
pub const THREADS: usize = 4;
/// Fruitless polls in a row, by all threads together, after which no thread will make progress if each had its share.
const STALL: u32 = 60;
/// Fruitless polls of one thread that are its share: the first may return an old value, the second not.
const POLLS: u32 = 3;
/// Fruitless polls in a row after which a schedule that keeps a runnable thread waiting is not explored further.
const PATIENCE: u32 = 4;
/// Readings of the clock that may find it far advanced, in a model in which it jumps at all.
const READINGS: usize = 8;
/// How far the clock may jump when it is read: past the mutex's hand-off bound.
pub const JUMP_NS: u64 = turnwise::wait::Policy::DEFAULT.handoff_after_ns + 1_000_000;

/// What a thread is doing, for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Running,
    Spinning(Place),
    Sleeping,
    Joining,
    Finished,
}

struct Thread {
    doing: Doing,
    woken: bool,
    /// Its fruitless polls since anything last changed.
    polls: u32,
    /// Sections with preemption off that it is in.
    atomic: u32,
}

impl Thread {
    const fn new() -> Self {
        Thread { doing: Doing::Running, woken: false, polls: 0, atomic: 0 }
    }
}

/// A thread asleep.
#[derive(Clone, Copy)]
pub(super) struct Sleeper {
    pub(super) thread: usize,
    /// The word that it sleeps on, by address: it may be gone.
    pub(super) word: *const (),
    pub(super) lane: Lane,
    pub(super) expected: u32,
    pub(super) moved: bool,
}

impl fmt::Display for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = if self.moved { ", moved there by a requeue" } else { "" };
        write!(f, "word {:p} in lane {:?}, which held {:#x}{moved}", self.word, self.lane, self.expected)
    }
}

/// An operation on a word, for the trace.
struct Event {
    thread: usize,
    what: &'static str,
    at: Place,
    old: u64,
    new: u64,
}

/// A share of the coins: the next one, and the one after the last.
type Coins = std::ops::Range<usize>;

pub(super) struct ModelRun {
    name: &'static str,
    pub(super) setup: Setup,
    threads: Vec<Thread>,
    slots: Box<[ThreadSlot<Loom>]>,
    /// The sleepers, longest first.
    pub(super) sleepers: Vec<Sleeper>,
    pub(super) clock: u64,
    pub(super) generation: u32,
    coins: Rc<[AtomicU32]>,
    jumps: Coins,
    alarms: Coins,
    /// A sleeper may still wake for no reason.
    pub(super) spurious: bool,
    /// The stage is being set: nothing is tried in more than one way.
    staging: bool,
    stall: u32,
    /// How often a thread asked whether to yield its CPU.
    asked: u32,
    trace: Vec<Event>,
    /// The words that were used and not dropped, by address: a wake-up may name one that is gone.
    pub(super) words: BTreeMap<usize, Arc<AtomicU32>>,
    /// Memory that stays valid after what was in it is dropped.
    cellar: Vec<Box<dyn std::any::Any>>,
    pub(super) memory: Memory,
}

thread_local! {
    static RUN: RefCell<Option<ModelRun>> = const { RefCell::new(None) };
}

loom::thread_local! {
    static NUMBER: Cell<usize> = Cell::new(0);
}

/// Returns the number of the calling thread in its model, from 0.
pub fn number() -> usize {
    NUMBER.with(Cell::get)
}

pub(super) fn with<R>(f: impl FnOnce(&mut ModelRun) -> R) -> R {
    RUN.with_borrow_mut(|world| f(world.as_mut().expect("a lock on the Loom platform was used outside of a model")))
}

/// Begins an execution. Loom must not explore yet.
pub(crate) fn start(name: &'static str, setup: Setup) {
    let slots = (0..THREADS).map(|_| ThreadSlot::new_in()).collect();
    let jumps = if setup.jumps == 0 { 0 } else { READINGS };
    let all = jumps + usize::from(setup.alarms);
    let coins = toss(all);
    let world = ModelRun {
        name,
        threads: vec![Thread::new()],
        slots,
        sleepers: Vec::new(),
        clock: 0,
        generation: 0,
        coins,
        jumps: 0..jumps,
        alarms: jumps..all,
        spurious: setup.spurious.is_some(),
        staging: false,
        stall: 0,
        asked: 0,
        trace: Vec::new(),
        words: BTreeMap::new(),
        cellar: Vec::new(),
        memory: Memory::default(),
        setup,
    };
    RUN.set(Some(world));
}

/// Ends an execution that went well so far.
pub(crate) fn finish() {
    with(|w| {
        assert!(w.sleepers.is_empty(), "{}", w.describe());
        let all_done = w.threads[1..].iter().all(|t| t.doing == Doing::Finished);
        assert!(all_done, "{}: the model did not join all its threads", w.name);
    });
}

/// Creates coins whose side is chosen when they are first read: a thread that no thread synchronises with has stored to
/// them, so that loom lets a load see the old value or the new one, and explores both.
fn toss(count: usize) -> Rc<[AtomicU32]> {
    let coins: Rc<[AtomicU32]> = (0..count).map(|_| AtomicU32::new(0)).collect();
    if count > 0 {
        let done = Rc::new(Cell::new(false));
        let (its_coins, its_done) = (Rc::clone(&coins), Rc::clone(&done));
        loom::thread::spawn(move || {
            its_coins.iter().for_each(|coin| coin.store(1, Relaxed));
            its_done.set(true);
        });
        while !done.get() {
            loom::thread::yield_now();
        }
    }
    coins
}

/// Makes a choice that loom explores both ways; always `false` once that share of the coins is used up.
fn flip(share: impl FnOnce(&mut ModelRun) -> &mut Coins) -> bool {
    let coin = with(|w| {
        let index = if w.staging { None } else { share(w).next() };
        index.map(|index| (Rc::clone(&w.coins), index))
    });
    coin.is_some_and(|(coins, index)| coins[index].load(Relaxed) == 1)
}

/// Returns whether a sleeper's deadline comes before any other thread gets to run, as far as it depends on the clock.
pub(super) fn alarm() -> bool {
    flip(|w| &mut w.alarms)
}

pub(super) fn now() -> u64 {
    let jump = with(|w| w.setup.jumps > 0) && flip(|w| &mut w.jumps);
    with(|w| {
        w.setup.jumps = w.setup.jumps.saturating_sub(u8::from(jump));
        w.clock += if jump { JUMP_NS } else { 1 };
        w.clock
    })
}

/// Makes this a forked child from here on: of the threads that have acted so far it has only the calling one. (The
/// others have ended, perhaps in the middle of something.)
pub fn forked() {
    with(|w| w.generation += 1);
}

/// Runs `f`, and any thread that runs meanwhile, in one order only: sets the stage for what the model is about.
pub fn set_stage<R>(f: impl FnOnce() -> R) -> R {
    loom::stop_exploring();
    with(|w| w.staging = true);
    let set = f();
    with(|w| {
        w.staging = false;
        w.moved();
    });
    loom::explore();
    set
}

/// Returns whether the stage is being set: no time runs out meanwhile.
pub(super) fn is_staging() -> bool {
    with(|w| w.staging)
}

/// Runs `f` as one step.
pub(super) fn in_one_step(f: impl FnOnce()) {
    let staging = is_staging();
    if !staging {
        loom::stop_exploring();
    }
    f();
    if !staging {
        loom::explore();
    }
}

/// Sets the clock forward by [`JUMP_NS`].
pub fn later() {
    with(|w| w.clock += JUMP_NS);
}

/// Returns how many threads sleep at this moment.
pub fn sleeping() -> usize {
    with(|w| w.sleepers.len())
}

/// Sets the clock forward to `at`, if it is behind.
pub(super) fn advance_to(at: u64) {
    with(|w| w.clock = w.clock.max(at));
}

pub(super) fn token() -> Token {
    let identity = with(|w| w.setup.identity);
    if identity == Identity::Anonymous { Token::ANONYMOUS } else { token_of(number()) }
}

/// Returns the token of the thread of this number.
pub(crate) fn token_of(number: usize) -> Token {
    u32::try_from(number + 2).ok().and_then(Token::new).expect("there are few threads")
}

pub(super) fn slot(token: Token) -> &'static ThreadSlot<Loom> {
    let index = token.get().checked_sub(2).expect("an anonymous thread has no slot") as usize;
    with(|w| {
        let slot: *const _ = &raw const w.slots[index];
        // SAFETY: the slots live until the next execution starts, and no thread of this one outlives it.
        unsafe { &*slot }
    })
}

/// Puts `value` where its memory stays valid to the end of the execution, even if it is dropped before.
///
/// It is never dropped from here: drop it in place, or not at all.
pub fn keep<T: 'static>(value: T) -> &'static T {
    let kept = Box::new(std::mem::MaybeUninit::new(value));
    // SAFETY: the box goes to the cellar, which is emptied when the next execution starts; the content is initialised.
    let value = unsafe { &*kept.as_ptr() };
    with(|w| w.cellar.push(kept));
    value
}

/// Registers the word at this address.
pub(super) fn register(address: usize, word: &Arc<AtomicU32>) {
    with(|w| w.words.insert(address, Arc::clone(word)));
}

/// Notes that the word at this address is dropped. (One that outlives its execution is dropped later.)
pub(super) fn forget(address: usize) {
    let _ = RUN.try_with(|world| {
        if let Ok(mut world) = world.try_borrow_mut() {
            world.iter_mut().for_each(|w| drop(w.words.remove(&address)));
        }
    });
}

/// A thread of a model.
#[must_use = "a model joins its threads"]
pub struct Handle(loom::thread::JoinHandle<()>);

/// Words of stack for a thread: the panic handler needs more than loom's default.
const STACK_WORDS: usize = 0x4000;

/// What a thread runs.
struct Body<F>(F);

// SAFETY: the threads of a model are coroutines of one thread of the operating system, which runs one at a time.
unsafe impl<F> Send for Body<F> {}

impl<F: FnOnce()> Body<F> {
    fn run(self) {
        (self.0)();
    }
}

/// Starts a thread.
pub fn spawn(f: impl FnOnce() + 'static) -> Handle {
    let number = with(|w| {
        assert!(w.threads.len() < THREADS, "a model has at most {THREADS} threads");
        w.threads.push(Thread::new());
        w.threads.len() - 1
    });
    let body = Body(move || {
        NUMBER.with(|n| n.set(number));
        f();
        with(|w| {
            assert_eq!(w.threads[number].atomic, 0, "{}: thread {number} ends with preemption off", w.name);
            w.threads[number].doing = Doing::Finished;
            w.moved();
        });
    });
    let thread = loom::thread::Builder::new().stack_size(STACK_WORDS).spawn(move || body.run());
    Handle(thread.expect("loom always has room for a thread it was asked for"))
}

impl Handle {
    /// Waits for it to end.
    pub fn join(self) {
        set_doing(Doing::Joining);
        self.0.join().expect("a panic ends the whole model");
        set_doing(Doing::Running);
    }
}

fn set_doing(doing: Doing) {
    let me = number();
    with(|w| w.threads[me].doing = doing);
}

/// Begins or ends a section of the calling thread with preemption off.
pub(super) fn preempt(change: impl FnOnce(u32) -> u32) {
    let me = number();
    with(|w| w.threads[me].atomic = change(w.threads[me].atomic));
}

/// Fails the model if the calling thread has preemption off.
pub(super) fn may_sleep() {
    let me = number();
    with(|w| assert_eq!(w.threads[me].atomic, 0, "{}: thread {me} sleeps with preemption off", w.name));
}

/// Returns which loads are to be tried in both orders.
pub(super) fn races() -> Races {
    RUN.with_borrow(|world| world.as_ref().map_or(Races::None, |w| w.setup.races))
}

pub(super) fn need_resched() -> Option<bool> {
    with(|w| {
        w.asked += u32::from(w.setup.kernel);
        w.setup.kernel.then(|| w.asked.is_multiple_of(2))
    })
}

/// Notes one fruitless poll of a spinning thread: lets the others run.
pub(super) fn spin(at: Place) {
    set_doing(Doing::Spinning(at));
    idle();
    set_doing(Doing::Running);
}

/// Lets others run while this thread sleeps; returns when it is scheduled, woken or not.
pub(super) fn sleep() {
    set_doing(Doing::Sleeping);
    idle();
    set_doing(Doing::Running);
}

fn idle() {
    let me = number();
    let unfair = with(|w| {
        w.stall += 1;
        w.threads[me].polls += 1;
        // A thread that saw an old value before sees the newest one at its next poll: only repeat pollers are stuck.
        let all_looked = w.waiting().all(|t| t.polls >= POLLS);
        assert!(w.stall < STALL || !all_looked, "{}", w.describe());
        // At a yield loom also tries the other waiting threads in place of the ones that can make progress, repeatedly.
        // While the stage is set there is only one order, and the end of it must not be cut off.
        w.stall > PATIENCE && !all_looked && !w.staging
    });
    if unfair {
        // More unsuccessful polls bring nothing new; end this execution by the shortest way.
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// Notes that something changed: waiting threads may make progress.
pub(super) fn progress() {
    with(ModelRun::moved);
}

/// Lets the other threads run first, if they can: a long critical section, at no preemption's cost.
pub fn rest() {
    loom::thread::yield_now();
}

thread_local! {
    static SEEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes that something happened in this execution; a model can ask that it happened in some
/// ([`crate::check::Model::shows`]).
pub fn saw(what: &'static str) {
    SEEN.with_borrow_mut(|seen| seen.insert(what));
}

/// Notes this, if it is so.
pub fn saw_if(it_is: bool, what: &'static str) {
    if it_is {
        saw(what);
    }
}

/// Returns what was noted since the last call.
pub(crate) fn take_seen() -> BTreeSet<&'static str> {
    SEEN.take()
}

pub(super) fn take_woken() -> bool {
    let me = number();
    with(|w| std::mem::take(&mut w.threads[me].woken))
}

pub(super) fn name() -> &'static str {
    with(|w| w.name)
}

pub(super) fn note(what: &'static str, at: Place, old: u64, new: u64) {
    let thread = number();
    with(|w| w.trace.push(Event { thread, what, at, old, new }));
}

/// Returns where the calling thread did its last operation on a word.
pub(super) fn place_before() -> Option<Place> {
    let thread = number();
    with(|w| w.trace.iter().rfind(|e| e.thread == thread).map(|e| e.at))
}

/// Returns the last operations of the execution, for a failure report. Empty if there was no execution on this thread.
pub(crate) fn trace() -> String {
    RUN.with_borrow(|world| {
        let mut out = String::new();
        for e in world.iter().flat_map(|w| &w.trace) {
            let file = e.at.file().rsplit('/').next().unwrap_or_default();
            let _ = write!(out, "  {} {}:{} {} {:#x}", e.thread, file, e.at.line(), e.what, e.old);
            let _ = if e.old == e.new { writeln!(out) } else { writeln!(out, " -> {:#x}", e.new) };
        }
        out
    })
}

impl ModelRun {
    pub(super) fn wake_thread(&mut self, number: usize) {
        self.threads[number].woken = true;
        self.moved();
    }

    /// Notes that something changed: all polls so far no longer count.
    fn moved(&mut self) {
        self.stall = 0;
        self.threads.iter_mut().for_each(|t| t.polls = 0);
    }

    /// Returns the threads that could make progress if they were scheduled, or wait.
    fn waiting(&self) -> impl Iterator<Item = &Thread> {
        self.threads.iter().filter(|t| !matches!(t.doing, Doing::Finished | Doing::Joining))
    }

    /// Describes which thread waits for what, when none makes progress.
    pub(super) fn describe(&self) -> String {
        let mut out = format!("{}: nobody gets on", self.name);
        for (number, thread) in self.threads.iter().enumerate() {
            let _ = match (thread.doing, self.sleepers.iter().find(|s| s.thread == number)) {
                (_, Some(s)) => write!(out, "; thread {number} sleeps on {s}"),
                (Doing::Spinning(at), None) => write!(out, "; thread {number} spins at {at}"),
                (doing, None) => write!(out, "; thread {number}: {doing:?}"),
            };
        }
        out
    }
}
