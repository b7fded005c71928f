//! Counts of references that need no lock, or seldom.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
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

/// One atomic addition each way: the least that a count can cost, and it cannot refuse.
pub struct Additions(AtomicU64);

impl RefCount for Additions {
    fn new_in() -> Self {
        Additions(AtomicU64::new(1))
    }

    #[inline]
    fn get(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    #[inline]
    fn put(&self) {
        self.0.fetch_sub(1, Release);
    }

    fn count(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// One compare-exchange each way, until it succeeds: the cost of a count that reads before it changes.
pub struct Exchanges(AtomicU64);

impl Exchanges {
    #[inline]
    fn change(&self, by: u64) {
        let mut count = self.0.load(Relaxed);
        while let Err(found) = self.0.compare_exchange_weak(count, count.wrapping_add(by), AcqRel, Relaxed) {
            count = found;
        }
    }
}

impl RefCount for Exchanges {
    fn new_in() -> Self {
        Exchanges(AtomicU64::new(1))
    }

    #[inline]
    fn get(&self) {
        self.change(1);
    }

    #[inline]
    fn put(&self) {
        self.change(u64::MAX);
    }

    fn count(&self) -> u64 {
        self.0.load(Acquire)
    }
}
