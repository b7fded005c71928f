//! The models, one file per lock.
//!
//! A model is a function that loom runs once per interleaving. Each keeps the numbers small: two or three threads that
//! acquire once or twice. Data that a lock protects is a loom cell beside the raw lock, so that an access without a
//! happens-before edge to the last one fails the model whatever the interleaving.

mod condvar;
mod mutex;
mod osq;

use crate::check::{Lock, Model};
use loom::cell::UnsafeCell;

/// All models of all locks.
pub fn all() -> Vec<Model> {
    [osq::MODELS, mutex::MODELS, condvar::MODELS].concat()
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

    pub(crate) fn get(&self) -> u32 {
        // SAFETY: as in `add`.
        self.0.with(|value| unsafe { *value })
    }
}
