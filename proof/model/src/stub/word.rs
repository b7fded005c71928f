//! Words of the machine: every access takes time, and another thread may run before it.

use super::machine::{Cost, note, step, wrote};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use turnwise::platform::{IntWord, Word};

/// The ordering of a look in a spin loop; this machine is sequentially consistent anyway.
pub(super) const LOOK: Ordering = Ordering::Relaxed;

/// A word. Its accesses are atomic, since a coroutine is only switched before one.
pub struct StubWord<T>(Cell<T>);

// SAFETY: the threads of a machine are coroutines of one thread of the operating system; a machine never leaves it.
unsafe impl<T> Send for StubWord<T> {}
// SAFETY: all threads of a machine run on one thread of the operating system, so no access is concurrent.
unsafe impl<T> Sync for StubWord<T> {}

pub(super) fn address<W>(word: &W) -> usize {
    std::ptr::from_ref(word).addr()
}

impl<T: Copy> StubWord<T> {
    /// The value, in no time.
    pub(super) fn peek(&self) -> T {
        self.0.get()
    }

    fn replace(&self, what: &'static str, cost: u64, change: impl FnOnce(T) -> T) -> T {
        step(cost);
        let old = self.0.get();
        self.0.set(change(old));
        note(what, address(self));
        wrote(address(self));
        old
    }
}

impl<T: Copy + PartialEq> Word for StubWord<T> {
    type Value = T;

    fn new(value: T) -> Self {
        StubWord(Cell::new(value))
    }

    fn load(&self, _order: Ordering) -> T {
        step(Cost::LOAD);
        note("load", address(self));
        self.0.get()
    }

    fn store(&self, value: T, _order: Ordering) {
        self.replace("store", Cost::LOAD, |_| value);
    }

    fn swap(&self, value: T, _order: Ordering) -> T {
        self.replace("swap", Cost::EXCHANGE, |_| value)
    }

    fn compare_exchange(&self, current: T, new: T, _success: Ordering, _failure: Ordering) -> Result<T, T> {
        step(Cost::EXCHANGE);
        let old = self.0.get();
        if old != current {
            note("cmpxchg failed", address(self));
            return Err(old);
        }
        self.0.set(new);
        note("cmpxchg", address(self));
        wrote(address(self));
        Ok(old)
    }
}

macro_rules! int_word {
    ($value:ty) => {
        impl IntWord for StubWord<$value> {
            fn fetch_add(&self, value: $value, _order: Ordering) -> $value {
                self.replace("fetch_add", Cost::EXCHANGE, |old| old.wrapping_add(value))
            }
            fn fetch_sub(&self, value: $value, _order: Ordering) -> $value {
                self.replace("fetch_sub", Cost::EXCHANGE, |old| old.wrapping_sub(value))
            }
            fn fetch_or(&self, value: $value, _order: Ordering) -> $value {
                self.replace("fetch_or", Cost::EXCHANGE, |old| old | value)
            }
            fn fetch_and(&self, value: $value, _order: Ordering) -> $value {
                self.replace("fetch_and", Cost::EXCHANGE, |old| old & value)
            }
        }
    };
}

int_word!(u32);
int_word!(u64);
