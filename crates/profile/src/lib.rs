//! What a recorded run of a program says about its locks.
//!
//! `turnwise profile` runs a program under the recorder; [`model::Profile`] is what comes of it, and everything that
//! shows, stores or judges a profile starts from there.

pub mod analysis;
pub mod model;
pub mod symbols;
pub mod text;
