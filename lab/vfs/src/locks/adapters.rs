//! The operations of the counts and rename locks of `turnwise` and `turnwise_lineage` beyond locking.

use super::{Count, PathsBy, Rename};
use turnwise::platform::Platform;
use turnwise::{LockRef, RawSeqRwLock};
use turnwise_lineage::{DCount, RenameLock, d_count, rename_lock};

/// The way of reading paths that belongs to a version of the kernel's rename lock.
pub(super) trait Paths {
    /// The way.
    const BY: PathsBy;
}

impl Paths for rename_lock::Exclusive {
    const BY: PathsBy = PathsBy::Writer;
}
impl Paths for rename_lock::SeqRw {
    const BY: PathsBy = PathsBy::Blocking;
}
impl Paths for rename_lock::SeqExclusive {
    const BY: PathsBy = PathsBy::SequenceThenBlocking;
}

impl<V: rename_lock::Policy + Paths, P: Platform> Rename for RenameLock<V, P> {
    const PATHS: PathsBy = V::BY;

    #[inline]
    fn read_begin(&self) -> u64 {
        self.read_begin().into()
    }
    #[inline]
    fn read_retry(&self, sequence: u64) -> bool {
        self.read_retry(sequence as u32)
    }
}

impl<P: Platform> Rename for RawSeqRwLock<P> {
    const PATHS: PathsBy = PathsBy::SequenceThenBlocking;

    #[inline]
    fn read_begin(&self) -> u64 {
        self.read_begin()
    }
    #[inline]
    fn read_retry(&self, sequence: u64) -> bool {
        self.read_retry(sequence)
    }
}

impl<V: d_count::Policy, P: Platform> Count for DCount<V, P> {
    fn with_references(count: u32) -> Self {
        Self::with_references_in(count)
    }
    #[inline]
    fn get(&self) {
        let _took_the_lock = self.get();
    }
    #[inline]
    fn get_live(&self) -> bool {
        self.get_live()
    }
    #[inline]
    fn put(&self, at_last: impl FnOnce()) -> bool {
        self.put_with(at_last).last
    }
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        self.kill_unused(at_kill)
    }
    #[inline]
    fn count(&self) -> u32 {
        self.count()
    }
}

impl<P: Platform> Count for LockRef<P> {
    fn with_references(count: u32) -> Self {
        Self::new_in(count)
    }
    #[inline]
    fn get(&self) {
        self.get();
    }
    #[inline]
    fn get_live(&self) -> bool {
        self.get_not_dead().is_some()
    }
    #[inline]
    fn put(&self, at_last: impl FnOnce()) -> bool {
        let Some(locked) = self.put_or_lock() else {
            return false;
        };
        at_last();
        locked.put();
        true
    }
    #[inline]
    fn put_unless_last(&self) -> bool {
        self.put_not_last()
    }
    #[inline]
    fn put_quickly(&self) -> bool {
        self.put() == 0
    }
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        let locked = self.lock();
        let unused = locked.count() == 0 && !locked.is_dead();
        if unused {
            at_kill();
            locked.mark_dead();
        }
        unused
    }
    #[inline]
    fn count(&self) -> u32 {
        self.count()
    }
}
