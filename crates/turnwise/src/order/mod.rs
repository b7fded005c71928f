//! The lock-order checker, feature `order-check`: reports a deadlock before it happens, and one that might have.
//!
//! Every lock belongs to a *class*: the place in the source where it was made (`Mutex::new(..)` at file, line and
//! column). The checker notes which classes are acquired while which others are held. An acquisition that closes a
//! cycle is reported at once, whether or not the threads would have met this time: with both places of every step.
//!
//! | reported | what |
//! |---|---|
//! | `Fault::Inversion` | the classes were acquired in the other order before, directly or by way of others |
//! | `Fault::SelfDeadlock` | the thread waits for a lock that it holds itself |
//! | `Fault::ReadAgain` | the thread acquires for reading what it holds for reading: if a writer comes in between, both wait for ever |
//! | `Fault::SameClass` | two locks of one class at a time, in an undeclared order (`nested`, `by_address`) |
//!
//! What does not wait cannot deadlock: `try_` forms without a time are not checked, but what they acquired counts as
//! held. Guards may be dropped in any order. A condition variable's wait gives its mutex up and acquires it again.
//!
//! A report panics in the thread that is about to acquire, before it does, unless `set_handler` says otherwise.
//! Each pair of classes is reported once.
//!
//! Mutex, readers-writer lock, sequence lock, spin locks and the re-entrant mutex are checked, in their typed
//! forms, and the lock of a `LockRef`. Optimistic reads, and changes of a count, are not acquisitions, unless they
//! come to take the lock after all. A semaphore has no owner; raw locks, and locks in memory that was zeroed
//! instead of made, have no class. The checker uses std's locks, never ours, and no lock at all for what it has
//! seen before. It knows threads of the operating system, not those of a simulator.

#[cfg(feature = "order-check")]
mod graph;
#[cfg(feature = "order-check")]
mod held;
#[cfg(feature = "order-check")]
mod report;

#[cfg(feature = "order-check")]
pub use held::{LEVELS, by_address, nested};
#[cfg(feature = "order-check")]
pub use report::{Fault, Report, SourceLocation, Step, set_handler};

/// How a lock is acquired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "order-check"), allow(dead_code, reason = "told to a checker that is off"))]
pub(crate) enum How {
    /// It excludes all others.
    Write,
    /// It is shared with readers, but with none that may upgrade.
    Upgradable,
    /// It is shared with other readers.
    Read,
    /// The same, past writers that wait: by a thread that may read already.
    ReadRecursive,
}

/// The place where a lock was made. It has no bytes without the feature.
///
/// A typed lock has one as a field, made in each of its constructors (which know their caller), and calls
///
/// * [`Class::before`] before it acquires in a way that may wait,
/// * [`Class::acquired`] when it has the lock,
/// * [`released`] before it releases it, or [`suspend`] before it gives it up for a while,
///
/// with the address of the raw lock as the lock's name, in functions that know their caller
/// (`#[cfg_attr(feature = "order-check", track_caller)]`).
pub(crate) struct Class {
    #[cfg(feature = "order-check")]
    id: graph::ClassId,
}

#[cfg(feature = "order-check")]
impl Class {
    #[track_caller]
    pub(crate) const fn new() -> Self {
        Class { id: graph::ClassId::new(core::panic::Location::caller()) }
    }

    /// Checks whether acquiring the lock now can deadlock.
    #[track_caller]
    pub(crate) fn before(&self, lock: usize, how: How) {
        held::before(&self.id, lock, how, core::panic::Location::caller());
    }

    /// Notes that this thread has the lock.
    #[track_caller]
    pub(crate) fn acquired(&self, lock: usize, how: How) {
        held::acquired(&self.id, lock, how, core::panic::Location::caller());
    }
}

#[cfg(feature = "order-check")]
pub(crate) use held::{released, suspend};

#[cfg(not(feature = "order-check"))]
impl Class {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Class {}
    }

    #[inline(always)]
    pub(crate) fn before(&self, _lock: usize, _how: How) {}

    #[inline(always)]
    pub(crate) fn acquired(&self, _lock: usize, _how: How) {}
}

/// Notes that the lock is about to be released.
#[cfg(not(feature = "order-check"))]
#[inline(always)]
pub(crate) fn released(_lock: usize) {}

/// A lock that its thread gives up for a while.
#[cfg(not(feature = "order-check"))]
pub(crate) struct Suspended;

/// Notes that this thread gives the lock up until the result is dropped.
#[cfg(not(feature = "order-check"))]
#[inline(always)]
pub(crate) fn suspend(_lock: usize) -> Suspended {
    Suspended
}

#[cfg(not(feature = "order-check"))]
const _: () = assert!(size_of::<Class>() == 0 && align_of::<Class>() == 1, "costs nothing when off");
