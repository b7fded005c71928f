//! The interface between the program `turnwise` and the libraries that it loads into other programs. The libraries read
//! it inside those programs; so reading neither allocates nor panics, and trusts no byte.
//!
//! | file | what |
//! |---|---|
//! | `policy.rs` | the lock policies: names, summaries, numbers |
//! | `environment.rs` | the names of the environment variables |
//! | `counter.rs` | the processor's counter, a clock for both |
//! | `libraries.rs` | the names of the libraries' files |
//! | `layout.rs` | the bytes of the table that a policy file is compiled to |
//! | `table.rs` | reading it: which rule applies to a lock |
//! | `module.rs` | how a program or shared object is recognised in a file and in memory |
//! | `glob.rs` | patterns for names |
//! | `terminal.rs` | characters of names that a terminal interprets |
//! | `write.rs` | writing a table, with feature `write` |
//! | `run_probe.rs` | the other direction: what the preload library reports about a run |
#![no_std]

// The only error on other systems: all Linux-only code needs this crate.
#[cfg(not(target_os = "linux"))]
compile_error!(
    "the programs `turnwise` and `turnwise-lab`, live views and what is loaded into programs are for Linux alone; \
     what works here are the locks: crate `turnwise`, and `turnwise-capi` with `--no-default-features`"
);

#[cfg(any(test, feature = "write"))]
extern crate alloc;

pub mod counter;
pub mod environment;
mod glob;
mod layout;
pub mod libraries;
mod module;
mod policy;
pub mod run_probe;
mod table;
pub mod terminal;
#[cfg(any(test, feature = "write"))]
mod write;

pub use glob::{matches, matches_path};
pub use layout::{Fault, Kind, RULES_MAX, SETTINGS, Settings};
pub use module::{Image, UNKNOWN_MODULE, build_id, fingerprint, numbered, unnumbered};
pub use policy::{Lock, Policy};
pub use table::{ModuleOffset, Rule, Table};
#[cfg(any(test, feature = "write"))]
pub use write::{ModuleRanges, NewRule, NewTable, TooMany};
