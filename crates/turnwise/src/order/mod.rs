//! The lock-order checker, feature `order-check`: reports deadlocks before they happen, and potential ones.
//!
//! Every lock belongs to a *class*: the place in the source where it was created (`Mutex::new(..)` at file, line and
//! column). The checker records which classes are acquired while others are held. An acquisition that closes a cycle is
//! reported at once, with both places of every step, whether or not the threads would have deadlocked this time.
//!
//! | reported | meaning |
//! |---|---|
//! | `Fault::Inversion` | the classes were acquired in the opposite order before, directly or via others |
//! | `Fault::SelfDeadlock` | the thread waits for a lock that it holds itself |
//! | `Fault::ReadAgain` | the thread acquires for reading a lock that it holds for reading: if a writer comes in between, both wait for ever |
//! | `Fault::SameClass` | two locks of one class at a time, in an undeclared order (`nested`, `by_address`) |
//!
//! An acquisition without a wait cannot deadlock: `try_` forms without a time are unchecked, but their locks count as
//! held. Guards may be dropped in any order. A condition variable's wait releases and reacquires its mutex.
//!
//! A report panics in the thread that is about to acquire, before it does, unless `set_handler` changes that. Each pair
//! of classes is reported once.
//!
//! Mutex, readers-writer lock, sequence lock, spin locks and the re-entrant mutex are checked, in their typed forms,
//! and the lock of a `LockRef`. Optimistic reads, and changes of a count, are not acquisitions, unless they end up
//! taking the lock. A semaphore has no owner; raw locks, and locks in memory that was zeroed rather than initialised,
//! have no class. The checker uses std's locks, never ours, and no lock at all for pairs it has seen before. It knows
//! threads of the operating system, not those of a simulator.

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
#[cfg_attr(not(feature = "order-check"), allow(dead_code, reason = "for a checker that is off"))]
pub(crate) enum How {
    /// It excludes all others.
    Write,
    /// It excludes all other threads; its owner may acquire it again.
    Again,
    /// It is shared with readers, but with no other that may upgrade.
    Upgradable,
    /// It is shared with other readers.
    Read,
    /// The same, past waiting writers: by a thread that may already read.
    ReadRecursive,
}

/// The place where a lock was created. It has zero size without the feature.
///
/// A typed lock has one as a field, created in each of its constructors (which know their caller), and calls
///
/// * [`Class::before`] before it acquires in a way that may wait,
/// * [`Class::acquired`] when it has the lock,
/// * [`released`] before it releases it, or [`suspend`] before it releases it temporarily,
///
/// with the address of the raw lock as the lock's name, in functions that know their caller
/// (`#[cfg_attr(feature = "order-check", track_caller)]`).
pub(crate) struct Class {
    #[cfg(feature = "order-check")]
    id: graph::ClassId,
}

impl Class {
    #[inline(always)]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) const fn new() -> Self {
        Class {
            #[cfg(feature = "order-check")]
            id: graph::ClassId::new(core::panic::Location::caller()),
        }
    }

    /// Checks whether acquiring the lock now can deadlock.
    #[inline(always)]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) fn before(&self, _lock: usize, _how: How) {
        #[cfg(feature = "order-check")]
        held::before(&self.id, _lock, _how, core::panic::Location::caller());
    }

    /// Records that this thread has the lock.
    #[inline(always)]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) fn acquired(&self, _lock: usize, _how: How) {
        #[cfg(feature = "order-check")]
        held::acquired(&self.id, _lock, _how, core::panic::Location::caller());
    }
}

#[cfg(feature = "order-check")]
pub(crate) use held::{released, suspend};

/// Records that the lock is about to be released.
#[cfg(not(feature = "order-check"))]
#[inline(always)]
pub(crate) fn released(_lock: usize) {}

/// Records that this thread releases the lock until the result is dropped.
#[cfg(not(feature = "order-check"))]
#[inline(always)]
pub(crate) fn suspend(_lock: usize) -> impl Sized {}

#[cfg(not(feature = "order-check"))]
const _: () = assert!(size_of::<Class>() == 0 && align_of::<Class>() == 1, "costs nothing when off");
