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
pub(crate) use scenes::*;
pub(crate) use system::{Link, System};
use turnwise::platform::{Clock, Deadline, Lane, Parked, Platform, Word};

/// A machine that can be a system for the table: both have the same words.
pub(crate) trait Machine: Platform + System<Word = <Self as Platform>::U32> {
    /// Returns a free lock.
    fn lock<T: Send + 'static>(value: T) -> Self::Lock<T>;
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
