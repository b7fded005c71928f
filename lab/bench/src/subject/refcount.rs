//! Counts of references: with a lock, in the lock, and without one.

use super::{BASIC, Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::counters::{Additions, Clones, Exchanges};
use crate::load::counted::Locked;

/// Counts of references.
pub static SUBJECT: Subject = Subject {
    name: "refcount",
    help: "reference counts, alone or under a lock: an operation takes one and drops it",
    groups: &[&ALONE, &SHARED],
    default: &["alone", "shared"],
    scenarios: SCENARIOS,
    figures: &[BASIC, &["p99 wait", "longest wait", "sleeps per op", "preempted per op"]],
    comparisons: &[],
    plugged: None,
};

static ALONE: Group = Group::of("alone", "all scenarios without contention", LOCKS).against(&["cmpxchg"]);
static SHARED: Group = Group::of("shared", "all scenarios with contention", LOCKS).against(SPIN_LOCKS);
const SPIN_LOCKS: &[&str] = &["ttas", "ttas-backoff", "ticket", "ticket-backoff", "queued", "mcs", "spin"];

static LOCKS: &[LockInfo] = &[
    LockInfo::own("lockref"),
    LockInfo::counter::<Exchanges>("cmpxchg", Never, "a bare word, a compare-exchange each way"),
    LockInfo::counter::<Additions>("atomic-add", Never, "a bare word, an addition each way"),
    LockInfo::counter::<Clones>("arc", Never, "std::sync::Arc, cloned and dropped"),
    LockInfo::listed("d-count-under-lock"),
    LockInfo::listed("d-count-cmpxchg"),
    LockInfo::listed("d-count-lockref"),
    LockInfo::counter::<Locked<std::sync::Mutex<u64>>>("std-mutex", Sleeps, "std::sync::Mutex"),
    LockInfo::count_under("mutex"),
    LockInfo::count_under("ttas"),
    LockInfo::count_under("ttas-backoff"),
    LockInfo::count_under("ticket"),
    LockInfo::count_under("ticket-backoff"),
    LockInfo::count_under("queued"),
    LockInfo::count_under("mcs"),
    LockInfo::counter::<Locked<spin::mutex::SpinMutex<u64>>>("spin", Spins, "spin 0.12's test-and-set lock"),
];

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&ALONE, "uncontended", 1, "1 thread"),
    Scenario::tight(&SHARED, "shared-2", 2, "2 threads, one object"),
    Scenario::tight(&SHARED, "shared-8", 8, "8 threads, one object"),
];
