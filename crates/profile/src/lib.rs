//! Analyses recorded runs of programs for their locks.
//!
//! `turnwise profile` runs a program under the recorder; [`analysis`] makes a [`model::Profile`] of the recording, with
//! names from [`symbols`]; everything that shows, stores or judges a profile starts from there: [`text`], [`output`]
//! and [`advice`]; [`policy_rules`] name its locks for a policy file.

pub mod advice;
pub mod analysis;
mod figures;
pub mod model;
pub mod output;
pub mod policy_rules;
pub mod symbols;
pub mod text;
