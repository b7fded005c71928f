//! Analyses recorded runs of programs for their locks.
//!
//! `turnwise profile` runs a program under the recorder; [`analysis`] makes a [`model::Profile`] of the recording, with
//! names from [`symbols`]; everything that shows, stores or judges a profile starts from there: [`text`], [`output`]
//! and [`advice`]; [`hazards`] are what `turnwise check` reports, [`learned`] what it
//! remembers; [`policy_rules`] name its locks for a policy file.
//! [`waits`] makes a profile of waits that were observed one by one, in futex calls or in a live program. [`template`]
//! has the words of all texts.

pub mod advice;
pub mod analysis;
mod awaited;
mod danger;
pub mod figures;
pub mod hazards;
mod kind;
pub mod learned;
pub mod model;
pub mod output;
pub mod policy_rules;
pub mod sums;
pub mod symbols;
pub mod template;
pub mod text;
pub mod waits;
