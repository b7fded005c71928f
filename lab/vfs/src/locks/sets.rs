//! The sets. What a paper changed is one member, so that before and after differ in nothing else.
//!
//! Linux 3.7 and 3.8 are those of `mutex_spinners`, 3.10 that of `dcache`, and 3.12 has what was merged of the latter.
//! `anon_vma` has the set's mutex in Linux 3.7, its rwsem from 3.8 on. Spin locks are ticket locks and `j_state_lock`
//! the biased readers-writer lock in all of the kernels; in [`Today`] spin locks back off, and `j_state_lock` is an
//! `RwSem`.

use super::LockSet;
use turnwise::backoff::Exponential;
use turnwise::platform::Platform;
use turnwise::{RawMutex, RawRwSem, RawSeqRwLock, RawSpinLock};
use turnwise_lineage::d_count::{CmpXchg, UnderLock};
use turnwise_lineage::linux_mutex::{Baseline, Patch1, Patch1And2};
use turnwise_lineage::rename_lock::{Exclusive, SeqExclusive, SeqRw};
use turnwise_lineage::rwsem_xadd::{FastStealing, Fifo};
use turnwise_lineage::{BiasedRwLock, DCount, KernelTicketLock, LinuxMutex, RenameLock, RwsemXadd, d_count};

macro_rules! sets {
    ($($set:ident: $help:literal $(= $name:literal
        [$count:ty, $rename:ty, $mutex:ty, $rwsem:ty, $anon_vma:ty])?;)*) => {
        $(
            #[doc = concat!($help, ".")]
            #[derive(Clone, Copy, Debug)]
            pub struct $set;

            $(impl<P: Platform> LockSet<P> for $set {
                const NAME: &'static str = $name;
                const COUNTS_ROOT: bool = true;
                const COUNTS_LOOKS: bool = true;
                type Count = DCount<$count, P>;
                type Rename = RenameLock<$rename, P>;
                type Mutex = LinuxMutex<$mutex, P>;
                type Spin = KernelTicketLock<P>;
                type RwSpin = BiasedRwLock<P>;
                type RwSem = RwsemXadd<$rwsem, P>;
                type AnonVma = $anon_vma;
            })?
        )*

        /// The name of each set, and what it is in a line; the oldest first.
        pub const SETS: &[(&str, &str)] = &[$((<$set as LockSet<turnwise::platform::Native>>::NAME, $help)),*];

        /// Does it with the set of this name; `None`: there is no such set.
        pub fn with_set<P: Platform, W: WithSet<P>>(name: &str, what: W) -> Option<W::Out> {
            $(if name == <$set as LockSet<P>>::NAME {
                return Some(what.with::<$set>());
            })*
            None
        }
    };
}

// The count, the rename lock, the mutex, the rwsem, and the lock of `anon_vma`.
sets! {
    Linux37: "Linux 3.7, before the patches to its mutex" = "linux-3.7"
        [UnderLock, Exclusive, Baseline, Fifo, LinuxMutex<Baseline, P>];
    Linux37Patch1: "Linux 3.7 with the first patch: spinners poll before they try" = "linux-3.7-patch-1"
        [UnderLock, Exclusive, Patch1, Fifo, LinuxMutex<Patch1, P>];
    Linux37Patch2: "Linux 3.7 with both patches: spinners queue" = "linux-3.7-patch-2"
        [UnderLock, Exclusive, Patch1And2, Fifo, LinuxMutex<Patch1And2, P>];
    Linux38Patch1: "Linux 3.8, whose trees of anonymous memory have an rwsem, with the mutex's first patch"
        = "linux-3.8-patch-1" [UnderLock, Exclusive, Patch1, Fifo, RwsemXadd<Fifo, P>];
    Linux38Patch2: "Linux 3.8 with both patches of the mutex" = "linux-3.8-patch-2"
        [UnderLock, Exclusive, Patch1And2, Fifo, RwsemXadd<Fifo, P>];
    Linux310: "Linux 3.10: the dentry's count under its lock" = "linux-3.10"
        [UnderLock, Exclusive, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>];
    Linux310DcachePatch1: "Linux 3.10 with the first patch: the dentry's count by compare-exchange"
        = "linux-3.10-dcache-1" [CmpXchg, Exclusive, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>];
    Linux310Dcache: "Linux 3.10 with the patches: compare-exchange, and a sequence read/write lock for renames"
        = "linux-3.10-dcache" [CmpXchg, SeqRw, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>];
    Linux312: "Linux 3.12: the form in which the patches were merged" = "linux-3.12"
        [d_count::LockRef, SeqExclusive, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>];
    Today: "The locks of this project";
}

impl<P: Platform> LockSet<P> for Today {
    const NAME: &'static str = "today";
    const COUNTS_ROOT: bool = false;
    const COUNTS_LOOKS: bool = false;
    type Count = turnwise::LockRef<P>;
    type Rename = RawSeqRwLock<P>;
    type Mutex = RawMutex<P>;
    type Spin = RawSpinLock<Exponential, P>;
    type RwSpin = RawRwSem<P>;
    type RwSem = RawRwSem<P>;
    type AnonVma = RawRwSem<P>;
}

/// An action on a set of locks.
pub trait WithSet<P: Platform> {
    /// The result.
    type Out;

    /// Does it.
    fn with<L: LockSet<P>>(self) -> Self::Out;
}

#[cfg(test)]
mod tests;
