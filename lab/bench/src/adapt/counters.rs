//! Counts of references that need no lock, or seldom.

use crate::load::counted::Counter;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise_catalogue::RefCount;

/// `Arc`: cloned and dropped.
impl Counter for Arc<()> {
    type Held = Arc<()>;

    fn new() -> Self {
        Arc::new(())
    }

    #[inline]
    fn get(&self) -> Arc<()> {
        Arc::clone(self)
    }

    #[inline]
    fn put(&self, held: Arc<()>) {
        drop(held);
    }

    fn count(&self) -> u64 {
        Arc::strong_count(self) as u64
    }
}

/// One atomic addition each way: the least that a count can cost, and it cannot say no.
pub struct Additions(AtomicU64);

impl Counter for Additions {
    type Held = ();

    fn new() -> Self {
        Additions(AtomicU64::new(1))
    }

    #[inline]
    fn get(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    #[inline]
    fn put(&self, (): ()) {
        self.0.fetch_sub(1, Release);
    }

    fn count(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// One compare-exchange each way, until it succeeds: what a count costs that looks before it changes.
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

impl Counter for Exchanges {
    type Held = ();

    fn new() -> Self {
        Exchanges(AtomicU64::new(1))
    }

    #[inline]
    fn get(&self) {
        self.change(1);
    }

    #[inline]
    fn put(&self, (): ()) {
        self.change(u64::MAX);
    }

    fn count(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// A count of the catalogue.
pub struct Count<C>(C);

impl<C: RefCount> Counter for Count<C> {
    type Held = ();

    fn new() -> Self {
        Count(C::new_in())
    }

    #[inline]
    fn get(&self) {
        self.0.get();
    }

    #[inline]
    fn put(&self, (): ()) {
        self.0.put();
    }

    fn count(&self) -> u64 {
        self.0.count()
    }
}
