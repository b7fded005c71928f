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
//! What counts and rename locks can do beyond locking is in `adapters`; the sets are in `sets`.

mod adapters;
mod sets;

pub use sets::{
    Linux37, Linux37Patch1, Linux37Patch2, Linux38Patch1, Linux38Patch2, Linux310, Linux310Dcache,
    Linux310DcachePatch1, Linux312, SETS, Today, WithSet, with_set,
};
pub use turnwise::rwlock::RwLock as Shared;

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

/// A dentry's lock (`d_lock`) with its reference count.
///
/// | operation | needs | count |
/// |---|---|---|
/// | [`get`](Count::get) | a reference | + 1 |
/// | [`get_live`](Count::get_live) | that the memory is there | + 1, from 0 too, unless it is dead |
/// | [`put`](Count::put) | a reference | - 1 |
/// | [`kill_unused`](Count::kill_unused) | that the memory is there | dead, if it is 0 |
///
/// Invariants, on which the dentry cache rests:
/// 1. Dead is final: after it no `get_live` succeeds, and exactly one `kill_unused` returns that it did it.
/// 2. While a thread has the lock and the count is 1 or 0, no other thread changes the count.
/// 3. A `put` that brings the count to 0 sees what all threads did before their puts.
/// 4. A `get_live` that fails has waited for the end of the `kill_unused` that made it dead, `at_kill` included.
/// 5. After a `put` has given its reference back, it does not touch the count any more, and neither does `get`,
///    `get_live` or `kill_unused` after its last change.
pub trait Count: RawLock {
    /// Creates an unlocked count of `count` references.
    fn with_references(count: u32) -> Self;
    /// Adds a reference to those that the caller has.
    fn get(&self);
    /// Adds a reference unless the count is dead; returns whether it did.
    #[must_use = "without a reference the object may go away"]
    fn get_live(&self) -> bool;
    /// Adds a reference without the lock if there are two or more; returns whether it did. Needs what `get_live` needs,
    /// and may return `false` without checking.
    #[must_use = "without a reference the object may go away"]
    fn get_above_one(&self) -> bool {
        false
    }
    /// Drops a reference; returns whether it was the last. Before the last one, `at_last` runs with the lock held.
    fn put(&self, at_last: impl FnOnce()) -> bool;
    /// Drops a reference unless it is the last; returns whether it did. May return `false` without checking.
    fn put_unless_last(&self) -> bool {
        false
    }
    /// Calls [`Count::put`] with nothing to do at the last reference, which a fast path may then do without the lock.
    fn put_quickly(&self) -> bool {
        self.put(|| ())
    }
    /// If there is no reference and it is not dead: runs `at_kill` with the lock held, then marks it dead; returns
    /// whether it did.
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool;
    /// Returns the references at this moment.
    fn count(&self) -> u32;
}
