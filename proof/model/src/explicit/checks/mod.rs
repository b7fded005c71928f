//! The scenes of the checks, one file per lock; `../checks.toml` has the checks.

mod big_reader;
mod condvar;
mod lockref;
mod mutex;
mod osq;
mod parking;
mod preload_cond;
mod preload_word;
mod reentrant;
mod rwsem;
mod semaphore;
mod slots;

use super::check::{Body, Check, CheckSetup, Record, bury, choose, clock, fork, is_stopped, leave, stoppable};
use super::memory::scrub;
use super::{Explicit, ExplicitWord, Machine, Size};
use crate::lock::Lock;
use crate::parking::{Shipped, Source};
use crate::platform::{saw, saw_if};
use crate::scenarios::Who::{self, Reader, Writer};
use crate::scenarios::{self, Engine, FirstWord, Pages, Role, Section as _, Stage};
use crate::table::{self, Call, Row};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::ptr;
use std::sync::LazyLock;
use turnwise::platform::{Clock, Deadline, Platform, Word};
use turnwise::raw::{RawLock, RawRwLock};
use turnwise::wait::Tuned;

static CHECKS: LazyLock<BTreeMap<Lock, Vec<Check>>> = LazyLock::new(read::<Shipped>);

/// Reads all checks; those of the parking table with one copy of it.
fn read<S: Source>() -> BTreeMap<Lock, Vec<Check>> {
    table::read(include_str!("../checks.toml"), |lock, row: &Row<&str>| Check {
        name: row.name,
        machine: Machine::of(row.machine),
        sizes: (Size::read(row.bounds.0), Size::read(row.bounds.1)),
        shows: row.shows(),
        body: row.scene(|call| scene::<S>(lock, call)),
    })
}

/// Returns the checks of one lock.
pub fn of(lock: Lock) -> &'static [Check] {
    CHECKS.get(&lock).map_or(&[], Vec::as_slice)
}

/// Returns the checks of one copy of the parking table.
pub(crate) fn parking<S: Source>() -> Vec<Check> {
    read::<S>().remove(&Lock::Parking).unwrap_or_default()
}

fn scene<S: Source>(lock: Lock, call: &mut Call) -> Body {
    by_lock! { lock call:
        Mutex = mutex::scene, RwSem = rwsem::scene, BigReader = big_reader::scene, Semaphore = semaphore::scene,
        Osq = osq::scene, LockRef = lockref::scene, Condvar = condvar::scene, Reentrant = reentrant::scene,
        PreloadCond = preload_cond::scene, PreloadWord = preload_word::scene, Slots = slots::scene,
        Parking = parking::scene::<S>,
    }
}

fn body(body: impl Fn(&CheckSetup, Size) + Send + Sync + 'static) -> Body {
    Box::leak(Box::new(body))
}

/// Sleeps at once, and requests a hand-off as soon as it was woken without success.
const AT_ONCE: Tuned = Tuned { spin_ns: Some(0), handoff_after_ns: Some(0), yield_after_ns: None };

/// A deadline that the clock does not reach by jumps.
const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: 20_000_000 };

/// How long a lock is reserved for a thread that does not come, as in `wait/lapse.rs`.
const RESERVED_NS: u64 = 50_000_000;

/// What a lock protects: the threads inside. Each call is made in the step of the operation before it, so that no
/// thread comes in between.
pub(crate) struct Section {
    /// By [`Who`].
    inside: [Cell<u32>; 3],
    entered: Cell<u32>,
}

impl Section {
    /// Counts a section that was entered.
    fn enter(&self) {
        self.entered.set(self.entered.get() + 1);
    }
}

impl scenarios::Section for Section {
    fn new() -> Self {
        Section { inside: Default::default(), entered: Cell::new(0) }
    }

    fn count(&self, who: Who, by: i32) {
        let inside = &self.inside[who as usize];
        inside.set(inside.get().checked_add_signed(by).expect("as many leave as came"));
        scrub();
        let [writers, readers, upgradable] = self.inside.each_ref().map(Cell::get);
        let alone = writers == 0 || writers == 1 && readers == 0 && upgradable == 0;
        assert!(alone && upgradable <= 1, "inside: {writers} writers, {readers} readers, {upgradable} upgradable ones");
    }

    fn alone(&self) {
        self.count(Writer, 1);
        self.enter();
    }

    fn leave(&self, who: Who) {
        leave(&self.inside[who as usize]);
    }
}

impl Engine for Explicit {
    type Section = Section;

    const SOON: Deadline = SOON;

    /// An operation more is a state more.
    fn expect(_what: impl FnOnce() -> bool, _or: &str) {}
}

/// The thread that has requested a hand-off of a lock that has a flag for that: its number + 1.
struct Request(Cell<usize>);

impl Request {
    fn new() -> Self {
        Request(Cell::new(0))
    }

    /// `thread` wrote the word: the flag was `set` or `cleared`, and it has `taken` the lock, perhaps while it was
    /// `pending`. Only the hand-off waiter may do that before a hand-off can have lapsed; then no hand-off remains
    /// pending.
    fn follow(&self, thread: usize, (taken, pending): (bool, bool), (set, cleared): (bool, bool)) {
        let handoff_waiter = self.0.get();
        if taken && pending {
            assert!(cleared, "taken, and still promised");
            let lapsed = thread + 1 != handoff_waiter;
            assert!(
                !lapsed || clock() >= RESERVED_NS,
                "thread {thread} overtakes the hand-off waiter, {handoff_waiter} - 1"
            );
            saw(if lapsed { "lapsed" } else { "handed off" });
        }
        if !taken && cleared {
            saw(if thread + 1 == handoff_waiter { "gave up while first" } else { "stale hand-off cleared" });
        }
        if set {
            self.0.set(thread + 1);
            saw("requested");
        } else if cleared {
            self.0.set(0);
        }
    }

    /// The hand-off waiter does not exist in a forked child.
    fn vanish(&self) {
        self.0.set(0);
    }
}

/// A lock and what it protects; each operation on its word is inspected.
pub(super) struct Watched<L: RawLock<Platform = Explicit>> {
    pages: Pages<L>,
    request: Request,
    /// In a forked child: a thread that has the lock, or seems to have it, has vanished.
    kept: Cell<bool>,
}

impl<L: RawLock<Platform = Explicit>> Watched<L> {
    fn keep_watched(stage: &CheckSetup, watch: fn(&Self, &Record)) -> &'static Self {
        stage.keep_watched(Watched { pages: Pages::new(), request: Request::new(), kept: Cell::new(false) }, watch)
    }
}

impl<L: RawLock<Platform = Explicit>> Deref for Watched<L> {
    type Target = Pages<L>;

    fn deref(&self) -> &Pages<L> {
        &self.pages
    }
}

/// Starts one thread for each role.
fn start<T>(stage: &CheckSetup, rounds: u32, shared: &'static T, roles: &'static [fn(&T)]) {
    for &role in roles {
        stage.spawn_rounds(rounds, move || role(shared));
    }
}

type Step<L> = fn(&Pages<L>);

/// Each thread comes once, by the first function that its number gives, and leaves by the second; the last one frees
/// the lock right after its release.
fn freed<L: RawLock<Platform = Explicit>>(
    stage: &CheckSetup,
    size: Size,
    guarded: &'static Pages<L>,
    does: fn(usize) -> [Step<L>; 2],
) {
    for thread in 0..size.threads {
        let [enter, leave] = does(thread);
        stage.spawn(move || {
            enter(guarded);
            guarded.section.enter();
            let last = guarded.section.entered.get() as usize == size.threads;
            leave(guarded);
            if last {
                saw("freed");
                bury(&guarded.raw);
            }
        });
    }
}

/// Each thread locks once, and the last one frees the lock.
fn freed_lock<L: RawLock<Platform = Explicit>>(stage: &CheckSetup, size: Size, guarded: &'static Pages<L>) {
    freed(stage, size, guarded, |_| {
        let enter = |guarded: &Pages<L>| {
            guarded.raw.lock();
            guarded.section.count(Writer, 1);
        };
        [enter, Pages::release]
    });
}

/// The first thread reads, the others write, and the last one frees the lock.
fn freed_pages<L: RawRwLock<Platform = Explicit>>(stage: &CheckSetup, size: Size, pages: &'static Pages<L>) {
    freed(stage, size, pages, |thread| match thread {
        0 => [|pages| pages.raw.read(), Pages::leave_reading],
        _ => [|pages| pages.raw.lock(), Pages::leave_writing],
    });
}
