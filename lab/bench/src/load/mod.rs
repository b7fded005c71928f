//! What the threads of a sample do: one file for each sort of lock.

mod body;
pub mod counted;
pub mod exclusive;
pub(crate) mod many;
pub mod monitor;
pub mod names;
pub(crate) mod open;
pub mod shared;
