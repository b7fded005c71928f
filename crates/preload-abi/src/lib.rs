//! The table that a policy file is compiled to. The program `turnwise` writes it, the preload library reads it inside
//! other programs; so reading allocates nothing, panics on nothing, and takes no byte on trust. Beside it, what the
//! library tells the program of a run.
//!
//! | file | what |
//! |---|---|
//! | `layout.rs` | the bytes |
//! | `table.rs` | reading: which rule a lock goes by |
//! | `module.rs` | how a program or shared object is recognised in a file and in memory |
//! | `glob.rs` | patterns for names |
//! | `write.rs` | writing, with feature `write` |
//! | `signs.rs` | the other direction: what the library tells of a run |
#![no_std]

#[cfg(any(test, feature = "write"))]
extern crate alloc;

mod glob;
mod layout;
mod module;
pub mod signs;
mod table;
#[cfg(any(test, feature = "write"))]
mod write;

pub use glob::matches;
pub use layout::{Fault, Kind, Policy, RULES_MAX};
pub use module::{Image, fingerprint};
pub use table::{Place, Rule, Table, matches_path};
#[cfg(any(test, feature = "write"))]
pub use write::{ModuleRanges, NewRule, NewTable, TooMany};
