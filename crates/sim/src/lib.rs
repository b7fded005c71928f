//! A deterministic many-core NUMA machine that runs the locks' own code.
//!
//! | folder | what |
//! |---|---|
//! | `spec/` | what a machine is; machine files |
//! | `engine/` | time, cache lines, CPUs, threads and their scheduler |
//! | `platform/` | `Sim`: the machine as a lock sees it |

pub mod spec;
