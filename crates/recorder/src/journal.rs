//! Threads that take many locks by turns count them later, some dozens at a time.
//!
//! To count an acquisition takes two loads that miss the caches where a thread takes hundreds of locks: its slot in the
//! table, and its entry. Under other locks that the thread holds, all who want those wait for the two. So such a thread
//! only writes down what it takes, one line behind the other, and counts it before it takes its next lock with none in
//! hand: then nobody waits for it, and the loads of one line do not wait for those of another.
//!
//! Written down are acquisitions without a wait whose holds are not measured, as long as all that the thread holds is
//! written down, too. What is known by an entry alone (which lock was taken under which) is seen as they are counted.
//! A thread that is killed before that leaves up to [`LINES`] acquisitions that are in its own number, and in those of
//! no lock (nor in that of its reads).

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{Class, Op, Thread};

/// Entries of a thread that has many: with their slots they fill the nearest cache.
const MANY: usize = 512;
/// Acquisitions for each entry, on average, before the first is written down: those of rare locks are measured by then.
const FIRST: u64 = 16;
/// Lines at most, and one that is not used: lines are counted from 1.
pub(crate) const LINES: usize = 128;
/// [`Line::under`]: under no other lock.
pub(crate) const NO_LINE: u32 = 0;

/// What was taken. Zero bytes are an acquisition that was none.
pub(crate) struct Line {
    pub(crate) address: Cell<u64>,
    pub(crate) what: Cell<What>,
    /// The line of the lock under which it was taken.
    pub(crate) under: Cell<u32>,
}

/// From where, and how: the site with the class above the operation.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct What(u64);

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

    /// From what [`What::bits`] answered.
    pub(crate) fn from_bits(bits: u64) -> What {
        What(bits)
    }

    /// Returns it as a word.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// `Entry::site`.
    pub(crate) fn site(self) -> u64 {
        self.0 & ((1 << What::CLASS) - 1)
    }

    /// Returns the lock's class; `None`: it is no acquisition.
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

/// Where a thread writes its next line. Zero bytes are a thread that counts at once.
pub(crate) struct Next(Cell<u64>);

impl Next {
    /// Returns whether the thread writes down what it takes.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.0.get() != 0
    }

    /// Returns the number of the line; 0 of a thread that counts at once.
    #[inline(always)]
    pub(crate) fn line(&self) -> u64 {
        self.0.get()
    }

    /// Sets it; 1 for a journal without lines.
    #[inline(always)]
    pub(crate) fn set_line(&self, line: u64) {
        self.0.set(line);
    }
}

/// Returns whether it is time to begin, for a thread with so many entries.
pub(crate) fn is_due(entries: usize, record: &Thread) -> bool {
    let so_far = record.ahead.load(Relaxed).wrapping_sub(u64::from(record.left.load(Relaxed)));
    entries >= MANY && so_far >= FIRST * entries as u64
}
