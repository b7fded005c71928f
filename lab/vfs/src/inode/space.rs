//! The resources of a file system: bytes of data, inodes, and their numbers.

use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{IntWord, Platform, Word};

/// Bytes of a page: data is kept, and charged, by the page.
pub const PAGE_BYTES: u64 = 4096;

/// Numbers that a directory takes at a time: their common word is written once per this many new files.
pub(crate) const NUMBERS_AT_A_TIME: u64 = 64;

/// Counters of an unlimited budget. Inodes spread over them by their numbers, so that threads which write different
/// files write different lines.
const SHARDS: usize = 16;

/// A value on cache lines of its own.
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) T);

/// What all inodes of a file system share.
pub struct Space<P: Platform> {
    /// Pages of data.
    pub(crate) pages: Budget<P>,
    /// Inodes.
    pub(crate) inodes: Budget<P>,
    next_number: Line<P::U64>,
}

impl<P: Platform> Space<P> {
    /// Creates room for this many bytes of data, `None`: no limit, and any number of inodes.
    pub fn new(data_bytes: Option<u64>) -> Self {
        Space {
            pages: Budget::new(data_bytes.map(|bytes| bytes / PAGE_BYTES)),
            inodes: Budget::new(None),
            next_number: Line(P::U64::new(1)),
        }
    }

    /// Returns how full it is.
    pub fn usage(&self) -> Usage {
        Usage { pages_used: self.pages.used(), inodes_used: self.inodes.used() }
    }

    /// Returns the first of [`NUMBERS_AT_A_TIME`] inode numbers that were never used.
    pub(crate) fn numbers(&self) -> u64 {
        self.next_number.0.fetch_add(NUMBERS_AT_A_TIME, Relaxed)
    }
}

/// How full a file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Pages of [`PAGE_BYTES`] bytes that hold data.
    pub pages_used: u64,
    /// Inodes that there are.
    pub inodes_used: u64,
}

/// A number of things, and how many of them are taken.
///
/// With a limit there is one counter, which is exact. Without one nothing can be refused, so the count may be split;
/// what is taken under the number of an inode is given back under the same number, and no part goes below zero.
pub(crate) struct Budget<P: Platform> {
    limit: Option<u64>,
    used: [Line<P::U64>; SHARDS],
}

impl<P: Platform> Budget<P> {
    fn new(limit: Option<u64>) -> Self {
        Budget { limit, used: std::array::from_fn(|_| Line(P::U64::new(0))) }
    }

    fn shard(&self, inode: u64) -> &P::U64 {
        let shard = if self.limit.is_some() { 0 } else { inode as usize % SHARDS };
        &self.used[shard].0
    }

    /// Takes what is available for this inode, up to `wanted`; returns how many.
    pub(crate) fn take(&self, inode: u64, wanted: u64) -> u64 {
        if wanted == 0 {
            return 0;
        }
        let used = self.shard(inode);
        let Some(limit) = self.limit else {
            used.fetch_add(wanted, Relaxed);
            return wanted;
        };
        let mut seen = used.load(Relaxed);
        loop {
            let taken = wanted.min(limit.saturating_sub(seen));
            if taken == 0 {
                return 0;
            }
            match used.compare_exchange(seen, seen + taken, Relaxed, Relaxed) {
                Ok(_) => return taken,
                Err(found) => seen = found,
            }
        }
    }

    /// Gives back what was taken for this inode.
    pub(crate) fn give(&self, inode: u64, taken: u64) {
        if taken > 0 {
            self.shard(inode).fetch_sub(taken, Relaxed);
        }
    }

    fn used(&self) -> u64 {
        self.used.iter().map(|shard| shard.0.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise::platform::Native;

    #[test]
    fn a_limit_is_exact_and_what_is_given_back_can_be_taken() {
        let budget = Budget::<Native>::new(Some(10));
        assert_eq!(budget.take(3, 7), 7);
        assert_eq!(budget.take(4, 7), 3);
        assert_eq!(budget.take(5, 1), 0);
        budget.give(4, 3);
        assert_eq!((budget.used(), budget.take(5, 1)), (7, 1));
    }

    #[test]
    fn without_a_limit_the_pieces_add_up() {
        let budget = Budget::<Native>::new(None);
        (0..100).for_each(|inode| assert_eq!(budget.take(inode, inode), inode));
        assert_eq!(budget.used(), 4950);
        (0..100).for_each(|inode| budget.give(inode, inode));
        assert_eq!(budget.used(), 0);
    }
}
