//! The sequence lock and its peers: reads that write nothing.

use super::{BASIC, Group, LockInfo, Mix, OF_KINDS, Scenario, Subject, Waiting::*};
use crate::adapt::seqlocks::{Blocking, With};
use crate::load::shared::Record;

/// The sequence lock and its peers.
pub static SUBJECT: Subject = Subject {
    name: "seqlock",
    help: "sequence locks: reads of 4 words that write nothing",
    groups: &[&OPTIMISTIC, &BLOCKING],
    default: &["optimistic", "blocking"],
    scenarios: SCENARIOS,
    figures: &[BASIC, OF_KINDS],
    comparisons: &[],
    plugged: None,
};

static OPTIMISTIC: Group = Group::of("optimistic", "all scenarios with optimistic readers", LOCKS)
    .by_default(&["seqrwlock", "seqrwlock-with", "seqlock", "std", "parking_lot"])
    .against(&["seqlock"]);
static BLOCKING: Group = Group::of("blocking", "all scenarios with readers that keep writers out", LOCKS)
    .by_default(&["seqrwlock-blocking", "std", "parking_lot"]);

static LOCKS: &[LockInfo] = &[
    LockInfo::own("seqrwlock"),
    LockInfo::shared::<With>("seqrwlock-with", Sleeps, "the same, with read_with").ours(),
    LockInfo::shared::<Blocking>("seqrwlock-blocking", Sleeps, "the same, with readers that keep writers out").ours(),
    LockInfo::shared::<seqlock::SeqLock<Record>>("seqlock", Sleeps, "the seqlock crate 0.2"),
    LockInfo::shared::<std::sync::RwLock<Record>>("std", Sleeps, "std::sync::RwLock"),
    LockInfo::shared::<parking_lot::RwLock<Record>>("parking_lot", Sleeps, "parking_lot 0.13's RwLock"),
];

const fn reads(group: &'static Group, name: &'static str, threads: usize, help: &'static str) -> Scenario {
    Scenario::tight(group, name, threads, help).mix(Mix::Mixed(100))
}

const fn one_writer(
    group: &'static Group,
    name: &'static str,
    threads: usize,
    rest_ns: u64,
    help: &'static str,
) -> Scenario {
    Scenario::tight(group, name, threads, help).mix(Mix::Apart { writers: 1, rest_ns })
}

static SCENARIOS: &[Scenario] = &[
    reads(&OPTIMISTIC, "read", 1, "1 reader"),
    Scenario::tight(&OPTIMISTIC, "write", 1, "1 writer"),
    reads(&OPTIMISTIC, "read-2", 2, "2 readers"),
    one_writer(&OPTIMISTIC, "rare-writes", 2, 100_000, "1 reader, 1 writer that rests 100 us after each write"),
    one_writer(&OPTIMISTIC, "frequent-writes", 2, 1_000, "1 reader, 1 writer that rests 1 us after each write"),
    one_writer(&OPTIMISTIC, "rare-writes-8", 8, 100_000, "7 readers, 1 writer that rests 100 us after each write"),
    one_writer(&OPTIMISTIC, "frequent-writes-8", 8, 1_000, "7 readers, 1 writer that rests 1 us after each write"),
    reads(&BLOCKING, "blocking-read", 1, "1 blocking reader"),
    reads(&BLOCKING, "blocking-read-2", 2, "2 blocking readers"),
    one_writer(&BLOCKING, "blocking-rare-writes", 2, 100_000, "1 blocking reader, 1 writer that rests 100 us"),
    one_writer(&BLOCKING, "blocking-frequent-writes", 2, 1_000, "1 blocking reader, 1 writer that rests 1 us"),
];
