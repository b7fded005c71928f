//! The models, one file per lock.
//!
//! A model is a function that loom runs once per interleaving. Each keeps the numbers small: two or three threads that
//! acquire once or twice. Data that a lock protects is a loom cell beside the raw lock, so that an access without a
//! happens-before edge to the last one fails the model whatever the interleaving.

mod condvar;
mod lineage;
mod lockref;
mod mutex;
mod osq;
mod reentrant;
mod rwsem;
mod semaphore;
mod seqrwlock;
mod spin;
mod vfs;

use crate::check::{Lock, Model};
use crate::platform::{Handle, keep, saw, spawn};
use loom::cell::UnsafeCell;

/// All models of all locks.
pub fn all() -> Vec<Model> {
    let mut all = Vec::new();
    let own = [
        osq::MODELS,
        mutex::MODELS,
        condvar::MODELS,
        spin::MODELS,
        rwsem::MODELS,
        seqrwlock::MODELS,
        lockref::MODELS,
        semaphore::MODELS,
        reentrant::MODELS,
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

/// Each thread enters the section once; the last one drops the lock as soon as it has released it. Nobody may touch a
/// word of it after that.
pub(crate) fn drop_after_release<L: Sync + 'static>(lock: L, threads: u32, section: fn(&L, &mut dyn FnMut())) {
    let (lock, entered) = (keep(lock), keep(Protected::new()));
    let body = move || {
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
    };
    let others: Vec<_> = (1..threads).map(|_| spawn(body)).collect();
    body();
    others.into_iter().for_each(Handle::join);
}
