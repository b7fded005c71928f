//! The scenes of the models, one file per lock (papers' locks share one); `own.toml` and `lab.toml` have the models.
//!
//! A scene is a function that loom runs once per interleaving. Each keeps the numbers small: two or three threads that
//! acquire once or twice. Data that a lock protects is a loom cell next to the raw lock, so that an access without a
//! happens-before edge to the last one fails the model whatever the interleaving.

mod big_reader;
mod condvar;
mod lineage;
mod lockref;
mod mutex;
mod osq;
mod parking;
mod reentrant;
mod rwsem;
mod semaphore;
mod seqrwlock;
mod spin;
mod vfs;

use crate::check::{Body, Lock, Model};
use crate::flags;
use crate::parking::{Shipped, Source};
use crate::platform::{
    Handle, JUMP_NS, Loom, LoomU32, Setup, forked, keep, later, rest, saw, saw_if, set_stage, sleeping, spawn,
};
use crate::scenarios::{self, Engine, FirstWord, Pages, Role, Section, Who, at_once, in_time};
use crate::table::{self, Call, Row};
use loom::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use turnwise::platform::{Clock, Deadline, IntWord, Platform, Word};
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock};

static MODELS: LazyLock<BTreeMap<Lock, Vec<Model>>> = LazyLock::new(read::<Shipped>);

/// Reads all models; those of the parking table with one copy of it.
fn read<S: Source>() -> BTreeMap<Lock, Vec<Model>> {
    table::read(concat!(include_str!("own.toml"), include_str!("lab.toml")), |lock, row: &Row<usize>| Model {
        name: row.name,
        lock,
        setup: Setup::of(row.machine),
        preemptions: row.bounds,
        shows: row.shows(),
        body: row.scene(|call| scene::<S>(lock, call)),
    })
}

/// Returns the models of one lock.
pub fn of(lock: Lock) -> &'static [Model] {
    MODELS.get(&lock).map_or(&[], Vec::as_slice)
}

/// Returns the models of one copy of the parking table.
pub(crate) fn parking<S: Source>() -> Vec<Model> {
    read::<S>().remove(&Lock::Parking).unwrap_or_default()
}

fn scene<S: Source>(lock: Lock, call: &mut Call) -> Body {
    by_lock! { lock call:
        Osq = osq::scene, Mutex = mutex::scene, Condvar = condvar::scene, Spin = spin::scene, RwSem = rwsem::scene,
        BigReader = big_reader::scene, SeqRwLock = seqrwlock::scene, LockRef = lockref::scene,
        Semaphore = semaphore::scene, Reentrant = reentrant::scene, Parking = parking::scene::<S>,
        KernelSpin = lineage::kernel_spin, LinuxMutex = lineage::linux_mutex, RwsemSpinlock = lineage::rwsem_spinlock,
        RwsemXadd = lineage::rwsem_xadd, DCount = lineage::d_count::scene, RenameLock = lineage::rename_lock::scene,
        Ia64Spin = lineage::ia64_spin, OsvMutex = lineage::osv_mutex, Journal = vfs::journal::scene,
        Dcache = vfs::dcache::scene,
    }
}

fn body(body: impl Fn() + Send + Sync + 'static) -> Body {
    Box::leak(Box::new(body))
}

/// The scenes of every lock.
fn lock<L: Settles>(call: &mut Call) -> Body {
    scenes! { call():
        all_lock::<L>(threads, rounds), held::<L>(others, rounds, again), wakes_and_spins::<L>(), attempt::<L>(),
        dropped::<L>(threads),
    }
}

/// The scenes of every lock whose waits can end.
fn timed_lock<L: RawTimedLock + Settles>(call: &mut Call) -> Body {
    scenes! { call(): timed::<L>(patient, at); lock::<L>(call) }
}

/// Returns a way to acquire a lock, perhaps.
fn attempt_of<L: RawTimedLock>(name: &str) -> fn(&L) -> bool {
    named! { name: try_lock = L::try_lock, soon = |raw| raw.lock_until(EARLY) }
}

/// A number that a lock protects.
pub(crate) struct Protected(UnsafeCell<u32>);

impl Protected {
    pub(crate) fn new() -> Self {
        Protected(UnsafeCell::new(0))
    }

    /// Adds one: the critical section.
    pub(crate) fn add(&self) {
        // SAFETY: loom fails the model if another access is not ordered with this one.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    /// Takes one away if there is one; returns whether there was.
    pub(crate) fn take(&self) -> bool {
        // SAFETY: as in `add`.
        self.0.with_mut(|value| unsafe {
            let some = *value > 0;
            *value -= u32::from(some);
            some
        })
    }

    pub(crate) fn get(&self) -> u32 {
        // SAFETY: as in `add`.
        self.0.with(|value| unsafe { *value })
    }
}

/// What a lock protects, how often it was counted up, and what its readers see; loom does not see the latter two.
pub(crate) struct Data {
    data: Protected,
    writes: AtomicU32,
    seen: AtomicU32,
}

impl Section for Data {
    fn new() -> Self {
        Data { data: Protected::new(), writes: AtomicU32::new(0), seen: AtomicU32::new(0) }
    }

    fn count(&self, who: Who, by: i32) {
        match (who, by > 0) {
            (Who::Writer, true) => {
                self.data.add();
                self.writes.fetch_add(1, Relaxed);
            }
            (Who::Writer, false) => _ = self.data.get(), // still its own
            (_, true) => self.seen.store(self.data.get(), Relaxed),
            (_, false) => assert_eq!(self.data.get(), self.seen.load(Relaxed), "a writer came between"),
        }
    }

    fn alone(&self) {
        self.count(Who::Writer, 1);
    }
}

impl Engine for Loom {
    type Section = Data;

    const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: JUMP_NS + 1_000 };

    fn expect(what: impl FnOnce() -> bool, or: &str) {
        assert!(what(), "{or}");
    }
}

/// An early point in time: the clock of a model without jumps stays below it.
const EARLY: Deadline = Deadline { clock: Clock::Monotonic, at: 1_000 };

/// A lock that can report whether all use has ended.
pub(crate) trait Settles: RawLock<Platform = Loom> {
    /// Returns whether no thread has the lock or waits for it. It may be acquired to make sure.
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.try_lock()
    }
}

/// Waits until this many threads sleep.
fn sleepers(count: usize) {
    while sleeping() < count {
        rest();
    }
}

/// Starts a thread for each role; returns when all of them sleep.
fn asleep<T>(shared: &'static T, roles: &[impl Fn(&T) + Copy + 'static]) -> Vec<Handle> {
    let mut threads = Vec::new();
    for (&role, count) in roles.iter().zip(1..) {
        threads.push(spawn(move || role(shared)));
        sleepers(count);
    }
    threads
}

fn join(threads: impl IntoIterator<Item = Handle>) {
    threads.into_iter().for_each(Handle::join);
}

/// A lock, and what it protects.
type Guarded<L> = scenarios::Guarded<L>;

impl<L: Settles> Guarded<L> {
    fn keep() -> &'static Self {
        keep(Guarded::new())
    }

    /// Returns a lock that the calling thread has.
    fn owned() -> &'static Self {
        let guarded = Self::keep();
        guarded.raw.lock();
        guarded
    }

    /// All threads are done: `sections` were entered, and nothing is left in the lock.
    fn settled(&self, sections: u32) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        assert_eq!(self.section.data.get(), sections, "critical sections");
    }
}

/// Makes all threads, the first included, do the same.
fn together(threads: u32, body: impl Fn() + Copy + 'static) {
    let others: Vec<_> = (1..threads).map(|_| spawn(body)).collect();
    body();
    join(others);
}

/// Every thread acquires `rounds` times; returns the lock.
fn all_lock<L: Settles>(threads: u32, rounds: u32) -> &'static Guarded<L> {
    let guarded = Guarded::<L>::keep();
    together(threads, move || (0..rounds).for_each(|_| guarded.round()));
    guarded.settled(threads * rounds);
    guarded
}

/// Starts a thread for each role.
fn start<T>(shared: &'static T, roles: &[impl Fn(&T) + Copy + 'static]) -> Vec<Handle> {
    roles.iter().map(|&role| spawn(move || role(shared))).collect()
}

/// The first thread has something, and rests, so that the others come to wait for it; then it leaves. Returns when all
/// are done.
fn wait_behind<T>(
    shared: &'static T,
    roles: &[impl Fn(&T) + Copy + 'static],
    leave: impl FnOnce(&'static T),
) -> &'static T {
    let others = start(shared, roles);
    rest();
    leave(shared);
    join(others);
    shared
}

/// The first thread has the lock and rests, so that `others` come to wait, `rounds` times each; then it comes again.
fn held<L: Settles>(others: u32, rounds: u32, again: u32) {
    let role = move |guarded: &Guarded<L>| (0..rounds).for_each(|_| guarded.round());
    let leave = |guarded: &Guarded<L>| {
        guarded.leave();
        (0..again).for_each(|_| guarded.round());
    };
    wait_behind(Guarded::owned(), &vec![role; others as usize], leave).settled(1 + others * rounds + again);
}

/// Two sleep, and the first thread releases the lock and comes again. The woken thread spins.
fn wakes_and_spins<L: Settles>() {
    let guarded = Guarded::<L>::keep();
    let sleepers = set_stage(|| {
        guarded.raw.lock();
        asleep(guarded, &[Guarded::round; 2])
    });
    guarded.leave();
    rest();
    guarded.round();
    join(sleepers);
    guarded.settled(4);
}

/// One thread waits until `at`, and comes again if it gave up; it and `patient` others wait for the first thread.
fn timed<L: RawTimedLock + Settles>(patient: u32, at: u64) {
    let deadline = Deadline { clock: Clock::Monotonic, at };
    let role = move |guarded: &Guarded<L>| {
        if !in_time(guarded.raw.lock_until(deadline)) {
            guarded.raw.lock();
        }
        guarded.leave();
    };
    let guarded = Guarded::<L>::owned();
    let timed = spawn(move || role(guarded));
    wait_behind(guarded, &vec![Guarded::round; patient as usize], Guarded::leave);
    timed.join();
    guarded.settled(2 + patient);
}

/// One thread acquires, one tries to.
fn attempt<L: Settles>() {
    attempt_beside(Guarded::round, L::try_lock, Guarded::leave);
}

/// One thread acquires, rests and does `leave`; one attempts to acquire, and does the same.
fn attempt_beside_rest<L: Settles>(attempt: fn(&L) -> bool, leave: fn(&Guarded<L>)) {
    let other = move |guarded: &Guarded<L>| {
        guarded.raw.lock();
        rest();
        leave(guarded);
    };
    attempt_beside(other, attempt, leave);
}

/// One thread attempts to acquire, and leaves, while another does `other`.
fn attempt_beside<L: Settles>(other: impl Fn(&Guarded<L>) + 'static, attempt: fn(&L) -> bool, leave: fn(&Guarded<L>)) {
    let guarded = Guarded::<L>::keep();
    let other = spawn(move || other(guarded));
    let got = at_once(attempt(&guarded.raw));
    if got {
        leave(guarded);
    }
    other.join();
    guarded.settled(1 + u32::from(got));
}

/// The threads acquire once each, and the last drops the lock.
fn dropped<L: RawLock>(threads: u32) {
    drop_after_release(L::new_in(), threads, |raw, section| {
        raw.lock();
        section();
        // SAFETY: acquired above.
        unsafe { raw.unlock() };
    });
}

/// Each thread enters the section once; the last one drops the lock as soon as it has released it. No thread may touch
/// a word of it after that.
pub(crate) fn drop_after_release<L: 'static>(lock: L, threads: u32, section: fn(&L, &mut dyn FnMut())) {
    let (lock, entered) = (keep(lock), keep(Protected::new()));
    together(threads, move || {
        let mut last = false;
        section(lock, &mut || {
            entered.add();
            last = entered.get() == threads;
        });
        if last {
            saw("dropped");
            // SAFETY: all threads have released it, so none uses it again; the model fails if one does. The memory
            // stays.
            unsafe { std::ptr::drop_in_place(std::ptr::from_ref(lock).cast_mut()) };
        }
    });
}

impl<L: RawRwLock + Settles> Pages<L> {
    /// All threads are done: any thread can acquire the lock.
    fn is_over(&self) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        let Data { data, writes, .. } = &self.section;
        assert_eq!(data.get(), writes.load(Relaxed), "critical sections of writers");
    }
}

/// All run at once, after the lock's `past`; the first role is the first thread's.
fn meet<L: RawRwLock + Settles>(past: fn(&L), roles: &'static [Role<L>]) {
    let pages = Pages::<L>::keep();
    set_stage(|| past(&pages.raw));
    let others = start(pages, &roles[1..]);
    roles[0](pages);
    join(others);
    pages.is_over();
}

/// All run at once; the first role is the first thread's.
fn mixed<L: RawRwLock + Settles>(roles: &'static [Role<L>]) {
    meet(|_| (), roles);
}

/// How the first thread has the lock, and how it leaves.
type Hold<L> = (fn(&L), Role<L>);

/// The first thread has the lock and rests, so that the others come to wait for it.
fn behind<L: RawRwLock + Settles>((acquire, leave): Hold<L>, roles: &'static [Role<L>]) {
    let pages = Pages::<L>::keep();
    acquire(&pages.raw);
    wait_behind(pages, roles, leave).is_over();
}

/// The first thread has acquired the lock, in the lock's `past`. A writer drops it while the first thread may still be
/// in its release.
fn freed<L: RawRwLock + Settles>((past, leave): (impl FnOnce(&L), Role<L>)) {
    let pages: &'static MaybeUninit<Pages<L>> = keep(MaybeUninit::new(Pages::new()));
    // SAFETY: initialised; the lock is dropped below only when the other thread no longer uses it.
    let first = unsafe { pages.assume_init_ref() };
    set_stage(|| past(&first.raw));
    let last = spawn(move || {
        scenarios::write(first);
        saw("dropped");
        // SAFETY: the other thread was in before us, so no other thread uses the lock.
        unsafe { ptr::drop_in_place((&raw const first.raw).cast_mut()) };
    });
    leave(first);
    last.join();
}
