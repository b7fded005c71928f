//! The readers-writer lock and its peers.

use super::{BASIC, Group, LockInfo, Mix, OF_KINDS, Scenario, Subject, Waiting::*};
use crate::adapt::plugged;
use crate::adapt::pthread::PthreadRwLock;
use crate::adapt::rwlocks::Alone;
use crate::load::shared::Record;

/// The readers-writer lock and its peers.
pub static SUBJECT: Subject = Subject {
    name: "rwlock",
    help: "readers-writer locks",
    groups: &[&RWLOCK],
    default: &["rwlock"],
    scenarios: SCENARIOS,
    figures: &[BASIC, &["share of the few"], OF_KINDS, &["sleeps per op"]],
    comparisons: &[],
    plugged: Some(plugged::shared),
};

static RWLOCK: Group = Group {
    name: "rwlock",
    help: "all scenarios",
    locks: LOCKS,
    default: &["rwsem", "big-reader", "std", "parking_lot", "pthread", "pthread-writers", "spin", "mutex"],
    reference: &[],
};

static LOCKS: &[LockInfo] = &[
    LockInfo::own("rwsem"),
    LockInfo::own("big-reader"),
    LockInfo::shared::<std::sync::RwLock<Record>>("std", Sleeps, "std::sync::RwLock"),
    LockInfo::shared::<parking_lot::RwLock<Record>>("parking_lot", Sleeps, "parking_lot 0.13's RwLock"),
    #[cfg(feature = "parking_lot_0_12")]
    LockInfo::shared::<parking_lot_0_12::RwLock<Record>>("parking_lot-0.12", Sleeps, "parking_lot 0.12's RwLock"),
    #[cfg(feature = "usync")]
    LockInfo::shared::<usync::RwLock<Record>>("usync", Sleeps, "usync 0.2's RwLock"),
    LockInfo::shared::<PthreadRwLock<false>>("pthread", Sleeps, "the C library's default, which prefers readers"),
    LockInfo::shared::<PthreadRwLock<true>>(
        "pthread-writers",
        Sleeps,
        "the same of kind PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP",
    ),
    LockInfo::shared::<spin::RwLock<Record>>("spin", Spins, "spin 0.12's RwLock"),
    LockInfo::shared::<Alone<turnwise::Mutex<Record>>>("mutex", Sleeps, "our mutex: readers one at a time").ours(),
    LockInfo::shared::<Alone<std::sync::Mutex<Record>>>("std-mutex", Sleeps, "std::sync::Mutex, likewise"),
];

const fn mix(name: &'static str, threads: usize, read_percent: u8, help: &'static str) -> Scenario {
    Scenario::tight(&RWLOCK, name, threads, help).busy(50, 100).mix(Mix::Mixed(read_percent))
}

/// Makes some threads only write, the others only read.
const fn apart(scenario: Scenario, writers: usize) -> Scenario {
    scenario.mix(Mix::Apart { writers, rest_ns: 0 })
}

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&RWLOCK, "uncontended-read", 1, "1 thread, reads").mix(Mix::Mixed(100)),
    Scenario::tight(&RWLOCK, "uncontended-write", 1, "1 thread, writes"),
    mix("2x100/0", 2, 100, "2 threads, all reads, 50 ns inside, 100 ns outside"),
    mix("2x99/1", 2, 99, "2 threads, 99% reads, 50 ns inside, 100 ns outside"),
    mix("2x95/5", 2, 95, "2 threads, 95% reads, 50 ns inside, 100 ns outside"),
    mix("2x50/50", 2, 50, "2 threads, 50% reads, 50 ns inside, 100 ns outside"),
    mix("2x0/100", 2, 0, "2 threads, all writes, 50 ns inside, 100 ns outside"),
    mix("8x100/0", 8, 100, "8 threads, all reads, 50 ns inside, 100 ns outside"),
    mix("8x95/5", 8, 95, "8 threads, 95% reads, 50 ns inside, 100 ns outside"),
    mix("8x50/50", 8, 50, "8 threads, 50% reads, 50 ns inside, 100 ns outside"),
    mix("8x0/100", 8, 0, "8 threads, all writes, 50 ns inside, 100 ns outside"),
    mix("32x100/0", 32, 100, "32 threads, all reads, 50 ns inside, 100 ns outside"),
    mix("32x95/5", 32, 95, "32 threads, 95% reads, 50 ns inside, 100 ns outside"),
    mix("32x50/50", 32, 50, "32 threads, 50% reads, 50 ns inside, 100 ns outside"),
    mix("32x0/100", 32, 0, "32 threads, all writes, 50 ns inside, 100 ns outside"),
    apart(mix("1w7r", 8, 0, "1 writer and 7 readers, 50 ns inside, 100 ns outside"), 1),
    apart(mix("1w31r", 32, 0, "1 writer and 31 readers, 50 ns inside, 100 ns outside"), 1),
    apart(mix("1r7w", 8, 0, "1 reader and 7 writers, 50 ns inside, 100 ns outside"), 7),
    apart(Scenario::tight(&RWLOCK, "tight-1w7r", 8, "1 writer and 7 readers, nothing but the lock"), 1),
    apart(Scenario::tight(&RWLOCK, "tight-1w31r", 32, "1 writer and 31 readers, nothing but the lock"), 1),
    Scenario::tight(&RWLOCK, "tight-8w", 8, "8 writers, nothing but the lock"),
    apart(Scenario::tight(&RWLOCK, "tight-1r7w", 8, "1 reader and 7 writers, nothing but the lock"), 7),
];
