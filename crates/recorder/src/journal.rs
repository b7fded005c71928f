//! Threads that alternate among many locks count them later, some dozens at a time.
//!
//! Counting an acquisition takes two loads that miss the caches if a thread takes hundreds of locks: its slot in the
//! table, and its entry. While the thread holds other locks, their waiters wait for both. So such a thread only writes
//! down its acquisitions, one line after another, and counts them before it takes its next lock while holding none:
//! then no thread waits for it, and the loads of one line do not wait for those of another.
//!
//! Acquisitions without a wait whose holds are not measured are written down, as long as all locks that the thread
//! holds are also written down. What only an entry shows (which lock was taken under which) is determined when they are
//! counted. A thread that is killed before that leaves up to [`LINES`] acquisitions that are in its own count, but in
//! no lock's (nor in its count of reads).

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{Class, Op, Thread};

/// The number of entries that counts as many: with their slots they fill the nearest cache.
const MANY: usize = 512;
/// Mean acquisitions for each entry before the first is written down: those of rare locks have then been measured.
const FIRST: u64 = 16;
/// The most lines, and one that is not used: lines are counted from 1.
pub(crate) const LINES: usize = 128;
/// [`Line::under`]: under no other lock.
pub(crate) const NO_LINE: u32 = 0;

/// An acquisition. Zero bytes are a line without one.
pub(crate) struct Line {
    pub(crate) address: Cell<u64>,
    pub(crate) what: Cell<What>,
    /// The line of the lock under which it was taken.
    pub(crate) under: Cell<u32>,
}

/// The place and kind of an acquisition: the site with the class above the operation.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct What(pub(crate) u64);

impl What {
    /// No acquisition.
    pub(crate) const NOTHING: What = What(0);
    const CLASS: u32 = 60;
    /// The thread would have waited.
    const ORDERED: u64 = 1 << 63;

    #[inline(always)]
    pub(crate) fn of(class: Class, site: u64, ordered: bool) -> What {
        What(site | (class as u64) << What::CLASS | if ordered { What::ORDERED } else { 0 })
    }

    /// `Entry::site`.
    pub(crate) fn site(self) -> u64 {
        self.0 & ((1 << What::CLASS) - 1)
    }

    /// Returns the lock's class; `None`: it is not an acquisition.
    pub(crate) fn class(self) -> Option<Class> {
        let number = (self.0 & !What::ORDERED) >> What::CLASS;
        [Class::Mutex, Class::RwLock, Class::Spin].into_iter().find(|class| *class as u64 == number)
    }

    /// Returns whether it was for reading.
    #[inline(always)]
    pub(crate) fn is_read(self) -> bool {
        self.site() >> 56 == Op::Read as u64
    }

    /// Returns whether the thread would have waited.
    pub(crate) fn is_ordered(self) -> bool {
        self.0 & What::ORDERED != 0
    }
}

/// A thread's journal. Zero bytes are an empty one.
pub(crate) struct Journal(pub(crate) [Line; LINES]);

/// Returns whether a thread with `entries` entries should begin a journal.
pub(crate) fn is_due(entries: usize, record: &Thread) -> bool {
    let so_far = record.ahead.load(Relaxed).wrapping_sub(u64::from(record.left.load(Relaxed)));
    entries >= MANY && so_far >= FIRST * entries as u64
}
