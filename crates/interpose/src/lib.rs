//! What the preload library and the recorder have in common: both stand between a program and the C library's locks.
//!
//! Nothing here allocates or waits for a lock of the program, and all of it works before the C library is ready and
//! before any constructor has run.
//!
//! | file | what |
//! |---|---|
//! | `real.rs` | the functions of the next library in line |
//! | `tables.rs` | the same, where the loader cannot be asked |
//! | `jump.rs` | exported functions that only jump, and pass on their return address |
//! | `environment.rs` | variables as the kernel passed them |
//! | `module.rs` | which program or library an address belongs to |
//! | `thread.rs` | variables that every thread has of its own |
#![no_std]

mod environment;
mod jump;
mod module;
mod real;
mod tables;
mod thread;

pub use environment::{race_checker, variable};
pub use module::{Module, can_find, find, find_quickly};
pub use real::{Real, Symbol};

/// Names that the macros' expansions use.
#[doc(hidden)]
pub use libc::{ENOSYS, c_int};
