//! Workloads for locks, and the benchmark that compares ours with the peers'.
//!
//! | file | what |
//! |---|---|
//! | `subject/` | what is compared: a table of locks, groups and scenarios for each sort of locks |
//! | `adapt/` | locks of all kinds, in the shape that the workloads want |
//! | `load/` | what the threads do: exclusive locks, readers and writers, counts of references, monitors |
//! | `run.rs`, `probe.rs` | one sample: threads, one lock, a fixed time; how fair it was; what is recorded of an acquisition |
//! | `options.rs`, `bench.rs` | what to compare; rounds of samples, interleaved |
//! | `samples.rs`, `report.rs`, `figure.rs` | the results |
//! | `verdict.rs` | the summary of all cells: the geometric mean, the worst, the least fair |
//! | `published.rs`, `published.toml` | what the five papers published |
//! | `papers.rs` | that, next to what was measured |
//! | `situation.rs` | what is peculiar about a scenario: many locks, a busy neighbour |
//! | `neighbour.rs` | a process that keeps a CPU busy during a sample |
//! | `plugin.rs` | `--plugin`: locks in shared objects |
//! | `setting.rs` | `--set`: other numbers for waiting |
//! | `work.rs` | calibrated work |
//! | `environment.rs`, `simulated.rs` | what a workload needs of the world it runs in: this machine or the simulated one |
//! | `blind.rs` | a platform to compare with |

pub mod adapt;
pub mod bench;
pub mod blind;
pub mod environment;
pub mod figure;
pub mod load;
mod neighbour;
pub mod options;
pub mod papers;
pub mod plugin;
pub mod probe;
pub mod published;
pub mod report;
pub mod run;
pub mod samples;
pub mod setting;
pub mod simulated;
pub mod situation;
pub mod subject;
pub mod verdict;
pub mod work;
