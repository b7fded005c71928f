//! The models, one file per lock.
//!
//! A model is a function that loom runs once per interleaving. Each keeps the numbers small: two or three threads that
//! acquire once or twice. Data that a lock protects is a loom cell beside the raw lock, so that an access without a
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

use crate::check::{Lock, Model};
use crate::parking::Shipped;
use crate::platform::{Handle, keep, rest, saw, spawn};
use loom::cell::UnsafeCell;
use turnwise::raw::RawLock;

pub(crate) use parking::of as parking;

/// All models of all locks.
pub fn all() -> Vec<Model> {
    let mut all = Vec::new();
    let own = [
        osq::MODELS,
        mutex::MODELS,
        condvar::MODELS,
        spin::MODELS,
        rwsem::MODELS,
        big_reader::MODELS,
        seqrwlock::MODELS,
        lockref::MODELS,
        semaphore::MODELS,
        reentrant::MODELS,
        parking::of::<Shipped>(),
    ];
    own.iter().for_each(|models| all.extend_from_slice(models));
    all.extend(lineage::all());
    all.extend(vfs::all());
    all
}

/// The models of one lock.
pub fn of(lock: Lock) -> Vec<Model> {
    all().into_iter().filter(|m| m.lock == lock).collect()
}

/// A number that a lock protects.
pub(crate) struct Protected(UnsafeCell<u32>);

// SAFETY: loom checks each access.
unsafe impl Sync for Protected {}

impl Protected {
    pub(crate) fn new() -> Self {
        Protected(UnsafeCell::new(0))
    }

    /// Adds one: the critical section.
    pub(crate) fn add(&self) {
        // SAFETY: loom fails the model if another access is not ordered with this one.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    /// Takes one away if there is one; whether there was.
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

type Shows = &'static [&'static str];
const SLEEP: Shows = &["slept"];
const EITHER: Shows = &["got it", "did not"];

/// A lock that can tell whether all is over.
trait Settles: RawLock {
    /// Nobody has the lock, and nobody waits. It may be acquired to make sure.
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.try_lock()
    }
}

/// A lock for one owner at a time, and what it protects.
struct Guarded<L> {
    raw: L,
    data: Protected,
}

impl<L: Settles> Guarded<L> {
    fn keep() -> &'static Self {
        keep(Guarded { raw: L::new_in(), data: Protected::new() })
    }

    fn section(&self) {
        self.raw.lock();
        self.leave();
    }

    /// Does the work of a thread that has the lock, and releases it.
    fn leave(&self) {
        self.data.add();
        // SAFETY: the caller has the lock.
        unsafe { self.raw.unlock() };
    }

    /// Everybody is done: `sections` were entered, and nothing is left in the lock.
    fn settled(&self, sections: u32) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        assert_eq!(self.data.get(), sections, "critical sections");
    }
}

/// All threads, the first included, do the same.
fn together(threads: u32, body: impl Fn() + Copy + Send + 'static) {
    let others: Vec<_> = (1..threads).map(|_| spawn(body)).collect();
    body();
    others.into_iter().for_each(Handle::join);
}

/// Every thread acquires `rounds` times.
fn all_lock<L: Settles>(threads: u32, rounds: u32) {
    let guarded = Guarded::<L>::keep();
    together(threads, move || (0..rounds).for_each(|_| guarded.section()));
    guarded.settled(threads * rounds);
}

/// The first thread has the lock and rests, so that `others` come to wait; then it comes again, `again` times.
fn held<L: Settles>(others: u32, again: u32) {
    let guarded = Guarded::<L>::keep();
    guarded.raw.lock();
    let handles: Vec<_> = (0..others).map(|_| spawn(move || guarded.section())).collect();
    rest();
    guarded.leave();
    (0..again).for_each(|_| guarded.section());
    handles.into_iter().for_each(Handle::join);
    guarded.settled(1 + others + again);
}

/// One thread acquires, one tries to.
fn attempt<L: Settles>() {
    let guarded = Guarded::<L>::keep();
    let other = spawn(move || guarded.section());
    let got = guarded.raw.try_lock();
    saw(if got { "got it" } else { "did not" });
    if got {
        guarded.leave();
    }
    other.join();
    guarded.settled(1 + u32::from(got));
}

/// Two threads acquire, and the last drops the lock.
fn dropped<L: RawLock>() {
    dropped_by::<L>(2);
}

fn dropped_by<L: RawLock>(threads: u32) {
    drop_after_release(L::new_in(), threads, |raw, section| {
        raw.lock();
        section();
        // SAFETY: acquired above.
        unsafe { raw.unlock() };
    });
}

/// Each thread enters the section once; the last one drops the lock as soon as it has released it. Nobody may touch a
/// word of it after that.
pub(crate) fn drop_after_release<L: Sync + 'static>(lock: L, threads: u32, section: fn(&L, &mut dyn FnMut())) {
    let (lock, entered) = (keep(lock), keep(Protected::new()));
    together(threads, move || {
        let mut last = false;
        section(lock, &mut || {
            entered.add();
            last = entered.get() == threads;
        });
        if last {
            saw("dropped");
            // SAFETY: everybody has released it, so nobody uses it again; the model fails if somebody does. The memory
            // stays.
            unsafe { std::ptr::drop_in_place(std::ptr::from_ref(lock).cast_mut()) };
        }
    });
}
