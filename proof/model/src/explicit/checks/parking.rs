//! The portable platform's table of sleeping threads.

use super::*;
use crate::parking::{Link, Machine, Source, Stage, System, change, counts, lanes, pass, token, words};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, SpinLimit};

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

impl System for Explicit {
    type Word = ExplicitWord<u32>;
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

    #[inline(always)]
    fn wait(word: &ExplicitWord<u32>, expected: u32, ns: Option<u64>) {
        let after = |ns| Deadline { clock: Clock::Monotonic, at: <Explicit as Platform>::now() + ns };
        <Explicit as Platform>::park(word, expected, Lane::Waiters, ns.map(after));
    }

    #[inline(always)]
    fn wake(word: *const ExplicitWord<u32>) {
        <Explicit as Platform>::wake(word, Lane::Waiters, 1);
    }

    #[inline(always)]
    fn time(_clock: Clock) -> u64 {
        <Explicit as Platform>::now()
    }
}

impl Machine for Explicit {
    fn lock<T: Send>(value: T) -> Locked<T> {
        Locked { word: Word::new(0), value: UnsafeCell::new(value) }
    }
}

impl Stage for CheckSetup {
    type P = Explicit;

    fn keep<T: 'static>(&self, value: T) -> &'static T {
        self.keep(value)
    }

    fn thread(&self, body: impl Fn() + Copy + 'static) {
        self.spawn(body);
    }

    fn at_end(&self, holds: impl Fn() + 'static) {
        self.at_end(holds);
    }
}

type Of<S> = <S as Source>::Table<Explicit>;

pub(super) fn scene<S: Source>(call: &mut Call) -> Body {
    let name = call.name;
    let scene: fn(&CheckSetup, Size) = named! { name:
        pass = pass::<_, Of<S>>, change = change::<_, Of<S>>, lanes = lanes::<_, Of<S>>,
        counts = counts::<_, Of<S>>, token = token::<_, Of<S>>, words = words::<_, Of<S>>,
    };
    body(scene)
}
