//! What a victim and the driver share: how far each thread is, and the outcome. `victims/board.h` has the same layout
//! for C.

use anyhow::{Context, Result};
use memmap2::MmapRaw;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Slots for threads.
pub(crate) const THREADS: usize = 8192;

/// Each thread writes its own line.
#[repr(C, align(64))]
pub(crate) struct Line {
    /// Updates that the thread reports.
    pub(crate) done: AtomicU64,
    /// 0: not begun, or over.
    pub(crate) tid: AtomicU32,
    /// It is over.
    pub(crate) gone: AtomicU32,
}

#[repr(C, align(128))]
pub(crate) struct Board {
    /// Set by the driver: the victim must come to an end.
    pub(crate) stop: AtomicU32,
    /// Set by the victim: `first` and `second` are the outcome.
    pub(crate) finished: AtomicU32,
    /// The thread that has the lock, roughly; 0: none.
    pub(crate) holder: AtomicU32,
    /// Of children that the victim forked.
    pub(crate) hangs: AtomicU32,
    /// Faults so far, from outside and inside.
    pub(crate) tries: AtomicU64,
    /// Two threads inside, or a wrong answer of a call.
    pub(crate) broken: AtomicU64,
    /// Updates that dead threads made and did not report.
    pub(crate) extra: AtomicU64,
    /// The pair, changed under the lock and nowhere else: it must equal what the threads report.
    pub(crate) first: AtomicU64,
    pub(crate) second: AtomicU64,
    /// How often which state was met, as the victim counts them.
    pub(crate) states: [AtomicU64; 8],
    /// Locks of several processes.
    locks: [Padded; 8],
    pub(crate) line: [Line; THREADS],
}

#[repr(C, align(128))]
struct Padded([u8; 128]);

impl Board {
    /// Counts a fault.
    pub(crate) fn tried(&self) {
        self.tries.fetch_add(1, Relaxed);
    }

    /// Returns the updates that the threads report.
    pub(crate) fn said(&self) -> u64 {
        self.extra.load(Relaxed) + self.line.iter().map(|line| line.done.load(Relaxed)).sum::<u64>()
    }

    /// Returns the updates that the threads made and the lock's data lack, plus the violations of exclusion seen.
    pub(crate) fn lost(&self) -> u64 {
        let (first, second) = (self.first.load(Relaxed), self.second.load(Relaxed));
        self.broken.load(Relaxed) + self.said().abs_diff(first) + first.abs_diff(second)
    }
}

/// A board in memory that processes share.
pub(crate) struct Shared {
    file: File,
    map: MmapRaw,
}

impl Shared {
    /// Creates an empty board, whose descriptor a started program inherits.
    pub(crate) fn new() -> Result<Self> {
        let memory = memfd_create(c"turnwise-faults", MFdFlags::empty());
        let file = File::from(memory.context("cannot make memory to share (memfd_create)")?);
        file.set_len(size_of::<Board>() as u64).context("cannot make room for the board")?;
        Self::map(file)
    }

    /// Opens the board that the driver made.
    pub(crate) fn inherited(descriptor: RawFd) -> Result<Self> {
        // SAFETY: the driver gave this process the descriptor for this use alone.
        Self::map(unsafe { File::from_raw_fd(descriptor) })
    }

    fn map(file: File) -> Result<Self> {
        let map = MmapRaw::map_raw(&file).context("cannot map the board")?;
        Ok(Shared { file, map })
    }

    /// Returns the descriptor, for the victim's command line.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Deref for Shared {
    type Target = Board;
    fn deref(&self) -> &Board {
        // SAFETY: mapped until `self` is dropped, as long as a board, aligned to a page, and all of it is atomic words
        // or never read; every bit pattern is valid, and the memory began as zeros.
        unsafe { &*self.map.as_ptr().cast() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// `victims/board.h` counts on these.
    #[test]
    fn c_victims_find_everything_where_it_is() {
        assert_eq!(offset_of!(Board, states), 56);
        assert_eq!(offset_of!(Board, locks), 128);
        assert_eq!(offset_of!(Board, line), 128 + 1024);
        assert_eq!((size_of::<Line>(), size_of::<Board>()), (64, 128 + 1024 + 64 * THREADS));
    }

    #[test]
    fn what_the_pair_lacks_is_lost() {
        let board = Shared::new().expect("memory");
        board.line[3].done.store(10, Relaxed);
        board.line[4000].done.store(5, Relaxed);
        board.first.store(15, Relaxed);
        board.second.store(15, Relaxed);
        assert_eq!(board.lost(), 0);
        board.second.store(14, Relaxed);
        assert_eq!(board.lost(), 1);
        board.first.store(14, Relaxed);
        board.broken.store(2, Relaxed);
        assert_eq!(board.lost(), 3);
    }
}
