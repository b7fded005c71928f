//! Workloads on the simulated machine.
//!
//! | file | what |
//! |---|---|
//! | `locks.rs` | every lock that can be simulated |
//! | `workload.rs` | what the threads do, as given on the command line |
//! | `run.rs`, `probe.rs` | one cell: some threads, one lock, a fixed simulated time; what is recorded |
//! | `figures.rs` | what the cell shows between two readings of its counts |
//! | `host.rs` | the file system on the simulated machine: its memory, and what its own code costs |
//! | `profile.rs`, `functions.rs` | where the time went, by function |
//! | `report.rs` | the result |
//! | `validation/` | the simulator's accuracy: predictions next to measurements |

mod figures;
pub mod functions;
pub mod host;
pub mod locks;
mod probe;
pub mod profile;
pub mod report;
pub mod run;
pub mod validation;
pub mod workload;

pub use host::Simulated;
pub use locks::{LOCKS, SimLock, Sort};
pub use run::{Plan, Run};
pub use workload::Workload;
