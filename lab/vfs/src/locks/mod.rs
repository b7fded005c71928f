//! The locks that a file system is built of: those of a kernel of one of the papers, before or after its patch, or
//! today's.
//!
//! | trait | the kernel's | its users here |
//! |---|---|---|
//! | [`Count`] | `d_count` with `d_lock` | every dentry |
//! | [`Rename`] | `rename_lock` | look-ups that miss, `d_path`, renames |
//! | [`RawLock`] that sleeps | `i_mutex`, `s_vfs_rename_mutex`, `s_orphan_lock` | inodes, renames, the journal |
//! | [`RawLock`] that spins | hash chains, LRU list, pid table, sighand | the dentry cache |
//! | [`RawRwLock`] that spins | `j_state_lock` | the journal |
//! | [`RawRwLock`] that sleeps | `mmap_sem`, ipc | process objects |
//! | [`RawLock`] that sleeps | `anon_vma`: a mutex, later an rwsem | process objects |
//!
//! What rename locks can do beyond locking is in `adapters`; the sets are in `sets`.

mod adapters;
mod sets;

pub use sets::{
    Linux37, Linux37Patch1, Linux37Patch2, Linux38Patch1, Linux38Patch2, Linux310, Linux310Dcache,
    Linux310DcachePatch1, Linux312, SETS, Today, WithSet, with_set,
};
pub use turnwise::rwlock::RwLock as Shared;
pub use turnwise_lineage::d_count::Count;

use turnwise::platform::Platform;
use turnwise::raw::{RawLock, RawRwLock};

/// Which locks a kernel has.
pub trait LockSet<P: Platform>: Send + Sync + 'static {
    /// Its name in tables and on command lines.
    const NAME: &'static str;
    /// Whether `d_path`, `getcwd` and the like take a reference to the root (`path_get`) and give it back (`dput`), and
    /// so does a walk from the root that comes to a symbolic link, which then continues with references.
    const COUNTS_ROOT: bool;
    /// Whether `stat` and the like take a reference to what they look at.
    const COUNTS_LOOKS: bool;
    /// `d_count` with `d_lock`.
    type Count: Count;
    /// `rename_lock`.
    type Rename: Rename;
    /// Sleeps: `i_mutex` and its kin.
    type Mutex: RawLock;
    /// Spins: hash chains, LRU.
    type Spin: RawLock;
    /// Spins: `j_state_lock`.
    type RwSpin: RawRwLock;
    /// Sleeps: `mmap_sem`.
    type RwSem: RawRwLock;
    /// Sleeps: the root lock of `anon_vma`, which was a mutex before Linux 3.8 (commit 5a505085).
    type AnonVma: RawLock;

    /// Takes a reference to a dentry that was found without one; returns whether it did. Sets that are wrong on purpose
    /// override this and the next function.
    #[inline]
    fn get_found(count: &Self::Count) -> bool {
        count.get_live()
    }
    /// Returns whether what was read of the tree since the sequence was `sequence` must be read again.
    #[inline]
    fn read_again(rename: &Self::Rename, sequence: u64) -> bool {
        rename.read_retry(sequence)
    }
}

/// How a path is read from the tree while directories may be renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathsBy {
    /// As a writer of the rename lock: one at a time. Each name is read under its dentry's `d_lock`, as in these
    /// kernels.
    Writer,
    /// As a blocking reader: many at a time, names as above.
    Blocking,
    /// Optimistically; if a rename came between, once more as a blocking reader. Names need no lock.
    SequenceThenBlocking,
}

/// The lock around every change of a dentry's place, with a sequence that shows whether one came.
///
/// What it protects consists of words that readers load with Acquire and writers store with Release.
pub trait Rename: RawRwLock {
    /// How `d_path` uses the lock.
    const PATHS: PathsBy;
    /// Begins an optimistic read; waits while a thread writes.
    fn read_begin(&self) -> u64;
    /// Returns whether a writer came since [`Rename::read_begin`] returned `sequence`.
    fn read_retry(&self, sequence: u64) -> bool;
}
