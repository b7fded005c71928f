//! The live view of a program's contended locks: a file that a program on our locks maintains while it runs, and that
//! its owner can read at any time, even after the program's end.
//!
//! | file | what |
//! |---|---|
//! | `layout.rs` | the layout of the file |
//! | `log.rs` | the part of it in which individual waits are recorded, while a profiler requests it |
//! | `key.rs` | a lock and the way of waiting for it, in one word |
//! | `settings.rs` | the settings for the locks of a running program, and their place in the file |
//! | `place.rs` | the folders of such files, and their names |
//! | `reader/` | feature `reader`: finds such files, and makes snapshots of them |
//! | `locks.rs` | feature `locks`: the interface between a writer and the locks of crate turnwise |
//! | `own/` | feature `own`: the view of the calling program; call sites of its waits |
//! | `writer/` | feature `writer`: creates such a file and counts, inside a program that must not notice it |
//!
//! The design page is `docs/design/live.md`.
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

pub use key::{Key, Kind};
#[cfg(feature = "reader")]
pub use reader::{
    Addresses, Channel, Error, Fault, Follower, Lock, Lost, Recorded, Recorder, Registers, Released, Rule, Site,
    SiteSum, Snapshot, Target, Thread, Totals, Tuner, Unloaded, Unloads, Waiting, no_room, why_no_view,
};
pub use settings::{Setting, Values};
pub use turnwise_preload_abi::{UNKNOWN_MODULE, numbered, unnumbered};
