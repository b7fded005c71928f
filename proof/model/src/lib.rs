//! Models of every lock: all their interleavings and reorderings within stated bounds.
//!
//! | module | what |
//! |---|---|
//! | [`platform`] | `Loom`: the locks' machine on the model checker of that name |
//! | [`check`] | how a model is run, and what a failure reports |
//! | [`models`] | the models |
//! | `scenarios` | what a thread does with a lock, on either engine |
//! | [`lab`] | what the locks do at each place in their sources, and how one of these things is changed |
//! | [`mutants`] | every ordering, flag and wake-up changed in turn: some model must notice |
//! | [`flags`] | what the bits of the locks' words are called |
//! | [`lines`] | rare lines of the slow paths, which some model must enter |
//! | `places` | what `places.toml` states of places in the lock sources: words, rare lines, what no model shows |
//! | [`parking`] | the portable platform's table of sleeping threads, and copies of it that are wrong on purpose |
//! | `table` | the rows of `models/*.toml` and `explicit/checks.toml`, and the scenes that they name |
//! | [`report`] | what was tried, lock by lock |
//! | [`sources`], [`tags`] | the lock sources as text, and the `ORDERING` comments in them |
//! | [`explicit`] | explicit-state checks: every interleaving, without a bound on preemptions |
//!
//! `docs/models.md` states what the models prove and what they do not.

#[macro_use]
mod table;

pub mod check;
pub mod explicit;
pub mod flags;
pub mod lab;
pub mod lines;
mod lock;
pub mod models;
pub mod mutants;
pub mod parking;
mod places;
pub mod platform;
pub mod report;
mod scenarios;
pub mod sources;
pub mod tags;
