//! The program's side: a disk that is full for a while costs the view the data of that time, and no later data.

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::{CStr, CString};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use turnwise_live::layout::ENTRIES;
use turnwise_live::writer::{self, End, Me, Start};
use turnwise_live::{Channel, Key, Kind};

/// The number of threads that request a block while there is no room for one.
const THREADS: usize = 5;
/// The number of locks for whose records there is no room.
const LOST: usize = 40;

/// Waits for one of the locks; returns whether the wait is counted.
fn wait(lock: usize) -> bool {
    let me = Me { generation: 0, events: [0; 3] };
    let key = Key::new(0x7f00_0000_1000 + 64 * lock, Kind::Mutex);
    let begun = writer::begin(&Start { key, site: 0x40_1000, owner: 0, rule: 0, me });
    if let Some(begun) = &begun {
        writer::end(begun, End::Owner, &me);
    }
    begun.is_some()
}

/// Mounts a small disk there, for this thread and its children; `false`: that requires root.
fn mount_small(folder: &Path) -> bool {
    // SAFETY: the thread's files and memory stay shared; the mounts do not, as intended.
    let can = unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok()
        && mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).is_ok()
        && mount("none", folder, "tmpfs", MountFlags::empty(), c"nr_blocks=200,mode=700" as &CStr).is_ok();
    if !can {
        println!("SKIPPED: needs root, to mount a file system");
    }
    can
}

/// Writes a file until there is no room.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).expect("room for a file");
    let error = (0..1000).find_map(|_| file.write_all(&[1; 4096]).err()).expect("a small disk");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn a_disk_that_was_full_takes_no_places() {
    let folder = tempfile::tempdir().expect("a folder");
    if !mount_small(folder.path()) {
        return;
    }
    let _disk = Disk(folder.path());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let place = CString::new(folder.path().to_str().expect("UTF-8")).expect("a path");
    writer::start(Some(&place), false, 1);
    assert!(wait(0), "there is a view");
    let path =
        fs::read_dir(folder.path().join("turnwise")).expect("a folder").next().expect("a view").expect("a file").path();
    let channel = Channel::open(&path).expect("sound");
    let filler = folder.path().join("filler");

    fill(&filler);
    for _ in 0..THREADS {
        assert!(!thread::spawn(|| wait(0)).join().expect("no panic"), "there is room for a block");
    }
    (1..ENTRIES + LOST).for_each(|lock| assert!(wait(lock), "the thread has its block"));
    let full = channel.snapshot().expect("sound");
    assert_eq!(full.lost.threads, THREADS as u64);
    // The last wait is not counted yet.
    assert_eq!(full.lost.waits, LOST as u64 - 1);
    assert_eq!(full.locks.len(), ENTRIES + 1);

    fs::remove_file(&filler).expect("ours");
    (0..LOST).for_each(|lock| assert!(wait(1000 + lock), "the thread has its block"));
    assert!(thread::spawn(|| wait(2000)).join().expect("no panic"), "there is room for a block again");
    let later = channel.snapshot().expect("sound");
    assert_eq!((later.lost.threads, later.lost.waits), (full.lost.threads, full.lost.waits));
    assert_eq!(later.locks.len(), ENTRIES + 1 + LOST + 1);
    let used = places_used(&path);
    assert_eq!(used.blocks, 2, "each thread that found no room has taken a block's place");
    assert_eq!(used.locks as usize, LOST, "each wait that found no room has taken a record's place");
}

/// A mounted disk, unmounted on drop: otherwise its folder cannot be removed.
struct Disk<'a>(&'a Path);

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = unmount(self.0, UnmountFlags::DETACH);
    }
}

struct Used {
    blocks: u32,
    locks: u32,
}

/// Returns the header's counts.
fn places_used(path: &Path) -> Used {
    use std::mem::offset_of;
    use turnwise_live::layout::Header;
    let bytes = fs::read(path).expect("ours");
    let word = |place: usize| u32::from_ne_bytes(bytes[place..][..4].try_into().expect("four bytes"));
    Used { blocks: word(offset_of!(Header, blocks_used)), locks: word(offset_of!(Header, locks_used)) }
}
