//! Makes files of live views by hand.
#![allow(dead_code, reason = "each test file uses its part")]

use memmap2::MmapMut;
use rustix::time::ClockId;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::Ordering::Relaxed;
use tempfile::TempDir;
use turnwise_live::Key;
use turnwise_live::layout::{
    BLOCKS, BLOCKS_START, Block, CLOCK_MONOTONIC, Entry, FILE_BYTES, Header, LAYOUT, LOCKS_START, MAGIC, VERSION,
    bucket, state,
};

/// A file of a view, alone in its own folder. It is mapped: stores go to the file.
pub(crate) struct File {
    folder: TempDir,
    path: PathBuf,
    map: MmapMut,
}

impl File {
    /// Creates a view of this process, without locks and threads. Its ticks are nanoseconds.
    pub(crate) fn new() -> File {
        let stat = fs::read("/proc/self/stat").expect("proc");
        let (_, _, start) = turnwise_live::place::parse_stat(&stat).expect("a state");
        File::of(process::id(), start)
    }

    /// Creates a view of an ended process.
    pub(crate) fn gone() -> File {
        File::of(0x3fff_fff0, 1)
    }

    fn of(pid: u32, start: u64) -> File {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(format!("{pid}-{start}.live"));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).expect("a file");
        file.set_len(FILE_BYTES as u64).expect("room");
        // SAFETY: the file is this test's alone; a test that shortens it no longer uses the mapping.
        let map = unsafe { MmapMut::map_mut(&file) }.expect("a mapping");
        let made = File { folder, path, map };
        let header = made.header();
        header.version.store(VERSION, Relaxed);
        header.layout.store(LAYOUT, Relaxed);
        header.pid.store(pid, Relaxed);
        header.start.store(start, Relaxed);
        header.clock.store(CLOCK_MONOTONIC, Relaxed);
        header.ns_per_tick.store(1 << 32, Relaxed);
        header.blocks.store(BLOCKS as u32, Relaxed);
        header.magic.store(MAGIC, Relaxed);
        for (byte, value) in header.name.iter().zip(b"/usr/bin/\x1b[31mprogram") {
            byte.store(*value, Relaxed);
        }
        made
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Truncates the file.
    pub(crate) fn cut(&self, bytes: usize) {
        OpenOptions::new().write(true).open(&self.path).and_then(|f| f.set_len(bytes as u64)).expect("can be cut");
    }

    pub(crate) fn header(&self) -> &Header {
        self.at(0)
    }

    /// Returns a record of the table, marked as taken.
    pub(crate) fn lock(&self, index: usize) -> &Entry {
        self.header().locks_used.fetch_max(index as u32 + 1, Relaxed);
        self.at(LOCKS_START + index * size_of::<Entry>())
    }

    /// Returns the block of a thread.
    pub(crate) fn thread(&self, index: usize, tid: u32) -> &Block {
        self.header().blocks_used.fetch_max(index as u32 + 1, Relaxed);
        let block: &Block = self.at(BLOCKS_START + index * size_of::<Block>());
        block.state.store(state::LIVE, Relaxed);
        block.tid.store(tid, Relaxed);
        block
    }

    /// Returns a part of the file, of atomics.
    pub(crate) fn at<T>(&self, offset: usize) -> &T {
        assert!(offset.is_multiple_of(align_of::<T>()) && offset + size_of::<T>() <= self.map.len());
        // SAFETY: within the mapping and aligned; the records consist of atomics, valid with any bytes.
        unsafe { &*self.map.as_ptr().add(offset).cast() }
    }
}

/// Adds waits to an entry: lengths, and the number of each.
pub(crate) fn fill(entry: &Entry, key: Key, site: u64, waits: &[(u64, u32)]) {
    entry.key.store(key.word(), Relaxed);
    entry.site.store(site, Relaxed);
    for (ns, count) in waits {
        entry.wait_ns.fetch_add(ns * u64::from(*count), Relaxed);
        entry.longest_ns.fetch_max(*ns, Relaxed);
        entry.histogram[bucket(*ns)].fetch_add(*count, Relaxed);
    }
}

/// Gives a file to another user; `false`: that requires root.
pub(crate) fn give_away(path: &Path) -> bool {
    const SOMEBODY: u32 = 65_000;
    chown(path, Some(SOMEBODY), None).is_ok()
}

pub(crate) fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
