//! What handles are for, what they reserve, and how the journal behaves.

/// What a handle is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A new file, directory or symbolic link.
    Create,
    /// A further name for a file.
    Link,
    /// Removal of a name.
    Remove,
    /// A name that moves.
    Rename,
    /// Truncation of a file, or growth without data.
    Truncate,
    /// Data.
    Write,
    /// Times, owner, mode.
    Attributes,
}

/// Blocks that a handle may change, in the order of [`Change`]: reserved while it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credits([u32; 7]);

impl Credits {
    /// Those of ext4 in 2012 with extents and without quotas, as we recall them (provisional): a change of data counts
    /// as 31 blocks, one of an index as 8 more, and a removal as two changes of data and 64; written data get their
    /// blocks later, in handles that we do not have.
    pub const EXT4: Credits = Credits([42, 39, 126, 72, 8, 1, 2]);

    /// Reserves the same number of blocks for every change.
    #[must_use]
    pub const fn all(blocks: u32) -> Credits {
        Credits([blocks; 7])
    }

    pub(super) const fn of(self, change: Change) -> u32 {
        self.0[change as usize]
    }
}

/// How the journal behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// A transaction is committed after this many handles.
    pub handles_per_commit: u32,
    /// Blocks that a handle may change: reserved while it is open.
    pub reserve: Credits,
    /// Of these, blocks that stay reserved in the transaction after it.
    pub keep: u32,
    /// Blocks of a transaction; a handle that does not fit waits for the next one.
    pub capacity: u32,
    /// Handles that one truncation starts, at least one: those after the first are for the file's times.
    pub truncate_handles: u32,
    /// The cost of either visit to the list of orphans, under its lock.
    pub orphan_ns: u32,
    /// The cost of a commit, after the next transaction runs.
    pub commit_ns: u32,
}

/// A journal that is filled only by the number of handles, with a truncation in one handle.
impl Default for Config {
    fn default() -> Config {
        Config {
            handles_per_commit: 1000,
            reserve: Credits::EXT4,
            keep: 0,
            capacity: u32::MAX,
            truncate_handles: 1,
            orphan_ns: 0,
            commit_ns: 100_000,
        }
    }
}

impl Config {
    /// Returns a journal of this many MiB, in blocks of 4 KiB: a transaction may have a quarter of it, and is committed
    /// when that is reserved.
    #[must_use]
    pub fn of_mib(mib: u32) -> Config {
        Config { handles_per_commit: u32::MAX, capacity: mib.saturating_mul(64), ..Config::default() }
    }
}
