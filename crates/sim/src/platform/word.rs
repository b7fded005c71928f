//! Words of the simulated memory: as large as those of the hardware, so that what shares a line there shares one here.

use crate::engine::{self, Doing, Kind, Op};
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::Ordering;
use turnwise::platform::{IntWord, Word};

/// A word. Every access takes simulated time, and another thread may run before it happens; the access itself is
/// atomic, since threads are only switched before one. The machine is sequentially consistent: orderings are ignored.
/// Outside of simulated threads accesses are free.
#[repr(transparent)]
pub struct SimWord<T>(Cell<T>);

// SAFETY: the threads of a simulation are coroutines of one thread of the host, which a simulation never leaves.
unsafe impl<T> Send for SimWord<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SimWord<T> {}

impl<T: Copy> SimWord<T> {
    /// Changes the value in no time.
    pub(crate) fn poke(&self, value: T) {
        self.0.set(value);
    }

    /// The value, in no time.
    pub(crate) fn peek(&self) -> T {
        self.0.get()
    }

    /// Gets the line; afterwards the access happens. `None` outside of simulated threads.
    #[inline]
    fn reach(&self, op: Op, at: &'static Location<'static>) -> Option<u32> {
        if !engine::inside() {
            return None;
        }
        let mut line = 0;
        let address = std::ptr::from_ref(self).addr();
        engine::step(|e| {
            line = e.line(address);
            e.access(line, op, Doing::new(Kind::Memory, at))
        });
        Some(line)
    }

    #[inline]
    fn replace(&self, op: Op, at: &'static Location<'static>, change: impl FnOnce(T) -> T) -> T {
        let line = self.reach(op, at);
        let old = self.0.get();
        self.0.set(change(old));
        line.into_iter().for_each(|line| engine::with(|e| e.wrote(line)));
        old
    }
}

impl<T: Copy + PartialEq> Word for SimWord<T> {
    type Value = T;

    fn new(value: T) -> Self {
        SimWord(Cell::new(value))
    }

    #[inline]
    #[track_caller]
    fn load(&self, _order: Ordering) -> T {
        self.reach(Op::Load, Location::caller());
        self.0.get()
    }

    #[inline]
    #[track_caller]
    fn store(&self, value: T, order: Ordering) {
        // A sequentially consistent store is an exchange on x86.
        let op = if order == Ordering::SeqCst { Op::Rmw } else { Op::Store };
        self.replace(op, Location::caller(), |_| value);
    }

    #[inline]
    #[track_caller]
    fn swap(&self, value: T, _order: Ordering) -> T {
        self.replace(Op::Rmw, Location::caller(), |_| value)
    }

    #[inline]
    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, _success: Ordering, _failure: Ordering) -> Result<T, T> {
        let line = self.reach(Op::Rmw, Location::caller());
        let old = self.0.get();
        if old != current {
            return Err(old);
        }
        self.0.set(new);
        line.into_iter().for_each(|line| engine::with(|e| e.wrote(line)));
        Ok(old)
    }
}

macro_rules! int_word {
    ($value:ty) => {
        impl IntWord for SimWord<$value> {
            #[inline]
            #[track_caller]
            fn fetch_add(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old.wrapping_add(value))
            }
            #[inline]
            #[track_caller]
            fn fetch_sub(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old.wrapping_sub(value))
            }
            #[inline]
            #[track_caller]
            fn fetch_or(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old | value)
            }
            #[inline]
            #[track_caller]
            fn fetch_and(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old & value)
            }
        }
    };
}

int_word!(u32);
int_word!(u64);
