//! Workloads for locks, and the benchmark that compares ours with the peers'.
//!
//! | file | what |
//! |---|---|
//! | `subject/` | what is compared: a table of locks, groups and scenarios for each sort of locks |
//! | `adapt/` | locks of all kinds, in the shape that the workloads want |
//! | `load/` | what the threads do: exclusive locks, readers and writers, counts of references |
//! | `simulate/` | the same workloads on the simulated machine: locks, workloads, one cell |
//! | `aim7/` | users who run a mix of jobs, on metal and simulated |
//! | `run.rs`, `probe.rs` | one sample: threads, one lock, a fixed time; what is recorded of an acquisition |
//! | `args.rs`, `bench.rs` | the command: its flags; rounds of samples, interleaved |
//! | `samples.rs`, `report.rs`, `figure.rs`, `text.rs` | what comes out of it, as JSON, text or Markdown |
//! | `documents.rs`, `published.toml` | what the documents published, beside what was measured |
//! | `catalogue.rs` | every lock of this project, with its guarantees |
//! | `machine.rs` | where it ran |
//! | `stats.rs` | medians and paired ratios |
//! | `setting.rs` | `--set`: other numbers of waiting |
//! | `work.rs` | calibrated work |
//! | `world.rs` | what a workload needs of the world it runs in: this machine or the simulated one |
//! | `blind.rs` | a platform to compare with |
//! | `calibrate/` | measures this machine for the simulator |

pub mod adapt;
pub mod aim7;
pub mod args;
pub mod bench;
pub mod blind;
pub mod calibrate;
pub mod catalogue;
pub mod documents;
pub mod figure;
pub mod load;
pub mod machine;
pub mod probe;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod samples;
pub mod setting;
pub mod simulate;
pub mod stats;
pub mod subject;
pub mod text;
pub mod work;
pub mod world;
