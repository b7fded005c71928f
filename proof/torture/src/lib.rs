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
//! The README says how to add a lock or a scenario, and what this is not for.

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
