//! The portable platform's table of sleeping threads.

use super::*;
use crate::parking::{self, Link, Machine, Source};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::SpinLimit;

/// A bucket's lock: a thread that waits for it spins.
pub(crate) struct Locked<T> {
    word: ExplicitWord<u32>,
    value: UnsafeCell<T>,
}

/// A record's link.
pub(crate) struct Next<T>(Cell<*const T>);

impl<T> Default for Next<T> {
    fn default() -> Self {
        Next(Cell::new(ptr::null()))
    }
}

impl<T> Link<T> for Next<T> {
    fn get(&self) -> *const T {
        self.0.get()
    }

    fn set(&self, to: *const T) {
        self.0.set(to);
    }
}

impl Machine for Explicit {
    type Link<T: 'static> = Next<T>;
    type Lock<T: Send + 'static> = Locked<T>;

    fn locked<T: Send, R>(lock: &Locked<T>, body: impl FnOnce(&mut T) -> R) -> R {
        while lock.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            let _ = Explicit::spin_until(&lock.word, |value| value == 0, SpinLimit::NONE);
        }
        // SAFETY: the word states which thread is here, alone.
        let answer = body(unsafe { &mut *lock.value.get() });
        lock.word.store(0, Release);
        answer
    }

    fn lock<T: Send>(value: T) -> Locked<T> {
        Locked { word: Word::new(0), value: UnsafeCell::new(value) }
    }
}

pub(super) fn scene<S: Source>(call: &mut Call) -> Body {
    body(parking::scene::<CheckSetup, S::Table<Explicit>>(call.name))
}
