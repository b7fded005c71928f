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
use crate::platform::saw;
use crate::scenarios::{self, Engine, Pages, Role, Section as _};
use crate::table::{self, Call, Row};
use std::cell::Cell;
use std::collections::BTreeMap;
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
        Mutex = mutex, RwSem = rwsem, BigReader = big_reader, Semaphore = semaphore, Osq = osq, LockRef = lockref,
        Condvar = condvar, Reentrant = reentrant, PreloadCond = preload_cond, PreloadWord = preload_word,
        Slots = slots, Parking = parking <S>,
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
    writers: Cell<u32>,
    readers: Cell<u32>,
    /// Readers that may write next.
    upgradable: Cell<u32>,
    entered: Cell<u32>,
}

impl Section {
    fn add(cell: &Cell<u32>, by: i32) {
        cell.set(cell.get().checked_add_signed(by).expect("as many leave as came"));
    }

    /// Counts a section that was entered.
    fn count(&self) {
        self.entered.set(self.entered.get() + 1);
    }

    fn look(&self) {
        scrub();
        let (writers, readers, upgradable) = (self.writers.get(), self.readers.get(), self.upgradable.get());
        let alone = writers == 0 || writers == 1 && readers == 0 && upgradable == 0;
        assert!(alone && upgradable <= 1, "inside: {writers} writers, {readers} readers, {upgradable} upgradable ones");
    }
}

impl scenarios::Section for Section {
    fn new() -> Self {
        let none = || Cell::new(0);
        Section { writers: none(), readers: none(), upgradable: none(), entered: none() }
    }

    fn write(&self, by: i32) {
        Self::add(&self.writers, by);
        self.look();
    }

    fn read(&self, by: i32) {
        Self::add(&self.readers, by);
        self.look();
    }

    fn upgradable(&self, by: i32) {
        Self::add(&self.upgradable, by);
        self.look();
    }

    fn alone(&self) {
        self.write(1);
        self.count();
    }

    fn leave_writing(&self) {
        leave(&self.writers);
    }

    fn leave_reading(&self) {
        leave(&self.readers);
    }

    fn leave_upgradable(&self) {
        leave(&self.upgradable);
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

/// Returns the word that a lock begins with.
///
/// # Safety
/// `lock` is `repr(C)`, and its first field is a word of 32 bits.
unsafe fn word<L>(lock: &L) -> &ExplicitWord<u32> {
    // SAFETY: guaranteed by the caller.
    unsafe { &*ptr::from_ref(lock).cast() }
}

/// Starts one thread for each role, up to the number of threads.
fn start<T>(stage: &CheckSetup, size: Size, shared: &'static T, roles: &'static [fn(&T)]) {
    for &role in &roles[..size.threads] {
        stage.spawn_rounds(size.rounds, move || role(shared));
    }
}

/// Each thread comes once, by `enter`, and leaves by `leave`; the last one frees the lock right after its release.
fn freed<L>(
    stage: &CheckSetup,
    size: Size,
    (lock, section): (&'static L, &'static Section),
    enter: impl Fn(usize) + Copy + 'static,
    leave: impl Fn(usize) + Copy + 'static,
) {
    for thread in 0..size.threads {
        stage.spawn(move || {
            enter(thread);
            section.count();
            let last = section.entered.get() as usize == size.threads;
            leave(thread);
            if last {
                saw("freed");
                bury(lock);
            }
        });
    }
}

/// Each thread locks once, and the last one frees the lock.
fn freed_lock<L: RawLock<Platform = Explicit>>(
    stage: &CheckSetup,
    size: Size,
    guarded: &'static scenarios::Guarded<L>,
) {
    let enter = move |_| {
        guarded.raw.lock();
        guarded.section.write(1);
    };
    freed(stage, size, (&guarded.raw, &guarded.section), enter, move |_| guarded.release());
}

/// The first thread reads, the others write, and the last one frees the lock.
fn freed_pages<L: RawRwLock<Platform = Explicit>>(stage: &CheckSetup, size: Size, pages: &'static Pages<L>) {
    let enter = move |thread| if thread == 0 { pages.raw.read() } else { pages.raw.lock() };
    let leave = move |thread| if thread == 0 { pages.leave_reading() } else { pages.leave_writing() };
    freed(stage, size, (&pages.raw, &pages.section), enter, leave);
}
