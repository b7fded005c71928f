//! A profiler's reading of a log, against files made by hand, and against invalid files.

mod harness;

use harness::{File, monotonic_ns};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Relaxed;
use turnwise_live::layout::{Header, LOG_START};
use turnwise_live::log::{Counts, RECORDS, RECORDS_START, RELEASES, RELEASES_START, Record, Release, STACK};
use turnwise_live::{Channel, Fault, Key, Kind, Recorder};

const LOCK: Key = Key::new(0x7f00_0000_1000, Kind::Write);
const MS: u64 = 1_000_000;

fn recorder(file: &File) -> Recorder {
    Channel::open(file.path()).and_then(|channel| channel.record()).expect("a file of ours")
}

fn counts(file: &File) -> &Counts {
    file.at(LOG_START)
}

/// Writes a wait as a program does.
fn write(file: &File, number: u64, since: u64, ns: u64) -> &Record {
    let record: &Record = file.at(RECORDS_START + number as usize % RECORDS * size_of::<Record>());
    record.key.store(LOCK.word(), Relaxed);
    record.since.store(since, Relaxed);
    record.until.store(since + ns, Relaxed);
    record.number.store(number + 1, Relaxed);
    counts(file).records.store(number + 1, Relaxed);
    record
}

#[test]
fn the_recorder_is_on_while_it_is_asked_for() {
    let file = File::new();
    let switch = &file.header().switch;
    let mut recorder = recorder(&file);
    assert_eq!(switch.until.load(Relaxed), 0, "not yet");
    recorder.ask(3 * MS).expect("a file of ours");
    let until = switch.until.load(Relaxed);
    assert!((monotonic_ns() + 1_000 * MS..monotonic_ns() + 2_001 * MS).contains(&until), "{until}");
    assert_eq!(switch.period.load(Relaxed), 3 * MS);
    assert_eq!(switch.profiler.load(Relaxed), u64::from(std::process::id()));
    recorder.stop().expect("a file of ours");
    assert_eq!(switch.until.load(Relaxed), 0);
    recorder.ask(MS).expect("a file of ours");
    drop(recorder);
    assert_eq!((switch.until.load(Relaxed), switch.profiler.load(Relaxed)), (0, 0));
}

#[test]
fn a_wait_is_read_as_it_was_written() {
    let file = File::new();
    write(&file, 0, 5, 5);
    let mut recorder = recorder(&file);
    let now = monotonic_ns();
    let record = write(&file, 1, now - 5 * MS, 2 * MS);
    record.tid.store(77, Relaxed);
    record.site.store(0x400_100, Relaxed);
    record.weight.store(8 * MS, Relaxed);
    record.holder.store(78, Relaxed);
    record.holder_site.store(0x400_200, Relaxed);
    record.events[1].store(4, Relaxed);
    record.stack_pointer.store(0x7ffd_0000, Relaxed);
    record.stack_bytes.store(20, Relaxed);
    record.stack[1].store(9, Relaxed);
    let release: &Release = file.at(RELEASES_START);
    release.tid.store(77, Relaxed);
    release.since.store(now - 3 * MS, Relaxed);
    release.at.store(now - MS, Relaxed);
    release.number.store(1, Relaxed);
    counts(&file).releases.store(1, Relaxed);
    let (waits, releases) = recorder.take().expect("a sound file");
    let [wait] = &waits[..] else { panic!("what was there before is not taken: {waits:?}") };
    assert_eq!((wait.tid, wait.lock, wait.kind, wait.site), (77, LOCK.address(), Kind::Write, 0x400_100));
    assert_eq!((wait.began_ns, wait.ended_ns), (now - 5 * MS, now - 3 * MS));
    assert_eq!((wait.weight, wait.acquired, wait.events), (4.0, true, [0, 4, 0]));
    assert_eq!((wait.holder, wait.holder_site, wait.registers.stack_pointer), (Some(78), 0x400_200, 0x7ffd_0000));
    assert_eq!((wait.stack.len(), wait.stack[8]), (16, 9), "whole words");
    assert_eq!((releases[0].wait, releases[0].at_ns, releases.len()), (wait.wait, now - MS, 1));
    assert!(recorder.take().expect("a sound file").0.is_empty());
    assert_eq!(recorder.losses().expect("a sound file"), (0, 0));
}

#[test]
fn what_came_too_fast_is_counted() {
    let file = File::new();
    let mut recorder = recorder(&file);
    let all = RECORDS as u64 + 10;
    for number in 0..all {
        write(&file, number, number, 1);
    }
    counts(&file).no_stack.store(3, Relaxed);
    assert_eq!(recorder.take().expect("a sound file").0.len(), RECORDS);
    assert_eq!(recorder.losses().expect("a sound file"), (10, 3));
}

#[test]
fn one_profiler_has_it_at_a_time() {
    let file = File::new();
    let first = recorder(&file);
    let second = Channel::open(file.path()).expect("a sound file").record().expect_err("it is taken");
    assert!(matches!(second.fault, Fault::Recorded(pid) if pid == u64::from(std::process::id())), "{second}");
    assert!(second.to_string().contains("recorded already"), "{second}");
    drop(first);
    recorder(&file);
}

#[test]
fn a_file_that_was_replaced_or_cut_is_an_error() {
    let file = File::new();
    let channel = Channel::open(file.path()).expect("a sound file");
    let copy = file.folder().join("copy");
    std::fs::copy(file.path(), &copy).and_then(|_| std::fs::rename(&copy, file.path())).expect("room");
    assert!(matches!(channel.record().expect_err("another file").fault, Fault::Replaced));
    let file = File::new();
    let mut recorder = recorder(&file);
    file.cut(LOG_START);
    assert!(recorder.take().is_err() && recorder.ask(MS).is_err());
}

#[test]
fn random_bytes_end_in_an_error_or_in_data() {
    let mut random = fastrand::Rng::with_seed(26);
    let (mut waits, mut lost) = (0, 0);
    for round in 0..60_u64 {
        let file = File::new();
        let mut recorder = recorder(&file);
        let opened = OpenOptions::new().write(true).open(file.path()).expect("a file");
        let mut bytes = vec![0; 40_000];
        random.fill(&mut bytes);
        for start in [RECORDS_START, RELEASES_START] {
            opened.write_all_at(&bytes, start as u64 + 8 * round).expect("room");
        }
        if round % 3 == 0 {
            opened.write_all_at(&bytes[..32], LOG_START as u64).expect("room");
            opened.write_all_at(&bytes[..200], std::mem::offset_of!(Header, clock) as u64).expect("room");
        } else {
            // Valid numbers, so that the rest is read.
            for number in 0..9 {
                let record: &Record = file.at(RECORDS_START + number * size_of::<Record>());
                record.number.store(number as u64 + 1, Relaxed);
                let release: &Release = file.at(RELEASES_START + number * size_of::<Release>());
                release.number.store(number as u64 + 1, Relaxed);
                record.key.store(LOCK.word(), Relaxed);
            }
            counts(&file).records.store(9, Relaxed);
            counts(&file).releases.store(9, Relaxed);
        }
        for _ in 0..3 {
            let Ok((found, releases)) = recorder.take() else { continue };
            assert!(found.len() <= RECORDS && releases.len() <= RELEASES);
            for wait in &found {
                assert!(wait.weight >= 1.0 && wait.ended_ns >= wait.began_ns && wait.stack.len() <= STACK, "{wait:?}");
            }
            waits += found.len();
        }
        lost += u64::from(recorder.losses().is_ok_and(|losses| losses.0 > 0));
    }
    assert!(waits > 100 && lost > 0, "{waits} waits, {lost} rounds with losses");
}
