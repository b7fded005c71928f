//! A replay with made-up figures.

use super::record::{FORMAT, Point, RecordReport, Recorded};
use turnwise_forecast::order::{ADAPTIVE, LIBC};

/// Returns a report of two locks on two machines.
pub(crate) fn report() -> RecordReport {
    let point = |machine: &str, cpus, lock: &str| Point {
        machine: machine.to_owned(),
        cpus,
        lock: lock.to_owned(),
        acquisitions_per_s: 1.1e6,
        times_recorded: 1.1,
        waiting: 0.25,
        most: Some(("cache".to_owned(), 0.2)),
    };
    let recorded = Recorded {
        command: vec!["./server".to_owned(), "--port 80".to_owned()],
        machine: "a machine".to_owned(),
        policy: LIBC.to_owned(),
        cpus: 2,
        threads: 4,
        seconds: 2.0,
        acquisitions: 2e6,
        acquisitions_per_s: 1e6,
        kept: 0.04,
        awaited: 0.3,
        locks: 3,
        locks_left_out: 1,
    };
    let all = ["one", "two"].iter().flat_map(|machine| [1, 2, 4].map(|cpus| (*machine, cpus)));
    let points = all.flat_map(|(machine, cpus)| [LIBC, ADAPTIVE].map(|lock| point(machine, cpus, lock)));
    let points = points.collect();
    let check = Some(point("here", 2, LIBC));
    RecordReport { format: FORMAT, commit: None, seed: 1, recorded, check, points }
}
