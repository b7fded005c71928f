//! The test-and-test-and-set lock: poll until the lock is free, then try to take it. (L. Rudolph and Z. Segall,
//! "Dynamic Decentralized Cache Schemes for MIMD Parallel Processors", 1984.) Example: [`SpinLock`].
//!
//! ```text
//! lock    0 -> my mark; else back off and poll until it is 0 (timed: or the deadline), and again
//! try     it is 0: 0 -> my mark, once
//! unlock  0
//! ```
//!
//! The word, 4 bytes:
//!
//! | value | state | next |
//! |---|---|---|
//! | 0 | free | the owner's mark, by the first thread to arrive |
//! | another | held: the owner's mark, 1 unless the back-off policy defines others | 0, by the owner |
//!
//! Invariants:
//! 1. A thread that changes 0 to its mark has the lock until it stores 0.
//! 2. That store is the owner's last access: the next owner may free the memory.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread at a time owns the lock; it sees what earlier owners wrote (spinlock.acquire, spinlock.release).
//! - A2. The release is the owner's last access (invariant 2).
//! - P1. A free lock is taken by one of the threads that poll; there is no order, and one may be overtaken for ever.
//! - P2. A waiter leaves no trace in the word: a wait can end at a deadline at any time, and a forked child may wait.

use crate::backoff::{Backoff, NoBackoff};
use crate::events::{Counters, Event, Kind};
use crate::lock::Lock;
use crate::platform::{DefaultPlatform, Platform, Word};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const FREE: u32 = 0;

/// A test-and-test-and-set lock without data. All-zero bytes are an unlocked lock.
///
/// ```
/// use turnwise::{RawLock, RawSpinLock};
///
/// static LOCK: RawSpinLock = RawSpinLock::new();
/// assert!(LOCK.try_lock() && !LOCK.try_lock());
/// ```
#[repr(C)]
pub struct RawSpinLock<B: Backoff = NoBackoff, P: Platform = DefaultPlatform> {
    word: P::U32,
    backoff: PhantomData<fn() -> B>,
    counters: Counters<{ Kind::SpinLock as usize }>,
}

/// Data of type `T` behind a test-and-test-and-set lock. Timed waits are exact: a waiter leaves no trace.
///
/// ```
/// use turnwise::SpinLock;
///
/// static HITS: SpinLock<u64> = SpinLock::new(0);
/// *HITS.lock() += 1;
/// assert_eq!(*HITS.lock(), 1);
/// ```
///
/// With back-off: [`Exponential`](crate::backoff::Exponential).
pub type SpinLock<T, B = NoBackoff, P = DefaultPlatform> = Lock<RawSpinLock<B, P>, T>;

raw_constructors!(plain RawSpinLock [B: Backoff,] [B,], "an unlocked lock", {
    word: U32,
    backoff: (PhantomData),
    counters: (Counters::new()),
});
data_constructors!(plain Lock, RawSpinLock [B: Backoff,] [B,], "an unlocked lock");

// SAFETY: `spinlock.acquire` admits one thread (invariant 1), with a deadline, too, and pairs with `spinlock.release`;
// the store in `release` is its last access (invariant 2).
spin_lock!([B: Backoff,] RawSpinLock<B, P>, "SpinLock", Spun, |lock| !is_held(lock.word.load(Relaxed)) && lock.take());

const fn is_held(word: u32) -> bool {
    word != FREE
}

impl<B: Backoff, P: Platform> RawSpinLock<B, P> {
    /// Takes a free lock.
    #[inline]
    fn take(&self) -> bool {
        // ORDERING spinlock.acquire: pairs with spinlock.release; shows what the last owner wrote.
        self.word.compare_exchange(FREE, B::mark::<P>(), Acquire, Relaxed).is_ok()
    }

    #[inline]
    fn release(&self) {
        // ORDERING spinlock.release: pairs with spinlock.acquire: shows what we wrote.
        self.word.store(FREE, Release);
    }

    #[inline]
    fn lock_slow(&self) {
        self.attempt(None);
    }

    #[cold]
    fn attempt(&self, until: Option<u64>) -> bool {
        let mut backoff = B::start();
        loop {
            if backoff.wait::<P>(&self.word, |word| word, until).is_err() {
                return false;
            }
            if self.take() {
                return true;
            }
        }
    }
}

shows!([B: Backoff, P: Platform] RawSpinLock<B, P>, |lock| locked: is_held(lock.word.load(Relaxed)));

#[cfg(not(feature = "stats"))]
const _: () = assert!(size_of::<RawSpinLock>() == 4, "one word");
