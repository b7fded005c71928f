//! Sleeps that are not on our locks, in the live view: by the program that the recorder's test has for them, which
//! checks what the calls return. Its `answers`, `handler`, `cancel` and `fork` check nothing else.

mod harness;

use harness::{Build, library};
use std::fs;
use tempfile::TempDir;
use turnwise_live::layout::stack_of_site;
use turnwise_live::{Channel, Kind, Snapshot, place};
use turnwise_preload_abi::environment;

/// Runs a part of the program to its end; returns the folder of its views.
fn ended(part: &str, live: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Build::new("../../../recorder/tests/c/asleep.c").program();
    let mut command = program.command();
    command.arg(format!("{}={}", place::RUNTIME_VARIABLE, folder.path().display()));
    command.arg(format!("{}={live}", environment::LIVE)).arg(format!("LD_PRELOAD={}", library().display()));
    let status = command.arg(program.path()).arg(part).status().expect("timeout runs");
    assert!(status.success(), "{part} with {}={live}: {status}", environment::LIVE);
    folder
}

fn channels(folder: &TempDir) -> Vec<Channel> {
    let files = fs::read_dir(folder.path().join(place::FOLDER)).into_iter().flatten();
    files.map(|file| Channel::open(&file.expect("a file").path()).expect("a sound view")).collect()
}

/// Returns the last state of the only view that a part of the program leaves.
fn of(part: &str) -> (Channel, Snapshot) {
    let mut channels = channels(&ended(part, "1"));
    let channel = channels.pop().expect("a view");
    assert!(channels.is_empty());
    let snapshot = channel.snapshot().expect("a sound view");
    assert_eq!(snapshot.lost, Default::default(), "{part}");
    (channel, snapshot)
}

/// Returns the numbers of waits, and of those that gave up, for each thing that threads waited for in this way.
fn waits(snapshot: &Snapshot, kind: Kind) -> Vec<(u64, u64)> {
    let of_kind = snapshot.locks.iter().filter(|lock| lock.kind == kind && lock.waits > 0);
    let mut waits: Vec<(u64, u64)> = of_kind.map(|lock| (lock.waits, lock.gave_up)).collect();
    waits.sort_unstable();
    waits
}

#[test]
fn sleeps_are_counted_by_what_they_are_for() {
    let expected = [
        ("semaphore", Kind::Semaphore, vec![(2, 2), (3, 0)]),
        ("barrier", Kind::Barrier, vec![(1, 0)]),
        ("once", Kind::Once, vec![(1, 0)]),
        ("futexes", Kind::Futex, vec![(1, 0)]),
        ("join", Kind::Join, vec![(1, 0)]),
    ];
    for (part, kind, expected) in expected {
        let (channel, snapshot) = of(part);
        assert_eq!(waits(&snapshot, kind), expected, "{part}: {:?}", snapshot.locks);
        for lock in snapshot.locks.iter().filter(|lock| lock.kind == kind && lock.waits > 0) {
            assert_eq!((lock.sleeps, lock.histogram.iter().sum()), (lock.waits, lock.waits));
            assert!(stack_of_site(lock.site).is_some() && channel.calls(lock.site).len() > 1, "{part}: {lock:?}");
        }
        let others = snapshot.locks.iter().filter(|lock| lock.kind != kind && lock.waits > 0);
        assert!(others.clone().all(|lock| lock.kind == Kind::Join), "{part}: {:?}", others.collect::<Vec<_>>());
    }
}

#[test]
fn waits_that_time_out_are_as_long_as_that() {
    let (_, snapshot) = of("semaphore");
    let never = snapshot.locks.iter().find(|lock| lock.gave_up == 2).expect("it times out twice");
    assert!(never.longest_ns >= 45_000_000 && never.wait_ns >= 90_000_000, "{never:?}");
}

#[test]
fn a_cancelled_sleep_has_ended() {
    let (_, snapshot) = of("cancel");
    assert_eq!([Kind::Semaphore, Kind::Futex].map(|kind| waits(&snapshot, kind)), [[(1, 1)], [(1, 1)]]);
    assert!(snapshot.threads.iter().all(|thread| thread.waiting.is_none()), "{:?}", snapshot.threads);
}

#[test]
fn the_kernels_answers_are_the_programs() {
    for live in ["0", "1"] {
        for part in ["answers", "handler", "cancel", "fork"] {
            let views = channels(&ended(part, live));
            let processes = if part == "fork" { 2 } else { 1 };
            assert_eq!(views.len(), if live == "0" { 0 } else { processes }, "{part}");
        }
    }
}

#[test]
fn a_call_that_does_not_sleep_is_no_wait() {
    let (_, snapshot) = of("answers");
    let all: u64 = snapshot.locks.iter().map(|lock| lock.waits).sum();
    let gave_up: u64 = snapshot.locks.iter().map(|lock| lock.gave_up).sum();
    // The kernel refuses the others, or has nothing to wait for.
    assert!(all == gave_up && (3..=4).contains(&all), "{:?}", snapshot.locks);
}
