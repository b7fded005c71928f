//! Rare lines: events that are rare in a lock's slow paths, and must occur in some model.
//!
//! A line is a function and an operation on the word there, so that nothing has to be noted in the shipped code. A
//! model names those that it must enter ([`crate::check::Model::shows`]); some model must enter each.

use crate::check::Lock;
use crate::lab::{Done, UseSite, UseSites};
use crate::sources::{Sources, function_begun};
use std::collections::BTreeSet;

/// What is done there.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Any operation.
    Anything,
    /// These bits are set.
    Sets(u64),
    /// They are cleared.
    Clears(u64),
    /// They are found set, and stay so.
    Finds(u64),
    /// The line in the source contains this text.
    Says(&'static str),
    /// A spinner sets these bits, right after its poll.
    SpinSets(u64),
    /// It clears them.
    SpinClears(u64),
    /// A thread is woken.
    Wakes,
}

/// A rare line.
#[derive(Debug)]
pub struct Line {
    /// How models and tables call it.
    pub name: &'static str,
    /// The end of the file's name.
    file: &'static str,
    function: &'static str,
    what: What,
}

const fn line(name: &'static str, file: &'static str, function: &'static str, what: What) -> Line {
    Line { name, file, function, what }
}

use What::{Anything, Clears, Finds, Says, Sets, SpinClears, SpinSets, Wakes};

/// The way to spin of the sleeping locks.
const SPIN: &str = "wait/spin.rs";

const MUTEX: &[Line] = &[
    line("polled again at once", SPIN, "polls_closely", Says("Pause::Relax")),
    line("polled from the head", SPIN, "owner_comes_back", Says("Pause::Rest")),
    line("rested beside an owner that comes back", SPIN, "rest", Says("Pause::Rest")),
    line("spun for an owner", SPIN, "spin", Says("P::spin_until")),
    line("took it in a spin with a duty", "mutex/raw.rs", "take", SpinSets(1 << 30)),
    line("took it in a spin while first", "mutex/raw.rs", "take", SpinClears(1 << 31)),
    line("stole in a spin", "mutex/raw.rs", "take", SpinClears(1 << 30)),
    line("stole by a try", "mutex/raw.rs", "try_take", Clears(1 << 30)),
    line("requested", "mutex/wait.rs", "announce", Sets(1 << 31)),
    line("handed off", "mutex/raw.rs", "take", Clears(1 << 31)),
    line("handed off fairly", "mutex/raw.rs", "take", Clears(1 << 29)),
    line("gave up", "mutex/wait.rs", "give_up", Anything),
    line("gave up while first", "mutex/wait.rs", "give_up", Clears(1 << 31)),
    line("gave up with a duty", "mutex/wait.rs", "give_up", Sets(1 << 30)),
    line("stale hand-off cleared", "mutex/raw.rs", "clear_stale", Clears(1 << 31)),
    line("stale fair hand-off cleared", "mutex/raw.rs", "clear_stale", Clears(1 << 29)),
];

const RWSEM: &[Line] = &[
    line("polled again at once", SPIN, "polls_closely", Says("Pause::Relax")),
    line("polled from the head", SPIN, "owner_comes_back", Says("Pause::Rest")),
    line("rested beside an owner that comes back", SPIN, "rest", Says("Pause::Rest")),
    line("spun for an owner", SPIN, "spin", Says("P::spin_until")),
    line("took it in a spin with a duty", "rwsem/raw.rs", "take", SpinSets(1 << 31)),
    line("took it in a spin while first", "rwsem/raw.rs", "take", SpinClears(1 << 29)),
    line("took back a count", "rwsem/raw.rs", "take_back", Anything),
    line("requested", "rwsem/wait.rs", "announce", Sets(1 << 29)),
    line("handed off", "rwsem/raw.rs", "take", Clears(1 << 29)),
    line("gave up while first", "rwsem/wait.rs", "give_up", Clears(1 << 29)),
    line("withdrew an announcement", "rwsem/wait.rs", "give_up", Clears(1 << 31)),
    line("waited for too many readers", "rwsem/wait.rs", "wait", Says("yielder.wait")),
    line("woke the upgrader", "rwsem/wake.rs", "left", Wakes),
    line("stale flags cleared", "rwsem/raw.rs", "clear_stale", Clears(1 << 31)),
    line("stale request cleared", "rwsem/raw.rs", "clear_stale", Clears(1 << 29)),
];

const BIG_READER: &[Line] = &[
    line("entered a slot", "big_reader/raw.rs", "enter", Finds(1)),
    line("moved to a slot", "big_reader/raw.rs", "move_to_slot", Anything),
    line("woke the writer", "big_reader/raw.rs", "leave_by_gate", Wakes),
    line("spread by a reader", "big_reader/raw.rs", "spread_and_enter", Says("count")),
    line("spread again", "big_reader/raw.rs", "gather", Finds(1)),
];

const SEMAPHORE: &[Line] = &[
    line("requested", "semaphore.rs", "announce", Sets(1 << 28)),
    line("passed the place on", "semaphore.rs", "leave", Sets(1 << 29)),
    line("took a passed place", "semaphore.rs", "become_first", Clears(1 << 29)),
    line("passed on to nobody", "semaphore.rs", "pass_on", Clears(1 << 29)),
    line("gave up with a duty", "semaphore.rs", "give_up", Sets(1 << 31)),
    line("stale place cleared", "semaphore.rs", "poll", Clears(1 << 30)),
];

const CONDVAR: &[Line] = &[
    line("moved the waiters", "condvar.rs", "notify_all", Says("P::requeue")),
    line("woke all itself", "condvar.rs", "notify_all", Says("P::wake")),
    line("came with another mutex", "condvar.rs", "record_mutex", Sets(1)),
    line("notified a polling waiter", "condvar.rs", "notify", Clears(2)),
    line("polled without success", "condvar.rs", "poll", Clears(2)),
    line("stale poll cleared", "wait/spin_then_sleep.rs", "begin", Clears(2)),
];

const OSQ: &[Line] = &[
    line("left the queue", "osq.rs", "cancel", Anything),
    line("left while the one before leaves", "osq.rs", "cancel", Says("polls.wait")),
    line("waited for a neighbour", "osq.rs", "wait_next", Says("polls.wait")),
];

const LOCKREF: &[Line] = &[
    line("announced a sleep", "lockref/raw.rs", "sleep", Sets(1 << 17)),
    line("woke those who slept", "lockref/raw.rs", "wake_after", Wakes),
];

/// Returns the rare lines of a lock.
pub fn of(lock: Lock) -> &'static [Line] {
    match lock {
        Lock::Mutex => MUTEX,
        Lock::RwSem => RWSEM,
        Lock::BigReader => BIG_READER,
        Lock::Semaphore => SEMAPHORE,
        Lock::Condvar => CONDVAR,
        Lock::Osq => OSQ,
        Lock::LockRef => LOCKREF,
        _ => &[],
    }
}

impl What {
    fn is(self, done: &Done, says: &str) -> bool {
        match self {
            Anything => true,
            Says(what) => says.contains(what),
            Sets(bits) => done.set & bits == bits,
            Clears(bits) => done.cleared & bits == bits,
            Finds(bits) => done.stayed & bits == bits,
            SpinSets(bits) => done.spun_set & bits == bits,
            SpinClears(bits) => done.spun_cleared & bits == bits,
            Wakes => done.wakes > 0,
        }
    }
}

/// Returns the rare lines of a lock that these places show.
pub fn entered(lock: Lock, sources: &Sources, places: &UseSites) -> BTreeSet<&'static str> {
    let shows = |line: &&Line, (place, done): (&UseSite, &Done)| {
        place.file.ends_with(line.file)
            && sources.function(place) == line.function
            && line.what.is(done, sources.line(place))
    };
    of(lock).iter().filter(|line| places.iter().any(|at| shows(line, at))).map(|line| line.name).collect()
}

/// Returns the operations on words, sleeps and wake-ups in the sources that no model reached: file, line and text. The
/// dentry cache is left out: most of its words are numbers of files, which order nothing.
pub fn not_entered(lock: Lock, sources: &Sources, places: &UseSites) -> Vec<String> {
    if lock == Lock::Dcache {
        return Vec::new();
    }
    let entered: BTreeSet<_> = places.keys().map(|place| (place.file, place.line)).collect();
    let mut missing = Vec::new();
    for source in sources.iter() {
        let lines: Vec<_> = source.lines().collect();
        let place = |n: usize| (&lines[..n], &lines[n..]);
        let all = lines.iter().enumerate().filter(|(n, (line, _))| operates(line, place(*n).1) && !inner(place(*n).0));
        let unseen = all.filter(|(_, (_, number))| !entered.contains(&(source.file.as_str(), *number)));
        missing.extend(unseen.map(|(_, (line, number))| format!("{}:{number}: {}", source.file, line.trim())));
    }
    missing
}

/// Returns whether an operation on a word, a sleep or a wake-up begins on this line; `below`: it and those after it.
fn operates(line: &str, below: &[(&str, u32)]) -> bool {
    const CALLS: [&str; 6] = [".store(", ".swap(", ".compare_exchange(", ".fetch_", "P::park(", "P::wake("];
    const ORDERS: [&str; 4] = ["Relaxed", "Acquire", "Release", "AcqRel"];
    let code = !line.trim_start().starts_with("//") && CALLS.iter().any(|call| line.contains(call));
    let ordered = || below.iter().take(2).any(|(line, _)| ORDERS.iter().any(|order| line.contains(order)));
    code && (line.contains("P::") || ordered())
}

/// Returns whether the function at the end of these lines acts for its caller, whose places its operations have.
fn inner(above: &[(&str, u32)]) -> bool {
    let head = above.iter().rposition(|(line, _)| function_begun(line).is_some());
    let attributes = above[..head.unwrap_or(0)].iter().rev().take_while(|(line, _)| line.trim().starts_with("#["));
    { attributes }.any(|(line, _)| line.trim() == "#[track_caller]")
}
