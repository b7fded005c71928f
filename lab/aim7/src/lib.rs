//! AIM7: users that run a mix of jobs, and how many jobs a minute a machine does for them.
//!
//! | file | what |
//! |---|---|
//! | `workfile.rs` | which jobs a user runs, and how often; the workfiles that come with the program |
//! | `jobs.rs`, `perform.rs` | every job, and its requests to the kernel; how they are made |
//! | `child.rs`, `home.rs`, `files.rs` | a user; what it does with files; the file systems |
//! | `kernel/` | what processes contend on, the file system apart |
//! | `setup.rs`, `sets.rs`, `ramp.rs` | the parameters of a run; its locks; numbers of users |
//! | `metal.rs`, `simulate.rs` | where it runs: on this machine, on the simulated one |
//! | `outcome.rs`, `meter.rs` | its result; where the time of some operations went |

mod child;
mod files;
mod home;
pub mod jobs;
pub mod kernel;
mod metal;
pub mod meter;
mod outcome;
mod perform;
mod programs;
mod ramp;
mod sets;
mod setup;
mod simulate;
pub mod workfile;

pub use child::{Child, Site};
pub use files::Files;
pub use jobs::{JOBS, Job, Operations};
pub use meter::{Comm, Meter, Meters};
pub use outcome::{Outcome, ScopeRow};
pub use ramp::Ramp;
pub use sets::{SETS, Set};
pub use setup::Setup;
pub use simulate::{Length, Plan, Stuck, simulate};
pub use workfile::{Fault, Workfile};

use anyhow::{Context, Result, ensure};

/// Runs this many users on this machine, a thread for each, from start to end.
///
/// # Errors
/// The setup makes no sense, or the file system refuses something.
pub fn run(setup: &Setup, locks: &Set, users: u32) -> Result<Outcome> {
    ensure!(users > 0, "a run needs a user");
    (locks.metal)(setup, users).with_context(|| format!("{users} users with the locks {}", locks.name))
}
