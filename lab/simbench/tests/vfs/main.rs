//! The file system in the simulator: thousands of schedules in which renames, paths, look-ups, creation, removal and
//! reclaim run against each other on 4 to 8 CPUs, with today's locks and with those of the papers' kernels.
//!
//! | file | what |
//! |---|---|
//! | `interleavings.rs` | the schedules: machine, threads, perturbation, and what must hold at the end |
//! | `roles.rs` | what a thread does, and what must hold of each of its operations |
//!
//! `TURNWISE_VFS_RUNS=2000 cargo test -p turnwise-simbench --test vfs` runs this many schedules of each set of locks
//! instead of some hundreds. A failure names the set and the run; `TURNWISE_VFS_FIRST` begins with that one.

mod interleavings;
mod roles;
#[allow(
    unreachable_pub,
    dead_code,
    reason = "it is a file of its own in another crate's tests, and only a part of it is used"
)]
#[path = "../../../sim/tests/support/mod.rs"]
mod support;
