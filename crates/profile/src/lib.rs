//! What a recorded run of a program says about its locks.
//!
//! `turnwise profile` runs a program under the recorder; [`analysis`] makes a [`model::Profile`] of the recording, with
//! names from [`symbols`]; all that shows, stores or judges a profile starts from there: [`text`], [`output`] and
//! [`advice`]; [`policy_rules`] are what a policy file says of its locks.

pub mod advice;
pub mod analysis;
mod figures;
pub mod model;
pub mod output;
pub mod policy_rules;
pub mod symbols;
pub mod text;
