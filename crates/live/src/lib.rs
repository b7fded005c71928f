//! The live view of a program's contended locks: a file that a program on our locks keeps while it runs, and that its
//! owner reads at any time, also after the program's end.
//!
//! | file | what |
//! |---|---|
//! | `layout.rs` | what lies where in the file |
//! | `log.rs` | the part of it in which waits are recorded one by one, while a profiler asks for it |
//! | `key.rs` | a lock and the way of waiting for it, in one word |
//! | `settings.rs` | what can be set for the locks of a program while it runs, and where that lies |
//! | `place.rs` | in which folders such files lie, and their names |
//! | `reader/` | feature `reader`: finds such files, and makes snapshots of them |
//! | `locks.rs` | feature `locks`: what a writer and the locks of crate turnwise need to know of each other |
//! | `own/` | feature `own`: the view of the program that it is called in; call sites of its waits |
//! | `writer/` | feature `writer`: makes such a file and counts, inside a program that must not notice |
//!
//! The page is `docs/design/live.md`.
#![cfg_attr(not(any(test, feature = "reader")), no_std)]

mod key;
pub mod layout;
#[cfg(feature = "locks")]
pub mod locks;
pub mod log;
#[cfg(feature = "own")]
pub mod own;
pub mod place;
#[cfg(feature = "reader")]
mod reader;
pub mod settings;
#[cfg(all(feature = "writer", target_os = "linux"))]
pub mod writer;

pub use key::{Key, Kind, UNKNOWN_MODULE, numbered, unnumbered};
#[cfg(feature = "reader")]
pub use reader::{
    Addresses, Channel, Error, Fault, Follower, Lock, Lost, Recorded, Recorder, Registers, Released, Rule, Site,
    SiteSum, Snapshot, Target, Thread, Tuner, Unloaded, Unloads, Waiting, no_room, remove_stale, why_no_view,
};
pub use settings::{Setting, Values};
