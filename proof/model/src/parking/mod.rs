//! The portable platform's table of sleeping threads: as it ships, and copies of it that are wrong on purpose
//! (`build.rs`), on either machine; and what threads do with it, for the models and for the explicit-state checks.
//!
//! The table is one bucket: all words are in it.

mod scenes;
#[path = "../../../../crates/turnwise/src/platform/native/portable/system.rs"]
mod system;
#[path = "../../../../crates/turnwise/src/platform/native/portable/table.rs"]
mod table;

use crate::check::Model;
use crate::explicit::Check;
use crate::{explicit, models};
pub(crate) use scenes::scene;
pub(crate) use system::{Link, System};
use turnwise::platform::{Clock, Deadline, Lane, Parked, Platform, Word};

/// A machine as a system for the table: both have the same words.
pub(crate) trait Machine: Platform {
    type Link<T: 'static>: Link<T>;
    type Lock<T: Send + 'static>;

    /// Returns a free lock.
    fn lock<T: Send + 'static>(value: T) -> Self::Lock<T>;

    /// Does as [`System::locked`].
    fn locked<T: Send, R>(lock: &Self::Lock<T>, body: impl FnOnce(&mut T) -> R) -> R;
}

impl<P: Machine> System for P {
    type Word = P::U32;
    type Link<T: 'static> = <P as Machine>::Link<T>;
    type Lock<T: Send + 'static> = <P as Machine>::Lock<T>;

    fn locked<T: Send, R>(lock: &Self::Lock<T>, body: impl FnOnce(&mut T) -> R) -> R {
        <P as Machine>::locked(lock, body)
    }

    #[inline(always)]
    fn wait(word: &P::U32, expected: u32, ns: Option<u64>) {
        let after = |ns| Deadline { clock: Clock::Monotonic, at: P::now() + ns };
        P::park(word, expected, Lane::Waiters, ns.map(after));
    }

    #[inline(always)]
    fn wake(word: *const P::U32) {
        <P as Platform>::wake(word, Lane::Waiters, 1);
    }

    #[inline(always)]
    fn time(_clock: Clock) -> u64 {
        P::now()
    }
}

/// A table on a machine.
pub(crate) trait Parking<P: Machine>: 'static {
    /// Returns a table without sleepers.
    fn new() -> Self;

    /// Does as [`Platform::park`].
    fn park(&self, word: &P::U32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked;

    /// Does as [`Platform::wake`].
    fn wake(&self, word: *const P::U32, lane: Lane, count: u32) -> u32;
}

/// A copy of the table's source.
pub(crate) trait Source: 'static {
    /// The table that it makes.
    type Table<P: Machine>: Parking<P>;
}

/// The source as it ships.
pub(crate) struct Shipped;

macro_rules! source {
    ($source:ty, $module:ident) => {
        impl Source for $source {
            type Table<P: Machine> = $module::Table<P, 1>;
        }

        impl<P: Machine> Parking<P> for $module::Table<P, 1> {
            fn new() -> Self {
                $module::Table([$module::Bucket(P::lock($module::Queue::NEW))])
            }

            fn park(&self, word: &P::U32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
                self.park(word, expected, lane, deadline)
            }

            fn wake(&self, word: *const P::U32, lane: Lane, count: u32) -> u32 {
                self.wake(word, lane, count)
            }
        }
    };
}

/// A copy that is wrong on purpose.
pub struct Mutant {
    /// What is wrong with it.
    pub name: &'static str,
    /// The checks of it.
    pub checks: fn() -> Vec<Check>,
    /// The models of it.
    pub models: fn() -> Vec<Model>,
}

/// Gives each copy its models and checks.
macro_rules! mutants {
    ($($name:ident),*) => {
        $(source!($name::Copy, $name);)*

        /// All copies that are wrong on purpose.
        pub const MUTANTS: &[Mutant] = &[$(
            Mutant {
                name: stringify!($name),
                checks: explicit::parking::<$name::Copy>,
                models: models::parking::<$name::Copy>,
            },
        )*];
    };
}

source!(Shipped, table);
include!(concat!(env!("OUT_DIR"), "/table_mutants.rs"));
