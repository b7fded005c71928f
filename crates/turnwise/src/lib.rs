//! Adaptive locks: queue the spinners, spin only while the owner runs, release before waking, bound every wait.
//!
//! Every lock is written once, generic over [`platform::Platform`]; users write `Mutex<T>` and get the native platform
//! ([`platform::DefaultPlatform`]).
//!
//! | for | take |
//! |---|---|
//! | data shared between threads | [`Mutex`], [`Condvar`] |
//! | data that many read and few write | [`RwSem`] (also as [`RwLock`]) |
//! | data that many CPUs read all the time and that is hardly ever written | [`BigReaderLock`] |
//! | small values that are read far more often than written | [`SeqRwLock`] |
//! | objects that count their references, and have a lock | [`LockRef`], [`LockRefCell`] |
//! | data that a thread may lock again while it holds the lock | [`ReentrantMutex`] |
//! | several threads at a time instead of one | [`Semaphore`], [`FairSemaphore`] |
//! | a few instructions in a kernel or under a pinned thread per CPU | [`SpinLock`], [`TicketLock`], [`QueuedSpinLock`], [`McsLock`] |
//! | the lock_api ecosystem | `RawMutex`, `RawRwSem` with feature `lock_api` |
//!
//! Feature `stats` counts what happens to each lock ([`events`]); feature `order-check` reports deadlocks before they
//! happen ([`order`]); feature `live` reports waits to a watcher (module `live`). docs/migrating.md has a row for each
//! type of `std::sync` and parking_lot.
//!
//! The locks do not poison: a panic while a lock is held releases it, and the next owner sees the data as they are.
#![no_std]
// On docs.rs, which has a nightly compiler, items that need a feature are marked with its name.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What the API guidelines require and a lint can check; each deviation states its reason in place (docs/api-review.md).
#![warn(missing_copy_implementations, missing_debug_implementations)]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::must_use_candidate)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!("turnwise needs atomics of 64 bits, which this target does not have");

#[cfg(any(test, miri, feature = "order-check"))]
extern crate std;

// First, for its macros.
#[macro_use]
pub mod platform;

pub mod backoff;
pub mod big_reader;
pub mod condvar;
pub mod events;
#[cfg(feature = "live")]
pub mod live;
pub mod lock;
#[cfg(feature = "lock_api")]
mod lock_api_impl;
pub mod lockref;
pub mod mutex;
pub mod order;
pub mod osq;
pub mod raw;
pub mod reentrant;
pub mod rwlock;
pub mod rwsem;
pub mod semaphore;
pub mod seqrwlock;
pub mod spin;
pub mod wait;

pub use big_reader::{BigReaderLock, BigReaderReadGuard, BigReaderWriteGuard, RawBigReaderLock};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lock::{Lock, LockGuard, MappedLockGuard};
pub use lockref::{LockRef, LockRefCell, LockRefCellGuard, LockRefGuard};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, RawMutex};
pub use raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
pub use reentrant::{RawReentrantMutex, ReentrantMutex, ReentrantMutexGuard};
pub use rwsem::{
    MappedRwSemReadGuard, MappedRwSemWriteGuard, RawRwSem, RwLock, RwSem, RwSemReadGuard, RwSemUpgradableGuard,
    RwSemWriteGuard,
};
pub use semaphore::{FairSemaphore, Permits, Semaphore};
pub use seqrwlock::{RawSeqRwLock, SeqReadGuard, SeqReader, SeqRwLock, SeqWriteGuard};
pub use spin::{
    McsLock, QueuedSpinLock, RawMcsLock, RawQueuedSpinLock, RawSpinLock, RawTicketLock, SpinLock, TicketLock,
};
