//! AIM7: users who run a mix of jobs, and how many jobs a minute a machine does for them.
//!
//! | file | what |
//! |---|---|
//! | `workfile.rs` | which jobs a user runs, and how often; the workfiles that come with the program |
//! | `jobs.rs` | every job, and what it asks of the kernel |

pub mod jobs;
pub mod workfile;

pub use jobs::{Job, Operations};
pub use workfile::{Fault, Workfile};
