//! Torture: every lock under every scenario on real threads, and locks broken on purpose that must be caught.
//!
//! | module | what |
//! |---|---|
//! | [`lock`] | what a lock must offer to be tortured |
//! | [`sequence`], [`counts`], [`references`], [`permits`] | what sequence locks, reference counts and semaphores offer besides |
//! | [`tree`] | what a file system offers instead |
//! | [`locks`] | one record per lock |
//! | [`broken`] | one record per lock that is wrong on purpose, with the verdict that it must get |
//! | [`scenarios`] | one record per scenario |
//! | [`arena`] | threads of one run, what they protect, who waits; the watchdog |
//! | [`cell`] | one lock under one scenario: in this process, or in a child whose end is the verdict |
//!
//! A lock under a scenario is a *cell*. Each runs in a process of its own, so a crash or a hang is a verdict like
//! others, and ends nothing else.
//!
//! **To add a lock:** implement [`lock::Lock`] (or [`turnwise::raw::RawTimedLock`], which has an implementation), for a
//! readers-writer lock [`lock::Shared`] besides, and give it one record in [`locks::LOCKS`]. **To add a scenario:**
//! write `fn(&Arena, &LockRecord)` that calls [`arena::Arena::fail`] when something is wrong, give it one record in
//! [`scenarios::SCENARIOS`], and show with a record in [`broken::BROKEN`] that it can fail.
//!
//! Not for: memory orderings (x86 forgives most mistakes: the models try them all) and speed (the bench does that).

pub mod arena;
pub mod broken;
mod broken_shared;
pub mod cell;
pub mod counts;
mod lineage;
pub mod lock;
pub mod locks;
pub mod permits;
pub mod references;
pub mod scenarios;
pub mod sequence;
pub mod tree;
