//! The sets. What a paper changed is one member, so that before and after differ in nothing else.
//!
//! | set | `d_count` | `rename_lock` | mutex | rwsem | which paper |
//! |---|---|---|---|---|---|
//! | [`Linux37`] | under `d_lock` | exclusive | 3.7 | 3.8 | `mutex_spinners`, before |
//! | [`Linux37Patch1`] | under `d_lock` | exclusive | patch 1 | 3.8 | `mutex_spinners`, patch 1 |
//! | [`Linux37Patch2`] | under `d_lock` | exclusive | patches 1 and 2 | 3.8 | `mutex_spinners`, both |
//! | [`Linux38`] | under `d_lock` | exclusive | 3.7 | 3.8 | `mutex_spinners`, before, in a 3.8 kernel |
//! | [`Linux38Patch1`] | under `d_lock` | exclusive | patch 1 | 3.8 | `mutex_spinners`, patch 1 in a 3.8 kernel |
//! | [`Linux38Patch2`] | under `d_lock` | exclusive | patches 1 and 2 | 3.8 | `mutex_spinners`, both in a 3.8 kernel |
//! | [`Linux310`] | under `d_lock` | exclusive | 3.10 | 3.10 | `dcache`, before |
//! | [`Linux310Dcache`] | compare-exchange | sequence read/write lock | 3.10 | 3.10 | `dcache`, after |
//! | [`Linux312`] | lockref | sequence first, then exclusive | 3.10 | 3.10 | what was merged |
//! | [`Today`] | `LockRef` | `SeqRwLock` | `Mutex` | `RwSem` | this project |
//!
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

macro_rules! kernels {
    ($($(#[$doc:meta])* $set:ident = $name:literal: $count:ty, $rename:ty, $mutex:ty, $rwsem:ty, $anon_vma:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $set;

        impl<P: Platform> LockSet<P> for $set {
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
        }
    )*};
}

kernels! {
    /// Linux 3.7: `mutex_spinners` before its patches.
    Linux37 = "linux-3.7": UnderLock, Exclusive, Baseline, Fifo, LinuxMutex<Baseline, P>;
    /// Linux 3.7 with patch 1 of `mutex_spinners`: spinners poll before they try.
    Linux37Patch1 = "linux-3.7-patch-1": UnderLock, Exclusive, Patch1, Fifo, LinuxMutex<Patch1, P>;
    /// Linux 3.7 with both patches: spinners queue.
    Linux37Patch2 = "linux-3.7-patch-2": UnderLock, Exclusive, Patch1And2, Fifo, LinuxMutex<Patch1And2, P>;
    /// Linux 3.8 before the patches of `mutex_spinners`: `anon_vma` has an rwsem.
    Linux38 = "linux-3.8": UnderLock, Exclusive, Baseline, Fifo, RwsemXadd<Fifo, P>;
    /// Linux 3.8 with patch 1.
    Linux38Patch1 = "linux-3.8-patch-1": UnderLock, Exclusive, Patch1, Fifo, RwsemXadd<Fifo, P>;
    /// Linux 3.8 with both patches.
    Linux38Patch2 = "linux-3.8-patch-2": UnderLock, Exclusive, Patch1And2, Fifo, RwsemXadd<Fifo, P>;
    /// Linux 3.10-rc1: `dcache` before its patches.
    Linux310 = "linux-3.10": UnderLock, Exclusive, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>;
    /// Linux 3.10-rc1 with the paper's third version: compare-exchange, sequence read/write lock.
    Linux310Dcache = "linux-3.10-dcache": CmpXchg, SeqRw, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>;
    /// Its final form in Linux 3.12.
    Linux312 = "linux-3.12": d_count::LockRef, SeqExclusive, Patch1And2, FastStealing, RwsemXadd<FastStealing, P>;
}

/// The locks of `turnwise`.
#[derive(Clone, Copy, Debug)]
pub struct Today;

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

macro_rules! sets {
    ($($set:ident: $help:literal,)*) => {
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

sets! {
    Linux37: "Linux 3.7, before the patches to its mutex",
    Linux37Patch1: "Linux 3.7 with the first patch: spinners poll before they try",
    Linux37Patch2: "Linux 3.7 with both patches: spinners queue",
    Linux38: "Linux 3.8: the trees of anonymous memory have an rwsem, which was a mutex",
    Linux38Patch1: "Linux 3.8 with the mutex's first patch",
    Linux38Patch2: "Linux 3.8 with both patches of the mutex",
    Linux310: "Linux 3.10: the dentry's count under its lock",
    Linux310Dcache: "Linux 3.10 with the patches: compare-exchange, and a sequence read/write lock for renames",
    Linux312: "Linux 3.12: the form in which the patches were merged",
    Today: "The locks of this project",
}

#[cfg(test)]
mod tests;
