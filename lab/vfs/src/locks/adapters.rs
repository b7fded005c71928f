//! The operations of the rename locks of `turnwise` and `turnwise_lineage` beyond locking.

use super::{PathsBy, Rename};
use turnwise::RawSeqRwLock;
use turnwise::platform::Platform;
use turnwise_lineage::{RenameLock, rename_lock};

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
