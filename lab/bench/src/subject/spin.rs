//! Spin locks: with few threads, and with more than there are CPUs.

use super::{BASIC, Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::plugged;
use crate::load::exclusive::Protected;

/// Spin locks.
pub static SUBJECT: Subject = Subject {
    name: "spin",
    help: "spin locks",
    groups: &[&SPIN],
    default: &["spin"],
    scenarios: SCENARIOS,
    figures: &[BASIC, &["p50 wait", "p99 wait", "longest wait", "preempted per op"]],
    comparisons: &[],
    plugged: Some(plugged::exclusive),
};

static SPIN: Group = Group::of("spin", "all scenarios", LOCKS).against(&["spin"]);

static LOCKS: &[LockInfo] = &[
    LockInfo::own("ttas"),
    LockInfo::own("ttas-backoff"),
    LockInfo::own("ticket"),
    LockInfo::own("ticket-backoff"),
    LockInfo::own("queued"),
    LockInfo::own("mcs"),
    LockInfo::exclusive::<spin::mutex::SpinMutex<Protected>>("spin", Spins, "spin 0.12's test-and-set lock"),
    LockInfo::exclusive::<spin::mutex::TicketMutex<Protected>>("spin-ticket", Spins, "spin 0.12's ticket lock"),
    LockInfo::own("kernel-ticket"),
    LockInfo::own("ia64-spin-plain"),
    LockInfo::own("ia64-spin-code"),
    LockInfo::own("ia64-spin-prose"),
    LockInfo::own("mutex"),
];

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&SPIN, "uncontended", 1, "1 thread, increment only"),
    Scenario::tight(&SPIN, "tight-2", 2, "2 threads, increment only"),
    Scenario::tight(&SPIN, "2x50/100", 2, "2 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&SPIN, "2x50/500", 2, "2 threads, 50 ns inside, 500 ns outside").busy(50, 500),
    Scenario::tight(&SPIN, "4x50/100", 4, "4 threads, 50 ns inside, 100 ns outside").busy(50, 100),
];
