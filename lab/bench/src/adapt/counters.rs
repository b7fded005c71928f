//! Counts of references that need no lock, or seldom.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use turnwise_catalogue::RefCount;

/// `Arc`: cloned and dropped.
pub struct Clones(Arc<()>);

impl RefCount for Clones {
    fn new_in() -> Self {
        Clones(Arc::new(()))
    }

    #[inline]
    fn get(&self) {
        std::mem::forget(Arc::clone(&self.0));
    }

    #[inline]
    fn put(&self) {
        // SAFETY: the count includes the clone that `get` forgot.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&self.0)) };
    }

    fn count(&self) -> u64 {
        Arc::strong_count(&self.0) as u64
    }
}

/// A bare word. By addition, each way costs the least that a count can cost, and cannot refuse; by compare-exchange,
/// which is tried until it succeeds, what a count costs that reads before it changes.
pub struct Word<const EXCHANGES: bool>(AtomicU64);

/// One atomic addition each way.
pub type Additions = Word<false>;
/// One compare-exchange each way.
pub type Exchanges = Word<true>;

impl<const EXCHANGES: bool> Word<EXCHANGES> {
    #[inline]
    fn change(&self, by: u64, order: Ordering) {
        if !EXCHANGES {
            self.0.fetch_add(by, order);
            return;
        }
        let mut count = self.0.load(Relaxed);
        while let Err(found) = self.0.compare_exchange_weak(count, count.wrapping_add(by), AcqRel, Relaxed) {
            count = found;
        }
    }
}

impl<const EXCHANGES: bool> RefCount for Word<EXCHANGES> {
    fn new_in() -> Self {
        Word(AtomicU64::new(1))
    }

    #[inline]
    fn get(&self) {
        self.change(1, Relaxed);
    }

    #[inline]
    fn put(&self) {
        self.change(u64::MAX, Release);
    }

    fn count(&self) -> u64 {
        self.0.load(Acquire)
    }
}
