//! The file system as a whole.

use crate::dcache::{Counter, Dcache, DentryPtr};
use crate::host::Host;
use crate::inode::{Inode, Space, Usage};
use crate::journal::{self, Journal};
use crate::locks::LockSet;
use crate::path::Path;
use std::fmt;
use turnwise::Lock;

/// The limits and properties of a file system.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The dentry cache has 2 to the power of this many hash chains.
    pub buckets_log2: u32,
    /// Bytes that unused dentries may take before the oldest are reclaimed.
    pub cache_bytes: usize,
    /// Bytes of data in files; `None`: no limit.
    pub data_bytes: Option<u64>,
    /// Whether changes go through a journal, and which.
    pub journal: Option<journal::Config>,
    /// Decides which names share a hash chain. The same seed gives the same chains.
    pub seed: u64,
}

impl Default for Config {
    /// Returns 65536 chains, 64 MiB of unused dentries, no limit of data, no journal.
    fn default() -> Config {
        Config { buckets_log2: 16, cache_bytes: 64 << 20, data_bytes: None, journal: None, seed: 0x7472_6e77_6973_6531 }
    }
}

/// What is in the cache, and what happened to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Dentries that there are.
    pub dentries: u64,
    /// Dentries in the list of unused ones (some may be in use again).
    pub unused: u64,
    /// Dentries made since the start.
    pub made: u64,
    /// Components that had to be looked up in the directory itself.
    pub missed: u64,
    /// Dentries in the longest hash chain.
    pub longest_chain: u64,
    /// Inodes that there are.
    pub inodes: u64,
    /// Bytes of data, in whole pages.
    pub data_bytes: u64,
}

/// A file system.
pub struct Vfs<H: Host, L: LockSet<H::Platform>> {
    pub(crate) dcache: Dcache<H, L>,
    pub(crate) journal: Option<Journal<H, L>>,
    /// Held while a directory changes its parent (`s_vfs_rename_mutex`).
    pub(crate) rename_mutex: Lock<L::Mutex, ()>,
    /// The first directory, with a reference.
    root: DentryPtr<H, L>,
}

// SAFETY: the pointer is to a dentry, which threads share.
unsafe impl<H: Host, L: LockSet<H::Platform>> Send for Vfs<H, L> {}
// SAFETY: threads share the dentry, and nothing changes the pointer.
unsafe impl<H: Host, L: LockSet<H::Platform>> Sync for Vfs<H, L> {}

impl<H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Creates an empty file system: one directory.
    pub fn new(config: Config) -> Self {
        let space = Space::new(config.data_bytes);
        let inode = Inode::root(&space);
        let dcache = Dcache::new(config.buckets_log2, config.cache_bytes, config.seed, space);
        // SAFETY: just made; the dentry takes over its reference.
        let root = dcache.root(unsafe { inode.as_ref() });
        Vfs { dcache, journal: config.journal.map(Journal::new), rename_mutex: Lock::new_in(()), root }
    }

    /// Returns the root directory.
    pub fn root(&self) -> Path<'_, H, L> {
        // SAFETY: contract of `Dcache::get`: the file system has a reference to its root.
        unsafe { self.dcache.get(self.root) };
        Path { fs: self, dentry: self.root }
    }

    /// Returns what is in the cache and what happened to it. Walks all hash chains.
    pub fn stats(&self) -> Stats {
        let read = |counter| self.dcache.counters.read(counter);
        let usage = self.usage();
        Stats {
            dentries: read(Counter::Made).wrapping_sub(read(Counter::Killed)),
            unused: self.dcache.unused() as u64,
            made: read(Counter::Made),
            missed: read(Counter::Missed),
            longest_chain: self.dcache.longest_chain() as u64,
            inodes: usage.inodes_used,
            data_bytes: usage.pages_used * crate::inode::PAGE_BYTES,
        }
    }

    /// Returns how full it is.
    pub fn usage(&self) -> Usage {
        self.dcache.space.usage()
    }

    /// Returns the journal, if there is one.
    pub fn journal(&self) -> Option<&Journal<H, L>> {
        self.journal.as_ref()
    }

    /// Reclaims up to this many unused dentries; returns how many there were.
    pub fn shrink(&self, dentries: usize) -> usize {
        self.dcache.shrink(dentries)
    }
}

impl<H: Host, L: LockSet<H::Platform>> Drop for Vfs<H, L> {
    fn drop(&mut self) {
        // No path lives any more, so all dentries but the root's are unused, or have children.
        while self.dcache.shrink(usize::MAX) > 0 {}
        // SAFETY: the file system's own reference, the last one; the root is no longer in use.
        unsafe { self.dcache.end(&H::pin(), self.root) };
    }
}

impl<H: Host, L: LockSet<H::Platform>> fmt::Debug for Vfs<H, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vfs").field("locks", &L::NAME).field("stats", &self.stats()).finish_non_exhaustive()
    }
}
