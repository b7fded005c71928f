//! The reader against files made by hand: sums, waiters and owners; and against invalid files.

mod harness;

use harness::{File, fill, monotonic_ns};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::collections::VecDeque;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::{fs, process};
use turnwise_live::layout::{BLOCKS_START, FILE_BYTES, LAYOUT, LOCKS_START, THREADS, VERSION, flags, state};
use turnwise_live::{Channel, Error, Fault, Follower, Key, Kind, Lock, Snapshot};

const LOCK: Key = Key::new(0x7f00_0000_1000, Kind::Mutex);
const OTHER: Key = Key::new(0x7f00_0000_2000, Kind::Mutex);

fn snapshot(file: &File) -> Snapshot {
    Channel::open(file.path()).and_then(|channel| channel.snapshot()).expect("a sound file")
}

fn fault(path: &Path) -> Fault {
    Channel::open(path).expect_err("a file that is not sound").fault
}

#[test]
fn a_lock_is_the_sum_over_threads_table_and_waits_that_just_ended() {
    let file = File::new();
    fill(file.lock(0), LOCK, 0x400_100, &[(1_000, 3), (5_000, 1)]);
    fill(file.lock(7), LOCK, 0x400_200, &[(2_000, 1)]);
    let block = file.thread(0, 1);
    fill(&block.entries[3], LOCK, 0x400_100, &[(100_000, 2)]);
    block.entries[3].sleeps.store(2, Relaxed);
    let reads = Key::new(LOCK.address() as usize, Kind::Read);
    fill(&block.entries[4], reads, 0x400_300, &[(10, 1)]);
    block.wait.key.store(LOCK.word(), Relaxed);
    block.wait.site.store(0x400_200, Relaxed);
    block.wait.since.store(1_000_000, Relaxed);
    block.wait.until.store(1_000_700, Relaxed);
    block.wait.flags.store(flags::ACQUIRED, Relaxed);
    block.wait.before[1].store(u32::MAX, Relaxed);
    block.wait.after[1].store(1, Relaxed);
    let snapshot = snapshot(&file);
    assert!(snapshot.is_exact && snapshot.alive);
    assert_eq!(snapshot.name, "\u{fffd}[31mprogram", "nothing that a terminal obeys");
    let [mutex, read] = &snapshot.locks[..] else { panic!("{:?}", snapshot.locks) };
    assert_eq!((mutex.address, mutex.kind, mutex.waits), (LOCK.address(), Kind::Mutex, 8));
    assert_eq!(mutex.wait_ns, 3 * 1_000 + 5_000 + 2_000 + 2 * 100_000 + 700);
    assert_eq!((mutex.longest_ns, mutex.site), (100_000, 0x400_100));
    assert_eq!((mutex.sleeps, mutex.steals, mutex.handoffs), (2, 2, 0), "counters wrap");
    assert_eq!(mutex.histogram[9], 4, "1,000 ns three times and 700 ns");
    assert_eq!([10, 12, 16].map(|bucket| mutex.histogram[bucket]), [1, 1, 2]);
    let sites: Vec<(u64, u64)> = mutex.sites.iter().map(|site| (site.address, site.waits)).collect();
    assert_eq!(sites, [(0x400_100, 6), (0x400_200, 2)]);
    assert_eq!((read.kind, read.waits, read.longest_ns), (Kind::Read, 1, 10));
    assert_eq!((mutex.last_ns, read.last_ns), (Some(1_000_700), None));
}

#[test]
fn waiters_are_reported() {
    let file = File::new();
    let (me, now) = (process::id(), monotonic_ns());
    let waiter = file.thread(0, me);
    waiter.wait.key.store(Key::new(0x1234_5678, Kind::Write).word(), Relaxed);
    waiter.wait.since.store(now - 5_000_000, Relaxed);
    waiter.wait.owner.store(THREADS - 1, Relaxed);
    waiter.wait.site.store(0x400_123, Relaxed);
    file.thread(1, 0x3fff_ffff);
    let snapshot = snapshot(&file);
    assert_eq!(snapshot.threads.len(), 1, "a thread that is gone is left out");
    assert_eq!(snapshot.threads[0].tid, me);
    assert!(!snapshot.threads[0].name.is_empty());
    let waiting = snapshot.threads[0].waiting.expect("it waits");
    assert_eq!((waiting.lock, waiting.kind, waiting.site), (0x1234_5678, Kind::Write, 0x400_123));
    assert_eq!(waiting.since_ns, now - 5_000_000);
    assert_eq!(waiting.owner, None, "who had it is gone");
    assert!(snapshot.locks.is_empty(), "no wait has ended");
}

#[test]
fn the_owner_is_who_was_seen_last() {
    let file = File::gone();
    let now = monotonic_ns();
    let owner = || {
        let waiting = snapshot(&file).threads[0].waiting.expect("it waits");
        (waiting.owner, waiting.owner_since_ns)
    };
    let waiter = file.thread(0, 100);
    waiter.wait.key.store(LOCK.word(), Relaxed);
    waiter.wait.since.store(now - 1_000, Relaxed);
    assert_eq!(owner(), (None, None));
    // By its thread pointer, as some locks know it.
    waiter.wait.owner.store(0x7f00_0000_0640, Relaxed);
    assert_eq!(owner(), (None, None), "whose that is is not known");
    file.thread(1, 101).thread_pointer.store(0x7f00_0000_0640, Relaxed);
    assert_eq!(owner(), (Some(101), None));
    // By its number: it never waited.
    waiter.wait.owner.store(104, Relaxed);
    assert_eq!(owner(), (Some(104), None));
    let never_waited =
        snapshot(&file).threads.into_iter().find(|thread| thread.tid == 104).expect("who has it is shown");
    assert_eq!(never_waited.waiting, None);
    // Another thread acquired it by a wait that ended later; it now waits for another lock.
    let holder = file.thread(2, 102);
    holder.wait.key.store(OTHER.word(), Relaxed);
    holder.wait.since.store(now - 400, Relaxed);
    holder.held[1].key.store(LOCK.word(), Relaxed);
    holder.held[1].since.store(now - 500, Relaxed);
    assert_eq!(owner(), (Some(102), Some(now - 500)));
    // One acquired it later still, but has released it.
    let former = file.thread(3, 103);
    former.wait.key.store(LOCK.word(), Relaxed);
    former.wait.until.store(now - 100, Relaxed);
    former.wait.flags.store(flags::ACQUIRED | flags::RELEASED, Relaxed);
    assert_eq!(owner(), (Some(102), Some(now - 500)));
    former.wait.flags.store(flags::ACQUIRED, Relaxed);
    assert_eq!(owner(), (Some(103), Some(now - 100)));
    former.state.store(state::FREE, Relaxed);
    assert_eq!(owner(), (Some(102), Some(now - 500)));
    let snapshot = snapshot(&file);
    assert!(!snapshot.alive && snapshot.threads.iter().all(|thread| thread.name.is_empty()));
}

/// Whatever changes in a file, a follower sees what a snapshot contains.
#[test]
fn a_follower_sees_what_snapshots_say() {
    let file = File::new();
    let mut random = fastrand::Rng::with_seed(7);
    let mut follower = Follower::new(Channel::open(file.path()).expect("a sound file"));
    let block = file.thread(0, process::id());
    let keys: Vec<Key> = (0..40).map(|lock| Key::new(0x1000 + 64 * lock, Kind::Mutex)).collect();
    let mut kept: VecDeque<Snapshot> = VecDeque::new();
    for round in 0..200 {
        for _ in 0..random.usize(0..5) {
            // A record keeps its lock, except in the last rounds, in which the file is damaged.
            let (record, other) = (random.usize(0..60), if round > 180 { random.usize(0..40) } else { 0 });
            let lock = file.lock(record * 77);
            fill(lock, keys[(record + other) % 40], record as u64, &[(random.u64(1..9_999), 1)]);
            let entry = random.usize(0..20);
            block.entries[entry].key.store(0, Relaxed);
            fill(&block.entries[entry], keys[random.usize(0..40)], 7, &[(random.u64(1..9_999), 1)]);
        }
        let followed = follower.look().expect("a sound file");
        let shown = |locks: &[Arc<Lock>]| locks.iter().map(|lock| format!("{lock:?}")).collect::<Vec<_>>();
        let differs = shown(&followed.locks).into_iter().zip(shown(&snapshot(&file).locks)).find(|(a, b)| a != b);
        assert_eq!((differs, followed.locks.len()), (None, snapshot(&file).locks.len()), "round {round}");
        // Kept snapshots do not change.
        kept.push_back(followed);
        if kept.len() > random.usize(1..9) {
            let oldest = kept.pop_front().expect("one is there");
            assert!(oldest.locks.iter().all(|lock| lock.waits == lock.histogram.iter().sum::<u64>()), "{oldest:?}");
        }
    }
    assert!(kept.back().is_some_and(|last| last.locks.len() > 30));
}

#[test]
fn a_follower_goes_on_when_a_damaged_file_names_other_locks() {
    let file = File::new();
    let mut follower = Follower::new(Channel::open(file.path()).expect("a sound file"));
    let (record, block) = (file.lock(5), file.thread(0, process::id()));
    fill(record, LOCK, 1, &[(10, 1)]);
    for (entry, address) in block.entries.iter().zip(1..) {
        fill(entry, Key::new(0x9000 + 64 * address, Kind::Read), 1, &[(10, 1)]);
    }
    assert_eq!(follower.look().expect("a sound file").locks.len(), 1 + block.entries.len());
    // There are fewer locks than before, and a record belongs to another.
    block.entries.iter().for_each(|entry| entry.key.store(0, Relaxed));
    record.key.store(OTHER.word(), Relaxed);
    let locks = follower.look().expect("a sound file").locks;
    assert_eq!(locks.iter().map(|lock| (lock.address, lock.waits)).collect::<Vec<_>>(), [(OTHER.address(), 1)]);
}

#[test]
fn what_is_being_written_is_left_out() {
    let file = File::new();
    let block = file.thread(0, process::id());
    block.wait.key.store(LOCK.word(), Relaxed);
    block.wait.sequence.store(3, Relaxed);
    assert_eq!(snapshot(&file).threads[0].waiting, None);
    block.wait.flags.store(flags::ACQUIRED, Relaxed);
    assert!(snapshot(&file).locks.is_empty());
    block.wait.sequence.store(4, Relaxed);
    assert_eq!(snapshot(&file).locks.len(), 1);
    file.header().moves_begun.store(1, Relaxed);
    assert!(!snapshot(&file).is_exact, "an entry is on its way to the table");
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let file = File::new();
    let header = file.header();
    header.magic.store(1, Relaxed);
    assert!(matches!(fault(file.path()), Fault::Foreign));
    header.magic.store(0, Relaxed);
    assert!(matches!(fault(file.path()), Fault::Unfinished));
    let file = File::new();
    file.header().version.store(VERSION + 1, Relaxed);
    assert!(matches!(fault(file.path()), Fault::Version(version, _) if version == VERSION + 1));
    let file = File::new();
    file.header().layout.store(LAYOUT + 1, Relaxed);
    assert!(matches!(fault(file.path()), Fault::Version(_, layout) if layout == LAYOUT + 1));
    let file = File::new();
    file.header().blocks.store(u32::MAX, Relaxed);
    assert!(matches!(fault(file.path()), Fault::Damaged(_)));
    for bytes in [1, 100, 4096, BLOCKS_START, FILE_BYTES - 1] {
        let file = File::new();
        file.cut(bytes);
        assert!(matches!(fault(file.path()), Fault::Truncated(has, _) if has == bytes as u64), "{bytes}");
    }
    let file = File::new();
    file.cut(0);
    assert!(matches!(fault(file.path()), Fault::Unfinished));
}

#[test]
fn a_file_that_is_cut_short_while_it_is_open_is_an_error() {
    let file = File::new();
    let channel = Channel::open(file.path()).expect("a sound file");
    file.cut(5_000);
    let error = channel.snapshot().expect_err("a file that was cut");
    assert!(error.to_string().contains("truncated: 5000 of"), "{error}");
}

#[test]
fn a_file_that_has_lost_its_name_is_no_process_of_now() {
    let file = File::new();
    let channel = Channel::open(file.path()).expect("a sound file");
    assert!(channel.snapshot().expect("a sound file").alive);
    fs::remove_file(file.path()).expect("a file");
    assert!(!channel.snapshot().expect("its last state").alive);
}

#[test]
fn links_folders_and_pipes_are_not_followed_nor_waited_for() {
    let file = File::new();
    let link = file.folder().join("2-2.live");
    symlink(file.path(), &link).expect("a link");
    assert!(matches!(fault(&link), Fault::NoFile));
    let inner = file.folder().join("3-3.live");
    fs::create_dir(&inner).expect("a folder");
    assert!(matches!(fault(&inner), Fault::NoFile));
    let pipe = file.folder().join("4-4.live");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    assert!(matches!(fault(&pipe), Fault::NoFile));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let folder = elsewhere.path().join("turnwise");
    symlink(file.folder(), &folder).expect("a link");
    assert!(matches!(fault(&folder.join(file.path().file_name().expect("a name"))), Fault::NoFile));
    assert!(matches!(fault(&file.folder().join("5-5.live")), Fault::Io(_)));
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    let file = File::new();
    fs::set_permissions(file.folder(), fs::Permissions::from_mode(0o777)).expect("permissions");
    assert!(matches!(fault(file.path()), Fault::Damaged(_)));
}

#[test]
fn only_the_owner_and_root_may_read() {
    let file = File::new();
    // The file's owner differs from the folder's, which even root may not read.
    if !harness::give_away(file.path()) {
        return println!("SKIPPED: needs root, to make files of another user");
    }
    assert!(matches!(fault(file.path()), Fault::Owner(_)));
    // Folder and file are another user's: root may read them.
    assert!(harness::give_away(file.folder()));
    assert!(Channel::open(file.path()).is_ok());
}

#[test]
fn random_bytes_end_in_an_error_or_in_data() {
    let mut random = fastrand::Rng::with_seed(26);
    let (mut data, mut errors) = (0, 0);
    for round in 0..200 {
        let file = File::new();
        let header = file.header();
        let write = |random: &mut fastrand::Rng, offset: usize| {
            let mut bytes = vec![0; random.usize(1..20_000)];
            random.fill(&mut bytes);
            let opened = fs::OpenOptions::new().write(true).open(file.path()).expect("a file");
            opened.write_all_at(&bytes, offset as u64).expect("room");
        };
        write(&mut random, BLOCKS_START + 8 * round);
        write(&mut random, LOCKS_START + 8 * round);
        // After the part that the reader checks first, so that it reads the rest.
        write(&mut random, if round % 4 == 0 { 0 } else { 24 });
        if round % 4 != 0 {
            header.blocks.store(random.u32(0..=64), Relaxed);
            header.blocks_used.store(random.u32(..), Relaxed);
        }
        if round % 5 == 0 {
            file.cut(random.usize(0..FILE_BYTES));
        }
        match Channel::open(file.path()).and_then(|channel| channel.snapshot()) {
            Ok(_) => data += 1,
            Err(error) => {
                assert!(error.to_string().contains(".live"), "round {round}: {error}");
                errors += 1;
            }
        }
    }
    assert!(data > 50 && errors > 50, "{data} snapshots, {errors} errors");
}

#[test]
fn each_fault_says_what_is_wrong_with_which_file() {
    let faults =
        [Fault::NoFile, Fault::Owner(7), Fault::Foreign, Fault::Unfinished, Fault::Version(9, 1), Fault::Damaged("x")];
    for fault in faults {
        let error = Error { path: "/run/user/7/turnwise/1-2.live".into(), fault };
        assert!(error.to_string().starts_with("/run/user/7/turnwise/1-2.live: "), "{error}");
    }
    let error = Error { path: "/proc".into(), fault: Fault::NoView(12) };
    assert!(error.to_string().starts_with("process 12 has no live view"));
}
