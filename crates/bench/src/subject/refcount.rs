//! Counts of references: with a lock, in the lock, and without one.

use super::{Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::counters::{Additions, Exchanges};
use crate::load::counted::Locked;
use std::sync::Arc;
use turnwise::backoff::{Exponential, Proportional};
use turnwise::{LockRef, McsLock, QueuedSpinLock, SpinLock, TicketLock};
use turnwise_lineage::d_count::{self, DCount};

/// Counts of references.
pub static SUBJECT: Subject = Subject {
    name: "refcount",
    help: "reference counts: an operation takes one and drops it",
    groups: &[&ALONE, &SHARED],
    default: &["alone", "shared"],
    scenarios: SCENARIOS,
    figures: &["per op", "CPU per op", "fairness", "p99 wait", "longest wait", "sleeps per op", "preempted per op"],
    exhibits: &[],
};

static ALONE: Group = Group {
    name: "alone",
    help: "all scenarios without contention",
    locks: LOCKS,
    default: &["all"],
    reference: &["cmpxchg"],
};

static SHARED: Group = Group {
    name: "shared",
    help: "all scenarios with contention",
    locks: LOCKS,
    default: &["all"],
    reference: &["ttas", "ttas-backoff", "ticket", "ticket-backoff", "queued", "mcs", "spin"],
};

static LOCKS: &[LockInfo] = &[
    LockInfo::counter::<LockRef>("turnwise", Sleeps, "our LockRef: count and lock in one word").ours("LockRef"),
    LockInfo::counter::<Exchanges>("cmpxchg", Never, "a bare word, a compare-exchange each way"),
    LockInfo::counter::<Additions>("atomic-add", Never, "a bare word, an addition each way"),
    LockInfo::counter::<Arc<()>>("arc", Never, "std::sync::Arc, cloned and dropped"),
    LockInfo::counter::<DCount<d_count::UnderLock>>("d_count", Spins, "Linux 3.10: d_count under d_lock")
        .made_of("DCount<UnderLock>"),
    LockInfo::counter::<DCount<d_count::CmpXchg>>("d_count-cmpxchg", Spins, "d_count by compare-exchange above 1")
        .made_of("DCount<CmpXchg>"),
    LockInfo::counter::<DCount<d_count::LockRef>>("lockref", Spins, "Linux 3.12's lockref").made_of("DCount<LockRef>"),
    LockInfo::counter::<Locked<std::sync::Mutex<u64>>>("std-mutex", Sleeps, "a count under std::sync::Mutex"),
    LockInfo::counter::<Locked<turnwise::Mutex<u64>>>("mutex", Sleeps, "a count under our mutex").made_of("Mutex"),
    LockInfo::counter::<Locked<SpinLock<u64>>>("ttas", Spins, "a count under our test-and-test-and-set lock")
        .made_of("SpinLock"),
    LockInfo::counter::<Locked<SpinLock<u64, Exponential>>>("ttas-backoff", Spins, "with exponential back-off")
        .made_of("SpinLock"),
    LockInfo::counter::<Locked<TicketLock<u64>>>("ticket", Spins, "a count under our ticket lock")
        .made_of("TicketLock"),
    LockInfo::counter::<Locked<TicketLock<u64, Proportional>>>("ticket-backoff", Spins, "with proportional back-off")
        .made_of("TicketLock"),
    LockInfo::counter::<Locked<QueuedSpinLock<u64>>>("queued", Spins, "a count under our queued spin lock")
        .made_of("QueuedSpinLock"),
    LockInfo::counter::<Locked<McsLock<u64>>>("mcs", Spins, "a count under our MCS lock").made_of("McsLock"),
    LockInfo::counter::<Locked<spin::mutex::SpinMutex<u64>>>("spin", Spins, "a count under spin 0.12's lock"),
];

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&ALONE, "uncontended", 1, "1 thread"),
    Scenario::tight(&SHARED, "shared-2", 2, "2 threads, one object"),
    Scenario::tight(&SHARED, "shared-8", 8, "8 threads, one object"),
];
