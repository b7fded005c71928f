//! Models of every lock: all their interleavings and reorderings within stated bounds, one file per lock.
//!
//! | module | what |
//! |---|---|
//! | [`platform`] | `Loom`: the locks' machine on the model checker of that name |
//! | [`check`] | how a model is run, and what a failure says |
//! | [`models`] | the models |
//! | [`lab`] | the orderings that the locks use, and how one of them is weakened |
//! | [`mutants`] | every ordering weakened in turn: some model must notice |
//! | [`tags`] | the `ORDERING` comments in the lock sources |
//! | [`stub`] | `Stub`: a small deterministic machine of virtual CPUs |
//!
//! The README says what the models prove and what they do not.

pub mod check;
pub mod lab;
pub mod models;
pub mod mutants;
pub mod platform;
pub mod stub;
pub mod tags;
