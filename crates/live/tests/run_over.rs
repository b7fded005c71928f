//! The program's side: counters of the table are narrow, and their sums are nevertheless right.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use turnwise_live::layout::{BLOCKS_START, BUCKETS, Block, ENTRIES, Entry};
use turnwise_live::writer::{self, End, Me, Start};
use turnwise_live::{Channel, Key, Kind};

const LOCK: Key = Key::new(0x7f00_0000_1000, Kind::Mutex);
/// The number of waits added to each bucket of the thread's entry: more than half of the counter's range.
const MANY: u32 = 0xf000_0000;
const ROUNDS: u64 = 5;

fn wait() {
    let me = Me { generation: 0, events: [0; 3] };
    let begun = writer::begin(&Start { key: LOCK, site: 0x40_1000, owner: 0, rule: 0, me }).expect("there is a view");
    writer::end(&begun, End::Owner, &me);
}

#[test]
fn waits_that_run_over_a_counter_are_all_counted() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let place = CString::new(folder.path().to_str().expect("UTF-8")).expect("a path");
    writer::start(Some(&place), false, 1);
    wait();
    let path =
        fs::read_dir(folder.path().join("turnwise")).expect("a folder").next().expect("a view").expect("a file").path();
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("ours");
    let channel = Channel::open(&path).expect("sound");
    for round in 1..=ROUNDS {
        wait(); // counts the previous one, in an entry
        // In all buckets: whatever the next wait's length is, its counter is full.
        fill_entry(&file);
        wait(); // counts the previous one, and moves the entry to the table
        let snapshot = channel.snapshot().expect("sound");
        assert_eq!(snapshot.lost.waits, 0);
        let lock = snapshot.locks.iter().find(|lock| lock.address == LOCK.address()).expect("waited for");
        assert_eq!(lock.waits, round * (BUCKETS as u64 * u64::from(MANY) + 2) + 1, "round {round}");
        assert_eq!((lock.sites.len(), lock.histogram.iter().sum::<u64>()), (1, lock.waits));
    }
}

/// Adds [`MANY`] to each bucket of the lock's entry.
fn fill_entry(file: &fs::File) {
    let word = |place: usize| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, place as u64).expect("a whole file");
        u64::from_ne_bytes(bytes)
    };
    let entries = (0..ENTRIES).map(|place| BLOCKS_START + offset_of!(Block, entries) + place * size_of::<Entry>());
    let entry = entries.into_iter().find(|entry| word(*entry) == LOCK.word()).expect("an entry");
    for bucket in 0..BUCKETS {
        let place = entry + offset_of!(Entry, histogram) + 4 * bucket;
        let count = word(place - place % 8).to_ne_bytes();
        let count = u32::from_ne_bytes(count[place % 8..][..4].try_into().expect("four bytes"));
        file.write_all_at(&(count + MANY).to_ne_bytes(), place as u64).expect("room");
    }
}
