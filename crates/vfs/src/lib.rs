//! An in-memory file system, generic over the machine that it runs on and over the locks that it is built of.
#![warn(missing_docs)]

pub mod errno;
pub mod host;
pub mod inode;
pub mod locks;

pub use host::{Host, Metal, Work};
pub use locks::LockSet;
