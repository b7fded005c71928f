//! [`Explicit`]: the platform that checks run on, and its words.
//!
//! | what a lock requests | what it gets |
//! |---|---|
//! | words | cells of the machine's memory; others may take any steps before each operation |
//! | `spin_until`, `Pause::Relax`, `Pause::Nap` | a poll; the next when a polled word has changed |
//! | other pauses, and one between a spin's immediate polls | nothing |
//! | a limit of a spin | may pass after any unsuccessful poll; the owner may be found off its CPU then, too |
//! | `park`, `wake`, `requeue` | queues of sleepers, woken in order of arrival |
//! | a deadline of a sleeper | may pass at any time, up to the number of times that the size of the check allows |
//! | `now` | stands still except for jumps past the hand-off bound, and deadlines that pass |
//! | `me`, `slot` | slots in the machine's memory |
//! | `on_cpu` | `Unknown`, and, on a machine where owners leave their CPU, also `NotRunning` |

use super::machine::{self, with};
use super::memory::scrub;
use crate::lab::{self, Part, Place, Value};
use crate::platform::{Identity, token_of};
use std::cell::Cell;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::atomic::Ordering::{self, Relaxed};
use turnwise::platform::{
    Deadline, Hint, IntWord, Lane, Me, OnCpu, Parked, Pause, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word,
};
use turnwise::reentrant::Threads;

/// The machine of explicit-state checks. Only usable inside of a check.
pub struct Explicit;

// SAFETY: tokens are numbers of threads; slots live to the end of the check, and none of its threads longer.
unsafe impl Platform for Explicit {
    type U32 = ExplicitWord<u32>;
    type U64 = ExplicitWord<u64>;
    type Ptr<T: 'static> = ExplicitWord<*mut T>;

    #[track_caller]
    #[inline(always)]
    fn pause(pause: Pause) {
        match pause {
            // A spin's immediate polls are few, and then it continues although nothing has changed.
            Pause::Relax if lab::is_of_spin(Location::caller()) => {}
            // A nap is a pause in a polling loop, too.
            Pause::Relax | Pause::Nap(_) => {
                machine::relax();
                scrub();
            }
            // Time stands still, and all threads run at once.
            Pause::Rest(_) | Pause::Yield | Pause::Offer => {}
        }
    }

    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        machine::begin_to_poll();
        loop {
            let value = word.load(Relaxed);
            if ready(value) {
                return Ok(value);
            }
            clean(machine::vain(limit))?;
        }
    }

    #[track_caller]
    #[inline(always)]
    fn park(word: &ExplicitWord<u32>, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        clean(machine::park(word, expected, lane, deadline, Location::caller()))
    }

    #[track_caller]
    #[inline(always)]
    fn wake(word: *const ExplicitWord<u32>, lane: Lane, count: u32) -> u32 {
        clean(machine::wake(word.addr(), lane, count, Location::caller()))
    }

    #[track_caller]
    #[inline(always)]
    fn requeue(from: &ExplicitWord<u32>, expected: u32, to: *const ExplicitWord<u32>) -> Option<u32> {
        clean(machine::requeue(from, expected, to.addr(), Location::caller()))
    }

    #[inline(always)]
    fn now() -> u64 {
        clean(machine::now())
    }

    fn current() -> Token {
        with(|w| match w.machine.identity {
            Identity::Anonymous => Token::ANONYMOUS,
            _ => token_of(w.current),
        })
    }

    fn me() -> Option<Me<Self>> {
        with(|w| {
            let full = w.machine.identity == Identity::Full;
            full.then(|| Me { token: token_of(w.current), slot: w.slots[w.current] })
        })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        with(|w| w.slots[token.get() as usize - 2])
    }

    #[inline(always)]
    fn on_cpu(_token: Token) -> OnCpu {
        if clean(machine::off_cpu()) { OnCpu::NotRunning } else { OnCpu::Unknown }
    }

    fn hint(hint: Hint) -> u32 {
        match hint {
            Hint::Cpu => machine::current() as u32,
            Hint::Cpus => with(|w| w.machine.cpus),
            Hint::Node | Hint::LineNs => 0,
        }
    }

    fn generation() -> u32 {
        with(|w| w.state.generation.into())
    }
}

// SAFETY: the number of a thread is its own.
unsafe impl Threads for Explicit {
    fn thread() -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(machine::current() as u64)
    }
}

/// A word: a cell in the machine's memory, or on the stack of one of its threads.
#[repr(transparent)]
pub struct ExplicitWord<T>(Cell<T>);

// SAFETY: the threads of a check are coroutines of one thread of the operating system; a check never leaves it.
unsafe impl<T> Send for ExplicitWord<T> {}
// SAFETY: all threads of a check run on one thread of the operating system, so no access is concurrent.
unsafe impl<T> Sync for ExplicitWord<T> {}

impl<T: Value> ExplicitWord<T> {
    /// Returns what the word holds, without an operation of the machine: for observers.
    pub fn peek(&self) -> T {
        self.0.get()
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).expose_provenance()
    }

    fn look(&self) -> T {
        let wide = usize::from(size_of::<T>() == 8);
        let value = self.0.get();
        machine::read(self.address() | wide, value.bits());
        value
    }

    #[inline(never)]
    fn load_at(&self, order: Ordering, at: Place) -> T {
        lab::order(at, Part::Main, order);
        machine::point();
        machine::alive(self.address(), at);
        let value = self.look();
        machine::note("load", at, self.address(), value.bits(), value.bits());
        value
    }

    #[inline(never)]
    fn change_at(&self, what: &'static str, order: Ordering, at: Place, change: impl FnOnce(T) -> T) -> T {
        lab::order(at, Part::Main, order);
        machine::point();
        machine::alive(self.address(), at);
        let old = self.0.get();
        let meant = change(old);
        lab::changed(at, machine::place_before(), old.bits(), meant.bits());
        let new = T::mix(old, meant, lab::kept(at));
        self.0.set(new);
        machine::wrote(what, at, self.address(), old.bits(), new.bits());
        old
    }

    #[inline(never)]
    fn exchange_at(&self, current: T, new: T, success: Ordering, failure: Ordering, at: Place) -> Result<T, T> {
        lab::order(at, Part::Main, success);
        lab::order(at, Part::Failure, failure);
        machine::point();
        machine::alive(self.address(), at);
        let old = self.look();
        if old != current {
            machine::note("cmpxchg failed", at, self.address(), old.bits(), old.bits());
            return Err(old);
        }
        lab::changed(at, machine::place_before(), old.bits(), new.bits());
        let new = T::mix(old, new, lab::kept(at));
        self.0.set(new);
        machine::wrote("cmpxchg", at, self.address(), old.bits(), new.bits());
        Ok(old)
    }
}

/// Returns the result of an operation, once nothing of it remains on the stack below its caller. Runs in the lock's
/// function itself: hence inlined, all the way.
#[inline(always)]
fn clean<R>(answer: R) -> R {
    scrub();
    answer
}

impl<T: Value> Word for ExplicitWord<T> {
    type Value = T;

    fn new(value: T) -> Self {
        ExplicitWord(Cell::new(value))
    }

    #[track_caller]
    #[inline(always)]
    fn load(&self, order: Ordering) -> T {
        clean(self.load_at(order, Location::caller()))
    }

    #[track_caller]
    #[inline(always)]
    fn store(&self, value: T, order: Ordering) {
        _ = clean(self.change_at("store", order, Location::caller(), |_| value));
    }

    #[track_caller]
    #[inline(always)]
    fn swap(&self, value: T, order: Ordering) -> T {
        clean(self.change_at("swap", order, Location::caller(), |_| value))
    }

    #[track_caller]
    #[inline(always)]
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        clean(self.exchange_at(current, new, success, failure, Location::caller()))
    }

    #[track_caller]
    fn fence(order: Ordering) {
        lab::order(Location::caller(), Part::Main, order);
    }
}

macro_rules! int_word {
    ($($value:ty)*) => {$(
        impl IntWord for ExplicitWord<$value> {
            int_word!(@ $value: fetch_add(old, by) = old.wrapping_add(by));
            int_word!(@ $value: fetch_sub(old, by) = old.wrapping_sub(by));
            int_word!(@ $value: fetch_or(old, by) = old | by);
            int_word!(@ $value: fetch_and(old, by) = old & by);
        }
    )*};
    (@ $value:ty: $method:ident($old:ident, $by:ident) = $new:expr) => {
        #[track_caller]
        #[inline(always)]
        fn $method(&self, $by: $value, order: Ordering) -> $value {
            clean(self.change_at(stringify!($method), order, Location::caller(), move |$old| $new))
        }
    };
}

int_word!(u32 u64);
