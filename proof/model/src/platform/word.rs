//! Words on loom's atomics.
//!
//! Each operation asks the laboratory which ordering to use, records itself in the trace, and checks that its word is
//! still alive: a lock that touches its word after releasing it may touch freed memory.

use super::{Races, host, world};
use crate::lab::{self, Part, Value};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Relaxed};
use turnwise::platform::{IntWord, Word};

/// Records whether a word was dropped. Its memory must outlive the execution, dropped or not: keep locks in a
/// [`super::Cellar`] if they are dropped early.
#[derive(Default)]
struct Life {
    over: Cell<bool>,
    /// The world knows where the word is.
    known: Cell<bool>,
}

// SAFETY: the threads of a model are coroutines of one thread of the operating system.
unsafe impl Sync for Life {}

impl Life {
    #[track_caller]
    fn check(&self) {
        if self.over.get() {
            let at = Location::caller();
            panic!("{} uses a word after it was dropped, at {at}", world::name());
        }
        host::check_alive((&raw const *self).addr());
    }

    /// Calls `register` with our address at the first use.
    fn used(&self, register: impl FnOnce(usize)) {
        if !self.known.replace(true) {
            register((&raw const *self).addr());
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.over.set(true);
        if self.known.get() {
            world::forget((&raw const *self).addr());
        }
    }
}

/// The stores since the last plain one, inclusive: each exchange among them took the value before it, so nothing comes
/// between two of them in the word's modification order.
///
/// Loom does not know that. It would let a plain store by a thread that knows an early link of the chain be lost for
/// ever behind a later one.
struct Chain {
    /// One cell per store, written by its thread then: threads that know the store may read it.
    links: RefCell<Vec<UnsafeCell<()>>>,
    /// The chain starts with the initial value, which every thread knows.
    from_start: Cell<bool>,
    /// What was stored last, in the order in which the execution reached it.
    last: Cell<u64>,
}

// SAFETY: as for `Life`.
unsafe impl Sync for Chain {}

impl Chain {
    fn new(value: u64) -> Self {
        Chain { links: RefCell::new(Vec::new()), from_start: Cell::new(true), last: Cell::new(value) }
    }

    fn exchanged(&self) {
        self.links.borrow_mut().push(UnsafeCell::new(()));
    }

    fn stored(&self) {
        *self.links.borrow_mut() = vec![UnsafeCell::new(())];
        self.from_start.set(false);
    }

    /// Returns whether a store by this thread must come after the newest exchange, as it follows what that took.
    fn binds(&self) -> bool {
        let links = self.links.borrow();
        let Some((_newest, earlier)) = links.split_last() else { return false };
        // A forbidden access is a panic; it has no other effect, as no thread ever writes the cell again.
        let known = |link: &UnsafeCell<()>| panic::catch_unwind(AssertUnwindSafe(|| link.with(|_| ()))).is_ok();
        self.from_start.get() || earlier.iter().any(known)
    }
}

/// A value that no lock uses.
const NEVER: u32 = 0xdead_beef;

macro_rules! word {
    (
        $(#[$doc:meta])* $name:ident $(<$t:ident>)?, $atomic:ty, $value:ty, $never:expr, $register:expr, $follow:expr,
        $races:expr, $parts:expr
    ) => {
        $(#[$doc])*
        pub struct $name $(<$t>)? {
            cell: Arc<$atomic>,
            life: Life,
            chain: Chain,
            /// Exchanged at each load, relaxed: see [`Races`].
            loads: Option<AtomicU32>,
        }

        impl $(<$t: 'static>)? $name $(<$t>)? {
            #[track_caller]
            fn note(&self, what: &'static str, old: $value, new: $value) {
                self.life.check();
                self.register();
                world::note(what, Location::caller(), old.bits(), new.bits());
            }

            /// Records that an exchange left `new`.
            #[track_caller]
            fn wrote(&self, what: &'static str, old: $value, new: $value) {
                if old != new {
                    world::progress();
                }
                self.chain.last.set(new.bits());
                self.note(what, old, new);
            }

            /// Reports to the laboratory what an operation was meant to do.
            #[track_caller]
            fn meant(old: u64, new: u64) {
                let parts: bool = $parts;
                if parts {
                    lab::changed(Location::caller(), world::place_before(), old, new);
                }
            }

            /// Stores `new`, except for the bits that the experiment keeps; returns the old value.
            fn exchange_but(&self, kept: u64, new: $value, order: Ordering) -> $value {
                loop {
                    let old = self.see_newest();
                    if self.cell.compare_exchange(old, <$value>::mix(old, new, kept), order, Relaxed).is_ok() {
                        return old;
                    }
                }
            }

            fn register(&self) {
                let register: fn(usize, &Arc<$atomic>) = $register;
                self.life.used(|at| register(at, &self.cell));
            }

            /// Observes the newest value, without any ordering; returns it. To loom it counts as a write.
            fn see_newest(&self) -> $value {
                let never: $value = $never;
                self.cell.compare_exchange(never, never, Relaxed, Relaxed).unwrap_or_else(|found| found)
            }
        }

        impl $(<$t: 'static>)? Word for $name $(<$t>)? {
            type Value = $value;

            fn new(value: $value) -> Self {
                let from: Option<Races> = $races;
                let loads = from.filter(|from| world::races() >= *from).map(|_| AtomicU32::new(0));
                let chain = Chain::new(value.bits());
                $name { cell: Arc::new(<$atomic>::new(value)), life: Life::default(), chain, loads }
            }

            #[track_caller]
            fn load(&self, order: Ordering) -> $value {
                self.life.check();
                self.loads.iter().for_each(|loads| _ = loads.swap(0, Relaxed));
                let value = self.cell.load(lab::order(Location::caller(), Part::Main, order));
                self.note("load", value, value);
                if order != Relaxed {
                    let follow: fn($value) = $follow;
                    follow(value);
                }
                value
            }

            #[track_caller]
            fn store(&self, value: $value, order: Ordering) {
                let kept = lab::kept(Location::caller());
                let order = lab::order(Location::caller(), Part::Main, order);
                self.life.check();
                Self::meant(self.chain.last.get(), value.bits());
                if kept != 0 {
                    self.exchange_but(kept, value, order);
                    self.chain.exchanged();
                    return;
                }
                self.chain.last.set(value.bits());
                if self.chain.binds() {
                    self.see_newest(); // after this, loom puts our store behind it
                    world::in_one_step(|| self.cell.store(value, order));
                } else {
                    self.cell.store(value, order);
                }
                self.life.check();
                self.chain.stored();
                world::progress();
                self.note("store", value, value);
            }

            #[track_caller]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                let kept = lab::kept(Location::caller());
                let order = lab::order(Location::caller(), Part::Main, order);
                let old = if kept == 0 { self.cell.swap(value, order) } else { self.exchange_but(kept, value, order) };
                self.life.check();
                self.chain.exchanged();
                Self::meant(old.bits(), value.bits());
                self.wrote("swap", old, <$value>::mix(old, value, kept));
                old
            }

            #[track_caller]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let at = Location::caller();
                let (success, failure) = (lab::order(at, Part::Main, success), lab::order(at, Part::Failure, failure));
                let stored = <$value>::mix(current, new, lab::kept(at));
                let result = self.cell.compare_exchange(current, stored, success, failure);
                match result {
                    Ok(old) => {
                        self.life.check();
                        self.chain.exchanged();
                        Self::meant(old.bits(), new.bits());
                        if stored == new {
                            world::progress();
                        }
                        self.wrote("cmpxchg", old, stored);
                    }
                    Err(old) => self.note("cmpxchg failed", old, old),
                }
                result
            }

            #[track_caller]
            fn fence(order: Ordering) {
                match lab::order(Location::caller(), Part::Main, order) {
                    Relaxed => {} // weakened: no fence at all
                    order => loom::sync::atomic::fence(order),
                }
            }
        }
    };
}

macro_rules! int_method {
    ($method:ident, $value:ty, $new:expr, $without:expr) => {
        #[track_caller]
        fn $method(&self, value: $value, order: Ordering) -> $value {
            let without: fn($value, $value) -> $value = $without;
            let left = without(value, lab::kept(Location::caller()) as $value);
            let old = self.cell.$method(left, lab::order(Location::caller(), Part::Main, order));
            let new: fn($value, $value) -> $value = $new;
            self.life.check();
            self.chain.exchanged();
            Self::meant(old.bits(), new(old, value).bits());
            self.wrote(stringify!($method), old, new(old, left));
            old
        }
    };
}

macro_rules! int_word {
    ($name:ident, $value:ty) => {
        impl IntWord for $name {
            int_method!(fetch_add, $value, |old, value| old.wrapping_add(value), |value, kept| value & !kept);
            int_method!(fetch_sub, $value, |old, value| old.wrapping_sub(value), |value, kept| value & !kept);
            int_method!(fetch_or, $value, |old, value| old | value, |value, kept| value & !kept);
            int_method!(fetch_and, $value, |old, value| old & value, |value, kept| value | kept);
        }
    };
}

word!(/** A 32-bit word. */ LoomU32, AtomicU32, u32, NEVER, world::register, |_| (), None, true);
word!(/** A 64-bit word. */ LoomU64, AtomicU64, u64, 0xdead_beef, |_, _| (), |_| (), Some(Races::Long), true);
word!(
    /** A pointer. */
    LoomPtr<T>, AtomicPtr<T>, *mut T, std::ptr::without_provenance_mut(1), |_, _| (),
    |value| host::follow(value.addr()), Some(Races::Pointers),
    // An unchanged one leads to memory that is gone, and there the process ends.
    false
);
int_word!(LoomU32, u32);
int_word!(LoomU64, u64);

// SAFETY: the pointer is a value here; a dereference is its caller's responsibility.
unsafe impl<T> Send for LoomPtr<T> {}
// SAFETY: the pointer is a value here; its users answer for following it.
unsafe impl<T> Sync for LoomPtr<T> {}

impl LoomU32 {
    /// Does an operation, for loom, on the word at this address, if there is one. The word may be dropped meanwhile, or
    /// already be gone, with something else in its place: it may have been on a stack.
    pub(super) fn touch(word: *const LoomU32) {
        let cell = world::with(|w| w.words.get(&(word.addr() + std::mem::offset_of!(LoomU32, life))).cloned());
        cell.map(|cell| cell.compare_exchange(NEVER, NEVER, Relaxed, Relaxed));
    }

    /// Returns what a futex call reads: the newest value, whatever this thread has seen so far, without ordering.
    ///
    /// A dropped word has no value, and to a futex call it is a number only.
    pub(super) fn newest(&self) -> Option<u32> {
        self.register();
        (!self.life.over.get()).then(|| self.see_newest())
    }
}
