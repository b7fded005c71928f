//! Live views, which `turnwise top`, `why`, `tune` and `profile --pid` read while the program, or another, writes.

use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;
use turnwise_fuzz::{check, patches};
use turnwise_live::layout::{
    BLOCKS, BLOCKS_START, Block, CLOCK_MONOTONIC, Entry, FILE_BYTES, Header, LAYOUT, LOCKS_START, LOG_START, MAGIC,
    SETTINGS_START, VERSION, Wait, flags, state,
};
use turnwise_live::log::{Counts, RECORDS_START, Record};
use turnwise_live::settings::{Rule, kind};
use turnwise_live::{Channel, Follower, Key, Kind, Target};

/// A view of two threads, of which one waits for the other's lock, with a setting and a record: of this layout,
/// whatever it is. Readers go no further into a file of another one.
fn seed() -> Vec<u8> {
    const LOCK: Key = Key::new(0x7f00_0000_1000, Kind::Mutex);
    const SITE: u64 = 0x40_1000;
    let mut input = Vec::new();
    let mut at = |start: usize, words: &[(usize, Vec<u8>)]| {
        words.iter().for_each(|(place, bytes)| patches::write(&mut input, (start + place) as u64, bytes));
    };
    macro_rules! words {
        ($type:ty, $($field:ident : $value:expr),+) => {
            &[$((offset_of!($type, $field), $value.to_ne_bytes().to_vec())),+]
        };
    }
    at(0, words!(Header, magic: MAGIC, version: VERSION, layout: LAYOUT, pid: 17_u32, start: 1_u64));
    at(0, words!(Header, clock: CLOCK_MONOTONIC, ns_per_tick: (1_u64 << 32), blocks: (BLOCKS as u32), settings: 1_u64));
    at(0, words!(Header, blocks_used: 2_u32, locks_used: 1_u32, lost_waits: 3_u64));
    at(
        0,
        &[
            (offset_of!(Header, name), b"/usr/bin/server".to_vec()),
            (offset_of!(Header, called), b"server\0--port\0".to_vec()),
        ],
    );
    at(SETTINGS_START, words!(Rule, kind: kind::ALL, set: 1_u32));
    at(
        SETTINGS_START,
        &[(offset_of!(Rule, ns), 1000_u32.to_ne_bytes().to_vec()), (offset_of!(Rule, label), b"*".to_vec())],
    );
    let entry = words!(Entry, key: LOCK.word(), site: SITE, wait_ns: 5000_u64, longest_ns: 3000_u64, sleeps: 1_u32,
                       rule: 1_u64, histogram: (2_u64 << 32));
    at(LOCKS_START, entry);
    for (place, tid, flags) in [(0, 17_u32, 0), (1, 18, flags::ACQUIRED)] {
        let block = BLOCKS_START + place * size_of::<Block>();
        at(block, words!(Block, state: state::LIVE, tid: tid, held: LOCK.word()));
        let wait = words!(Wait, sequence: 2_u32, flags: flags, key: LOCK.word(), site: SITE, since: 1000_u64,
                          until: 2000_u64, owner: 18_u64);
        at(block + offset_of!(Block, wait), wait);
        at(block + offset_of!(Block, entries), entry);
    }
    at(LOG_START, words!(Counts, records: 1_u64));
    let record = words!(Record, number: 1_u64, tid: 17_u32, key: LOCK.word(), site: SITE, since: 1000_u64,
                        until: 2000_u64, stack_bytes: 64_u32, holder: 18_u32, instruction: SITE);
    at(RECORDS_START, record);
    input
}

#[test]
fn the_seed_is_a_sound_view() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("17-1.live");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).expect("a file");
    fill(&file, &seed());
    let snapshot = Channel::open(&path).and_then(|channel| channel.snapshot()).expect("a sound view");
    assert_eq!((snapshot.locks.len(), snapshot.threads.len(), snapshot.rules.len()), (1, 2, 1), "{snapshot:?}");
    assert!(snapshot.threads.iter().any(|thread| thread.waiting.is_some()), "{snapshot:?}");
    assert!(snapshot.locks[0].waits > 4 && snapshot.lost.waits == 3, "{snapshot:?}");
}

fn fill(file: &File, input: &[u8]) {
    let mut length = FILE_BYTES as u64;
    for (place, bytes) in patches::read(input) {
        match place.checked_add(bytes.len() as u64) {
            Some(end) if end <= FILE_BYTES as u64 => file.write_all_at(bytes, place).expect("room"),
            _ => length = place % (FILE_BYTES as u64 + 1),
        }
    }
    file.set_len(length).expect("room");
}

/// Reads all that a view can say; what it says does nothing to a terminal.
fn look(path: &Path, input: &[u8], file: &File) {
    let Ok(channel) = Channel::open(path) else { return };
    let plain = |text: &str| assert!(!text.contains(char::is_control), "a terminal would obey: {text:?}");
    plain(channel.name());
    std::hint::black_box((channel.sums().is_ok(), channel.policy(), channel.is_alive()));
    if let Ok(mut recorder) = channel.record() {
        let asked = recorder.ask(1000);
        std::hint::black_box((asked.is_ok(), recorder.take().is_ok(), recorder.losses().is_ok()));
        let _ = recorder.stop();
    }
    let tuned = channel.tuner().and_then(|tuner| tuner.change(|rules| rules.retain(|r| r.target == Target::All)));
    std::hint::black_box(tuned.is_ok());
    let mut follower = Follower::new(channel);
    for damage in [&input[..input.len() / 2], input] {
        if let Ok(snapshot) = follower.look() {
            plain(&snapshot.name);
            snapshot.threads.iter().for_each(|thread| plain(&thread.name));
            snapshot.rules.iter().for_each(|rule| plain(&rule.label));
        }
        // The program runs on meanwhile: other locks, fewer threads, a shorter file.
        fill(file, damage);
    }
}

#[test]
fn fuzz_live() {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a folder");
    let path = folder.path().join("17-1.live");
    check("live", 1200, vec![seed()], |input| {
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).expect("a file");
        fill(&file, input);
        look(&path, input, &file);
    });
}
