//! What the threads of a sample do: one file for each sort of lock.

mod body;
pub mod counted;
pub mod exclusive;
pub mod monitor;
pub mod names;
pub mod shared;
pub(crate) mod situated;

pub use body::{Load, Work, any_section};
