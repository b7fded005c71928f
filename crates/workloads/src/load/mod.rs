//! What the threads of a sample do: one file for each sort of lock.

pub mod counted;
pub mod exclusive;
pub mod shared;
