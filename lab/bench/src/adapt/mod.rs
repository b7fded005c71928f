//! The locks that are compared, in the shape that the workloads need: one file for each sort.

pub mod counters;
pub mod guarded;
pub mod listed;
pub mod monitors;
pub(crate) mod plugged;
pub mod pthread;
pub mod raw;
pub mod seqlocks;
pub mod trees;

/// What a lock's poisoning would break.
const NO_PANIC: &str = "no workload panics with the lock held";
