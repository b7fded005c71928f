//! A thread that alternates among many locks writes them down, and counts them later: no count may be lost by that.

use super::harness::{Run, function, lock};

/// `LOCKS` and `ROUNDS` of `tests/c/journal.c`.
const LOCKS: u64 = 1024;
const ROUNDS: u64 = 60;

#[test]
fn what_is_counted_later_is_counted_exactly() {
    let profile = Run::program("journal", "", &[], &[]).profile();
    let count = |name: &str| lock(&profile, name).usage.acquisitions;
    assert_eq!(lock(&profile, "outer").usage.reads, 2 * ROUNDS * LOCKS);
    assert_eq!((count("outer"), count("inner")), (2 * ROUNDS * LOCKS, 2 * ROUNDS * LOCKS));
    let more = |place: u64| match place {
        0..3 => 1000,
        5 => 2,
        _ => 0,
    };
    let array = profile.locks.iter().filter_map(|lock| Some((lock.name.strip_prefix("array")?, lock)));
    let mut counts: Vec<_> = array.map(|(_, lock)| (lock.address, lock.usage.acquisitions)).collect();
    counts.sort_unstable();
    let counts: Vec<_> = counts.into_iter().map(|(_, acquisitions)| acquisitions).collect();
    assert_eq!(counts, (0..LOCKS).map(|place| 2 * ROUNDS + more(place)).collect::<Vec<_>>());
    let mut made: Vec<_> = profile.locks.iter().filter(|lock| lock.name.contains("made")).collect();
    made.sort_by_key(|lock| lock.usage.acquisitions);
    assert_eq!(made.iter().map(|lock| lock.usage.acquisitions).collect::<Vec<_>>(), [17, 31], "one after the other");
    let all: u64 = profile.locks.iter().map(|lock| lock.usage.acquisitions).sum();
    let of_threads: u64 = profile.threads.iter().map(|thread| thread.usage.acquisitions).sum();
    assert_eq!((all, profile.recording.acquisitions_unattributed), (of_threads, 0));
}

#[test]
fn orders_and_holders_of_what_is_counted_later_are_seen() {
    let profile = Run::program("journal", "", &[], &[]).profile();
    assert_eq!(profile.cycles.len(), 1, "{:?}", profile.cycles);
    assert_eq!(lock(&profile, "held").usage.contended, 1);
    let site = |id: u32| &profile.sites[id as usize];
    let of_held = |id: u32| profile.locks[site(id).lock as usize].name == "held";
    let pair = profile.blocked.iter().find(|pair| of_held(pair.waiter)).expect("one waited for `held`");
    assert_eq!(function(&profile, site(pair.holder)), "keep");
    assert!(lock(&profile, "held").usage.hold.count > 0, "the waiter's hold is measured");
}

#[test]
fn what_a_cut_journal_leaves_out_is_reported() {
    let profile = Run::program("journal", "cut", &[], &[]).profile();
    let all: u64 = profile.locks.iter().map(|lock| lock.usage.acquisitions).sum();
    let of_threads: u64 = profile.threads.iter().map(|thread| thread.usage.acquisitions).sum();
    let left_out = profile.recording.acquisitions_unattributed;
    assert_eq!((of_threads, all + left_out), (3 * ROUNDS * LOCKS + 2, of_threads));
    assert!((1..=128).contains(&left_out), "{left_out} of {of_threads} are in no line");
}
