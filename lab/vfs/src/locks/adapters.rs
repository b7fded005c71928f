//! The operations of the counts and rename locks of `turnwise` and `turnwise_lineage` beyond locking.

use super::{Count, PathsBy, Rename};
use turnwise::platform::Platform;
use turnwise::{LockRef, RawSeqRwLock};
use turnwise_lineage::{DCount, RenameLock, d_count, rename_lock};

macro_rules! rename_locks {
    ($($lock:ty, sequence $sequence:ty, paths $paths:ident;)*) => {$(
        impl<P: Platform> Rename for $lock {
            const PATHS: PathsBy = PathsBy::$paths;

            #[inline]
            fn read_begin(&self) -> u64 {
                self.read_begin().into()
            }
            #[inline]
            fn read_retry(&self, sequence: u64) -> bool {
                self.read_retry(sequence as $sequence)
            }
        }
    )*};
}

rename_locks! {
    RenameLock<rename_lock::Exclusive, P>, sequence u32, paths Writer;
    RenameLock<rename_lock::SeqRw, P>, sequence u32, paths Blocking;
    RenameLock<rename_lock::SeqExclusive, P>, sequence u32, paths SequenceThenBlocking;
    RawSeqRwLock<P>, sequence u64, paths SequenceThenBlocking;
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
    fn get_above_one(&self) -> bool {
        self.get_above_one()
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
