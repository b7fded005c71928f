//! The program's side: a process with write access to its live view's file may write anything there, at any time. Its
//! threads continue; the view is nonsense until they have overwritten it.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};
use turnwise_live::layout::{BLOCKS_START, Block, FILE_BYTES, Header, LOCKS_START, LOG_START};
use turnwise_live::writer::{self, End, Me, Start};
use turnwise_live::{Channel, Key, Kind};

const THREADS: usize = 3;
/// More than a block has room for, so that some move to the table.
const LOCKS: usize = 60;
const SECONDS: Duration = Duration::from_secs(2);

/// Waits for one of the locks, and releases it.
fn wait(lock: usize, owner: usize, events: u32) -> bool {
    let me = Me { generation: 0, events: [events; 3] };
    let site = 0x40_1000 + 16 * (lock % 7);
    let start = Start { key: Key::new(0x7f00_0000_1000 + 64 * lock, Kind::Mutex), site, owner, rule: 0, me };
    let Some(begun) = writer::begin(&start) else { return false };
    if let Some(values) = writer::settings(&begun, &start) {
        let is_sound = values.iter().all(|(setting, ns)| (setting.bounds().0..=setting.bounds().1).contains(&ns));
        assert!(is_sound, "{values:?}");
    }
    writer::end(&begun, [End::Owner, End::Acquired, End::GaveUp][lock % 3], &me);
    writer::released(start.key.address() as usize, &me);
    true
}

/// Writes some bytes over a part of the file: of the header often, of the rest sometimes.
fn scribble(random: &mut fastrand::Rng, file: &fs::File) {
    let parts =
        [0..size_of::<Header>(), 0..LOCKS_START, BLOCKS_START..BLOCKS_START + 4 * size_of::<Block>(), 0..FILE_BYTES];
    let mut parts = parts.to_vec();
    parts.push(LOG_START..FILE_BYTES);
    let part = parts[random.usize(..parts.len())].clone();
    let mut bytes = vec![0; random.usize(1..6000).min(part.len())];
    match random.u32(..3) {
        0 => random.fill(&mut bytes),
        1 => bytes.fill(0xff),
        _ => {}
    }
    let place = random.usize(part.start..=part.end - bytes.len());
    file.write_all_at(&bytes, place as u64).expect("room");
}

#[test]
fn threads_go_on_whatever_is_written_over_their_view() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let place = CString::new(folder.path().to_str().expect("UTF-8")).expect("a path");
    writer::start(Some(&place), false, 1);
    assert!(wait(0, 0, 0), "there is a view");
    let path =
        fs::read_dir(folder.path().join("turnwise")).expect("a folder").next().expect("a view").expect("a file").path();
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("ours");
    let waits: [AtomicU64; THREADS] = Default::default();
    let until = Instant::now() + SECONDS;
    thread::scope(|scope| {
        for (number, waits) in waits.iter().enumerate() {
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(number as u64);
                while Instant::now() < until {
                    let owner = [0, random.usize(..1 << 22), random.usize(..)][random.usize(..3)];
                    wait(random.usize(..LOCKS), owner, random.u32(..));
                    waits.fetch_add(1, Relaxed);
                }
            });
        }
        let mut random = fastrand::Rng::with_seed(27);
        while Instant::now() < until {
            scribble(&mut random, &file);
            // Readers also survive it.
            let _ = Channel::open(&path).and_then(|channel| channel.snapshot()).map_err(|error| error.to_string());
        }
    });
    let waits = waits.map(AtomicU64::into_inner);
    assert!(waits.iter().all(|waits| *waits > 1000), "a thread stood still: {waits:?}");
}
