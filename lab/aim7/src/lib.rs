//! AIM7: users that run a mix of jobs, and how many jobs a minute a machine does for them.
//!
//! | file | what |
//! |---|---|
//! | `workfile.rs` | which jobs a user runs, and how often; the workfiles that come with the program |
//! | `jobs.rs`, `perform.rs` | every job, and its requests to the kernel; how they are made |
//! | `child.rs`, `home.rs`, `files.rs` | a user; what it does with files; the file systems |
//! | `kernel/` | what processes contend on, the file system apart |
//! | `setup.rs` | the parameters of a run |
//! | `simulate.rs` | a run on the simulated machine |
//! | `outcome.rs`, `meter.rs` | its result; programs and paths, by what the process ran |

mod child;
mod files;
mod home;
pub mod jobs;
pub mod kernel;
pub mod meter;
mod outcome;
mod perform;
mod programs;
mod setup;
mod simulate;
pub mod workfile;

pub use child::{Child, Site};
pub use files::Files;
pub use jobs::{JOBS, Job};
pub use meter::{Comm, Meter, Meters};
pub use outcome::{Outcome, ScopeRow};
pub use setup::Setup;
pub use simulate::{Length, Plan, simulate};
pub use workfile::Workfile;
