//! Workloads for locks, and the benchmark that compares ours with the peers'.
//!
//! | file | what |
//! |---|---|
//! | `locks.rs` | the table of locks |
//! | `scenario.rs` | the table of scenarios |
//! | `run.rs` | one sample: threads, one lock, a fixed time |
//! | `bench.rs` | the command: rounds of samples, interleaved |
//! | `report.rs`, `text.rs` | what comes out of it, as JSON, text or Markdown |
//! | `machine.rs` | where it ran |
//! | `stats.rs` | medians and paired ratios |
//! | `work.rs` | calibrated work |
//! | `blind.rs`, `pthread.rs` | a platform and locks to compare with |

pub mod bench;
pub mod blind;
pub mod locks;
pub mod machine;
pub mod pthread;
pub mod report;
pub mod run;
pub mod scenario;
pub mod stats;
pub mod text;
pub mod work;
