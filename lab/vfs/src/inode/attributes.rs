//! What `stat` reports, and the words that it reads.

use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Platform, Word};

/// What an inode is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe: a node only.
    Fifo,
}

/// The bits of a mode that `stat` reports as permissions.
const PERMISSIONS: u32 = 0o7777;

/// What `stat` reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The inode's number.
    pub number: u64,
    /// What it is.
    pub kind: Kind,
    /// Permission bits: kept, and not checked.
    pub permissions: u32,
    /// Its names; for a directory 2, and 1 for each directory in it.
    pub links: u32,
    /// The user it belongs to: 0.
    pub uid: u32,
    /// The group it belongs to: 0.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Units of 512 bytes that hold its data.
    pub blocks: u64,
    /// When it was last read, in ns since 1970.
    pub accessed: u64,
    /// When its contents last changed.
    pub modified: u64,
    /// When anything about it last changed.
    pub changed: u64,
}

/// The words that `stat` reads. They are written under the inode's lock and read without it, each by itself, as in the
/// kernel: a `stat` that meets a write may see its first half.
pub(crate) struct Words<P: Platform> {
    pub(crate) permissions: P::U32,
    uid: P::U32,
    gid: P::U32,
    /// Changed by itself, without the lock: see `Inode::add_link`.
    pub(crate) links: P::U32,
    pub(crate) size: P::U64,
    pub(crate) pages: P::U64,
    accessed: P::U64,
    modified: P::U64,
    changed: P::U64,
}

impl<P: Platform> Words<P> {
    pub(crate) fn new(permissions: u32, links: u32, size: u64) -> Self {
        let now = P::wall();
        Words {
            permissions: P::U32::new(permissions & PERMISSIONS),
            uid: P::U32::new(0),
            gid: P::U32::new(0),
            links: P::U32::new(links),
            size: P::U64::new(size),
            pages: P::U64::new(0),
            accessed: P::U64::new(now),
            modified: P::U64::new(now),
            changed: P::U64::new(now),
        }
    }

    pub(crate) fn stat(&self, number: u64, kind: Kind) -> Stat {
        Stat {
            number,
            kind,
            permissions: self.permissions.load(Relaxed),
            links: self.links.load(Relaxed),
            uid: self.uid.load(Relaxed),
            gid: self.gid.load(Relaxed),
            size: self.size.load(Relaxed),
            blocks: self.pages.load(Relaxed) * 8,
            accessed: self.accessed.load(Relaxed),
            modified: self.modified.load(Relaxed),
            changed: self.changed.load(Relaxed),
        }
    }

    /// Notes a read. The word is written only where that is visible: once after each change, and once a day.
    pub(crate) fn touch_accessed(&self) {
        const DAY_NS: u64 = 86_400_000_000_000;
        let now = P::wall();
        let accessed = self.accessed.load(Relaxed);
        let changed = self.modified.load(Relaxed).max(self.changed.load(Relaxed));
        if accessed <= changed || now.saturating_sub(accessed) >= DAY_NS {
            self.accessed.store(now, Relaxed);
        }
    }

    /// Notes that the contents changed.
    pub(crate) fn touch_modified(&self) {
        let now = P::wall();
        self.modified.store(now, Relaxed);
        self.changed.store(now, Relaxed);
    }

    /// Notes that something about it changed.
    pub(crate) fn touch_changed(&self) {
        self.changed.store(P::wall(), Relaxed);
    }
}
