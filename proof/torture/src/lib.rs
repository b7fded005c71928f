//! Torture: every lock under every scenario on real threads, and locks broken on purpose that must be caught.
//!
//! | module | what |
//! |---|---|
//! | [`ops`], [`counts`], [`tree`] | what can be done with a sort of lock: a record of operations, some of which may be missing |
//! | [`object`] | a lock whose type only its operations know |
//! | [`locks`] | one record per lock, made from the catalogue |
//! | [`broken`] | one record per lock that is wrong on purpose, with the verdict that it must get |
//! | [`scenarios`] | one record per scenario |
//! | [`arena`] | threads of one run, what they protect, which of them wait; the watchdog |
//! | [`cell`], [`verdict`] | one lock under one scenario: in this process, or in a child whose end is the verdict |
//!
//! A lock under a scenario is a *cell*. Each runs in a process of its own, so a crash or a hang is a verdict like
//! others, and ends nothing else.
//!
//! **To add a lock:** its record in the catalogue is enough if it is a raw lock of any kind; for another, or for its
//! further abilities, write its [`ops::Ops`] below [`locks`]. **To add a scenario:** write a function of an arena, a
//! lock's record, and what it needs of the lock's operations, which calls [`arena::Arena::fail`] when something is
//! wrong; give it one record in [`scenarios::SCENARIOS`], and show with a record in [`broken::BROKEN`] that it can
//! fail.
//!
//! Not for: memory orderings (x86 forgives most mistakes: the models try them all) and speed (the bench does that).

pub mod arena;
pub mod broken;
pub mod cell;
pub mod counts;
pub mod locks;
pub mod object;
pub mod ops;
pub mod scenarios;
pub mod tree;
pub mod verdict;
