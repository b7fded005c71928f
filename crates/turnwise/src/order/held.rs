//! The locks that each thread holds, and the pairs that it has seen before.

use super::How;
use super::graph::{self, ClassId, Node, graph};
use super::report::{Fault, Report, SourceLocation, Step, tell};
use core::cell::{Cell, RefCell};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

/// A lock that a thread holds.
#[derive(Clone, Copy)]
struct Held {
    lock: usize,
    node: Node,
    how: How,
    at: SourceLocation,
    /// The value of [`STRAYED`] when it was acquired.
    since: u64,
}

/// The number of pairs that a thread remembers as being in order.
const KNOWN: usize = 256;

struct Thread {
    held: Vec<Held>,
    known: [(Node, Node); KNOWN],
    /// The value of [`STRAYED`] when this thread last checked it.
    looked: u64,
}

impl Thread {
    const NEW: Thread = Thread { held: Vec::new(), known: [(0, 0); KNOWN], looked: 0 };
}

std::thread_local! {
    static THREAD: RefCell<Thread> = const { RefCell::new(Thread::NEW) };
    /// The level for acquisitions from here on, and whether addresses define the order within a class.
    static LEVEL: Cell<(u32, bool)> = const { Cell::new((0, false)) };
}

/// Locks that were released by a thread that did not acquire them (guards of spin locks may move), and the value of
/// [`STRAYED`] after each of these releases. Such a lock has one holder at a time. So the acquisition that a release
/// ended is the last one before it: in some thread's list, this is the lock's first release after the acquisition.
static ELSEWHERE: Mutex<Vec<(usize, u64)>> = Mutex::new(Vec::new());
/// The number of releases of that kind. It is incremented before the lock is free, so the next thread to acquire the
/// lock sees that: the lock orders the two.
static STRAYED: AtomicU64 = AtomicU64::new(0);

/// Runs `f` on the thread's records, but not in a thread that is exiting, nor in a signal handler that interrupted the
/// checker: their locking goes unchecked.
fn with<R>(f: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    THREAD.try_with(|thread| thread.try_borrow_mut().ok().map(|mut thread| f(&mut thread))).ok().flatten()
}

fn node(class: &ClassId) -> Node {
    graph::node(class.number(), LEVEL.try_with(Cell::get).unwrap_or_default().0)
}

pub(super) fn before(class: &ClassId, lock: usize, how: How, at: SourceLocation) {
    let node = node(class);
    let by_address = LEVEL.try_with(Cell::get).unwrap_or_default().1;
    let next = Held::now(lock, node, how, at);
    // The handler may panic, and may lock: it is called while nothing is borrowed.
    if let Some(report) = with(|thread| thread.check(next, by_address)).flatten() {
        tell(&report);
    }
}

pub(super) fn acquired(class: &ClassId, lock: usize, how: How, at: SourceLocation) {
    let node = node(class);
    with(|thread| thread.held.push(Held::now(lock, node, how, at)));
}

/// Records that the lock is about to be released.
pub(crate) fn released(lock: usize) {
    if with(|thread| thread.take(lock).is_some()) == Some(false) {
        let mut elsewhere = ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner);
        elsewhere.push((lock, STRAYED.fetch_add(1, Relaxed) + 1));
    }
}

/// A lock that its thread releases temporarily; it counts as held again when this is dropped.
pub(crate) struct Suspended(Option<Held>);

impl Drop for Suspended {
    fn drop(&mut self) {
        if let Some(held) = self.0.take() {
            with(|thread| thread.held.push(held));
        }
    }
}

/// Records that this thread releases the lock temporarily, and checks whether acquiring it again can deadlock: now,
/// while the lock is still held, since a report may panic.
pub(crate) fn suspend(lock: usize) -> Suspended {
    let check = |thread: &mut Thread| {
        let held = thread.take(lock)?;
        let report = thread.check(held, true);
        thread.held.push(held);
        report
    };
    if let Some(report) = with(check).flatten() {
        tell(&report);
    }
    Suspended(with(|thread| thread.take(lock)).flatten())
}

impl Held {
    fn now(lock: usize, node: Node, how: How, at: SourceLocation) -> Self {
        Held { lock, node, how, at, since: STRAYED.load(Relaxed) }
    }
}

impl Thread {
    /// Removes a lock from the list: guards may be dropped in any order.
    fn take(&mut self, lock: usize) -> Option<Held> {
        let index = self.held.iter().rposition(|held| held.lock == lock)?;
        Some(self.held.remove(index))
    }

    fn check(&mut self, next: Held, by_address: bool) -> Option<Report> {
        if next.how == How::Again && self.held.iter().any(|held| held.lock == next.lock) {
            return None; // its owner does not wait for it
        }
        let strayed = STRAYED.load(Relaxed);
        if self.looked != strayed {
            self.forget_moved();
            self.looked = strayed;
        }
        for index in 0..self.held.len() {
            let held = self.held[index];
            let report = if held.lock == next.lock {
                same_lock(held, next)
            } else if !graph::is_known(held.node) || !graph::is_known(next.node) {
                None
            } else if held.node == next.node {
                if by_address && held.lock < next.lock { None } else { same_class(held, next) }
            } else {
                self.check_pair(held, next)
            };
            if report.is_some() {
                return report;
            }
        }
        None
    }

    fn check_pair(&mut self, held: Held, next: Held) -> Option<Report> {
        let pair = (held.node, next.node);
        // Fibonacci hashing of both nodes.
        let mixed = u64::from(pair.0) << 32 | u64::from(pair.1);
        let slot = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KNOWN.trailing_zeros());
        let known = &mut self.known[slot as usize];
        if *known == pair {
            return None;
        }
        *known = pair;
        let cycle = graph().add((held.node, held.at), (next.node, next.at))?;
        Some(Report { fault: Fault::Inversion, cycle })
    }

    /// Removes the locks that another thread has released on behalf of this one.
    #[cold]
    fn forget_moved(&mut self) {
        let mut moved = ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner);
        self.held.retain(|held| {
            // In the order of the releases.
            let ended = moved.iter().position(|&(lock, after)| lock == held.lock && after > held.since);
            ended.map(|index| moved.remove(index)).is_none()
        });
    }
}

fn same_lock(held: Held, next: Held) -> Option<Report> {
    let fault = match (held.how, next.how) {
        (How::Read | How::Upgradable, How::ReadRecursive) => return None,
        (How::Read, How::Read | How::Upgradable) | (How::Upgradable, How::Read) => Fault::ReadAgain,
        _ => Fault::SelfDeadlock,
    };
    // A deadlock that is certain is reported each time.
    Some(Report { fault, cycle: Vec::from([step(held, next)]) })
}

fn same_class(held: Held, next: Held) -> Option<Report> {
    let first = graph().first_report(held.node, next.node);
    first.then(|| Report { fault: Fault::SameClass, cycle: Vec::from([step(held, next)]) })
}

fn step(held: Held, next: Held) -> Step {
    let graph = graph();
    Step { held: graph.made(held.node), held_at: held.at, next: graph.made(next.node), next_at: next.at }
}

/// The number of levels of [`nested`].
pub const LEVELS: u32 = graph::LEVELS;

/// Restores the level when dropped, even by a panic.
struct Restore((u32, bool));

impl Drop for Restore {
    fn drop(&mut self) {
        let _ = LEVEL.try_with(|level| level.set(self.0));
    }
}

fn with_level<R>(level: (u32, bool), f: impl FnOnce() -> R) -> R {
    let _restore = Restore(LEVEL.with(|now| now.replace(level)));
    f()
}

/// Declares that the locks acquired in `f` belong to a separate level within their class: for locks created at one
/// place that are acquired in an order known to the program, such as parent before child. All others are at level
/// 0; a class acquired at level 1 within level 0 must never be acquired at level 0 within level 1.
///
/// ```
/// use turnwise::{Mutex, order};
///
/// let tree = [Mutex::new("parent"), Mutex::new("child")];
/// let parent = tree[0].lock();
/// let child = order::nested(1, || tree[1].lock());
/// assert_eq!((*parent, *child), ("parent", "child"));
/// ```
///
/// # Panics
/// If the level is not below [`LEVELS`].
pub fn nested<R>(level: u32, f: impl FnOnce() -> R) -> R {
    assert!(level < LEVELS, "a class has {LEVELS} levels");
    with_level((level, false), f)
}

/// Declares that locks of one class are acquired in `f` in the order of their addresses, for locks in an array or a
/// slab: an acquisition is reported if the thread holds one of the class at a higher address.
///
/// ```
/// use turnwise::{Mutex, order};
///
/// let accounts = [const { Mutex::new(10) }; 4];
/// let (from, to) = order::by_address(|| (accounts[1].lock(), accounts[3].lock()));
/// assert_eq!(*from + *to, 20);
/// ```
pub fn by_address<R>(f: impl FnOnce() -> R) -> R {
    let (level, _) = LEVEL.with(Cell::get);
    with_level((level, true), f)
}
