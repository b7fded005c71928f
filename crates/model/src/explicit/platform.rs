//! [`Explicit`]: the platform that checks run on, and its words.
//!
//! | what a lock asks for | what it gets |
//! |---|---|
//! | words | cells of the machine's memory; others may take any steps before each operation |
//! | `spin_until`, `relax`, `nap` | a look; the next when a word that was looked at has changed |
//! | a limit of a spin | may pass after any look in vain; the owner may be found off its CPU then, too |
//! | `park`, `wake`, `requeue` | lines of sleepers, first come, first woken |
//! | a deadline of a sleeper | may pass at any time, as often as the size of the check allows |
//! | `now` | stands still but for jumps past the hand-off bound, and deadlines that pass |
//! | `me`, `slot` | slots in the machine's memory |
//! | `on_cpu` | `Unknown`, and, on a machine where owners leave their CPU, also `NotRunning` |

use super::machine::{self, with};
use crate::lab::{self, Part};
use crate::platform::Identity;
use std::cell::Cell;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::atomic::Ordering::{self, Relaxed};
use turnwise::platform::{
    Deadline, IntWord, Lane, Me, OnCpu, Parked, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word,
};
use turnwise::reentrant::Threads;

/// The machine of explicit-state checks. Only usable inside of one.
pub struct Explicit;

// SAFETY: tokens are numbers of threads; slots live to the end of the check, and none of its threads longer.
unsafe impl Platform for Explicit {
    type U32 = ExplicitWord<u32>;
    type U64 = ExplicitWord<u64>;
    type Ptr<T: 'static> = ExplicitWord<*mut T>;

    #[track_caller]
    fn fence(order: Ordering) {
        lab::order(Location::caller(), Part::Main, order);
    }

    fn relax() {
        machine::relax();
    }

    /// Time stands still, and all threads run at once.
    fn yield_now() {}

    fn rest(_ns: u32) {}

    /// A pause in a loop of looks, as `relax`.
    fn nap(_ns: u32) {
        machine::relax();
    }

    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        machine::begin_to_look();
        loop {
            let value = word.load(Relaxed);
            if ready(value) {
                return Ok(value);
            }
            machine::vain(limit)?;
        }
    }

    #[track_caller]
    fn park(word: &ExplicitWord<u32>, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        let (at, address) = (Location::caller(), word.address());
        machine::point();
        machine::alive(address, at);
        let found = word.peek();
        machine::note("park", at, address, expected.into(), found.into());
        if found != expected {
            return Parked::Changed;
        }
        machine::sleep(address, lane, deadline.map(|d| d.at))
    }

    #[track_caller]
    fn wake(word: *const ExplicitWord<u32>, lane: Lane, count: u32) -> u32 {
        machine::wake(word.addr(), lane, count, Location::caller())
    }

    #[track_caller]
    fn requeue(from: &ExplicitWord<u32>, expected: u32, to: *const ExplicitWord<u32>) -> Option<u32> {
        let at = Location::caller();
        machine::point();
        machine::alive(from.address(), at);
        (from.peek() == expected).then(|| machine::requeue(from.address(), to.addr(), at))
    }

    fn now() -> u64 {
        machine::now()
    }

    fn current() -> Token {
        with(|w| match w.machine.identity {
            Identity::Anonymous => Token::ANONYMOUS,
            _ => machine::token(w.current),
        })
    }

    fn me() -> Option<Me<Self>> {
        with(|w| {
            let full = w.machine.identity == Identity::Full;
            full.then(|| Me { token: machine::token(w.current), slot: w.slots[w.current] })
        })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        with(|w| w.slots[token.get() as usize - 2])
    }

    fn on_cpu(_token: Token) -> OnCpu {
        if machine::off_cpu() { OnCpu::NotRunning } else { OnCpu::Unknown }
    }

    fn cpu() -> u32 {
        0
    }

    fn cpus() -> u32 {
        with(|w| w.machine.cpus)
    }

    fn node() -> u32 {
        0
    }

    fn generation() -> u32 {
        machine::generation().into()
    }

    /// The same in each run.
    fn name_of(address: usize) -> usize {
        with(|w| w.arena.offset(address))
    }
}

// SAFETY: the number of a thread is its own.
unsafe impl Threads for Explicit {
    fn thread() -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(machine::current() as u64)
    }
}

/// What a word may hold, as bits.
pub trait Value: Copy + PartialEq + 'static {
    /// The bits.
    fn bits(self) -> u64;

    /// `new`, but for the `kept` bits of `old`.
    fn mix(old: Self, new: Self, kept: u64) -> Self;
}

impl Value for u32 {
    fn bits(self) -> u64 {
        self.into()
    }

    fn mix(old: u32, new: u32, kept: u64) -> u32 {
        let kept = kept as u32;
        old & kept | new & !kept
    }
}

impl Value for u64 {
    fn bits(self) -> u64 {
        self
    }

    fn mix(old: u64, new: u64, kept: u64) -> u64 {
        old & kept | new & !kept
    }
}

impl<T: 'static> Value for *mut T {
    fn bits(self) -> u64 {
        self.addr() as u64
    }

    /// A pointer stays or changes as a whole.
    fn mix(old: Self, new: Self, kept: u64) -> Self {
        if kept == 0 { new } else { old }
    }
}

/// A word: a cell in the machine's memory, or on the stack of one of its threads.
#[repr(transparent)]
pub struct ExplicitWord<T>(Cell<T>);

// SAFETY: the threads of a check are coroutines of one thread of the operating system; a check never leaves it.
unsafe impl<T> Send for ExplicitWord<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ExplicitWord<T> {}

impl<T: Value> ExplicitWord<T> {
    /// What it holds, as no operation: for whoever looks on.
    pub fn peek(&self) -> T {
        self.0.get()
    }

    /// What it held.
    pub(super) fn into_inner(self) -> T {
        self.0.get()
    }

    /// As the method of the atomic types.
    #[track_caller]
    pub(super) fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        mut f: impl FnMut(T) -> Option<T>,
    ) -> Result<T, T> {
        let mut old = self.load(fetch);
        while let Some(new) = f(old) {
            match self.compare_exchange(old, new, set, fetch) {
                Ok(_) => return Ok(old),
                Err(found) => old = found,
            }
        }
        Err(old)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).expose_provenance()
    }

    fn look(&self) -> T {
        let wide = usize::from(size_of::<T>() == 8);
        let value = self.0.get();
        machine::read(self.address() | wide, value.bits());
        value
    }

    #[track_caller]
    fn change(&self, what: &'static str, order: Ordering, change: impl FnOnce(T) -> T) -> T {
        let at = Location::caller();
        lab::order(at, Part::Main, order);
        machine::point();
        machine::alive(self.address(), at);
        let old = self.0.get();
        let meant = change(old);
        lab::changed(at, old.bits(), meant.bits());
        let new = T::mix(old, meant, lab::kept(at));
        self.0.set(new);
        machine::wrote(what, at, self.address(), old.bits(), new.bits());
        old
    }
}

impl<T: Value> Word for ExplicitWord<T> {
    type Value = T;

    fn new(value: T) -> Self {
        ExplicitWord(Cell::new(value))
    }

    #[track_caller]
    fn load(&self, order: Ordering) -> T {
        let at = Location::caller();
        lab::order(at, Part::Main, order);
        machine::point();
        machine::alive(self.address(), at);
        let value = self.look();
        machine::note("load", at, self.address(), value.bits(), value.bits());
        value
    }

    #[track_caller]
    fn store(&self, value: T, order: Ordering) {
        self.change("store", order, |_| value);
    }

    #[track_caller]
    fn swap(&self, value: T, order: Ordering) -> T {
        self.change("swap", order, |_| value)
    }

    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        let at = Location::caller();
        lab::order(at, Part::Main, success);
        lab::order(at, Part::Failure, failure);
        machine::point();
        machine::alive(self.address(), at);
        let old = self.look();
        if old != current {
            machine::note("cmpxchg failed", at, self.address(), old.bits(), old.bits());
            return Err(old);
        }
        lab::changed(at, old.bits(), new.bits());
        let new = T::mix(old, new, lab::kept(at));
        self.0.set(new);
        machine::wrote("cmpxchg", at, self.address(), old.bits(), new.bits());
        Ok(old)
    }
}

macro_rules! int_word {
    ($value:ty) => {
        impl IntWord for ExplicitWord<$value> {
            #[track_caller]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.change("fetch_add", order, |old| old.wrapping_add(value))
            }
            #[track_caller]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.change("fetch_sub", order, |old| old.wrapping_sub(value))
            }
            #[track_caller]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.change("fetch_or", order, |old| old | value)
            }
            #[track_caller]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                self.change("fetch_and", order, |old| old & value)
            }
        }
    };
}

int_word!(u32);
int_word!(u64);
