//! A deterministic many-core NUMA machine that runs the locks' own code.
//!
//! | folder | what |
//! |---|---|
//! | `spec/` | what a machine is; machine files |
//! | `engine/` | time, cache lines, CPUs, threads and their scheduler |
//! | `platform/` | [`Sim`]: the machine as a lock sees it |
//! | `experiment.rs` | a group of threads run on it |

mod engine;
pub mod experiment;
mod platform;
pub mod spec;

pub use engine::{
    Affinity, Config, Counters, Handoffs, Happened, Kind, MAX_THREADS, Outcome, Perturb, Placed, ProfileEntry, SimPin,
    Simulation, Snapshot, Stuck, StuckKind, TraceEvent,
};
pub use platform::{Sim, SimWord};
