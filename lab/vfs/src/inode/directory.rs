//! A directory's content: the truth that the dentry cache may forget, and find again.
//!
//! Every entry has a cursor, larger than all earlier ones of this directory. A reader goes by cursors, so entries that
//! come and go while it reads neither hide others from it nor show them twice; a name that comes later is seen later,
//! and one that was renamed is seen again rather than missed.

use super::Inode;
use super::attributes::Kind;
use super::space::{NUMBERS_AT_A_TIME, Space};
use crate::Errno;
use crate::host::Host;
use crate::locks::LockSet;
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes that a name may have.
pub const NAME_MAX: usize = 255;

/// Cursors of `.` and `..`; those of entries follow.
const OWN: u64 = 0;
const PARENT: u64 = 1;
const FIRST: u64 = 2;

/// An entry, as `readdir` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirEntry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The inode's number.
    pub number: u64,
    /// What the inode is.
    pub kind: Kind,
    /// The cursor to continue with behind this entry.
    pub next: u64,
}

/// The entries, under the directory's lock. Each owns one reference to its inode.
pub(super) struct Directory<H: Host, L: LockSet<H::Platform>> {
    names: BTreeMap<Arc<[u8]>, Held<H, L>>,
    /// The names by cursor.
    order: BTreeMap<u64, Named<H, L>>,
    next_cursor: u64,
    /// Inode numbers for new nodes here.
    numbers: Range<u64>,
}

type Child<H, L> = NonNull<Inode<H, L>>;
type Named<H, L> = (Arc<[u8]>, Child<H, L>);

struct Held<H: Host, L: LockSet<H::Platform>> {
    child: Child<H, L>,
    cursor: u64,
}

impl<H: Host, L: LockSet<H::Platform>> Directory<H, L> {
    pub(super) fn new() -> Self {
        Directory { names: BTreeMap::new(), order: BTreeMap::new(), next_cursor: FIRST, numbers: 0..0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<Child<H, L>> {
        self.names.get(name).map(|held| held.child)
    }

    /// Returns an inode number that was never used.
    pub(super) fn number(&mut self, space: &Space<H::Platform>) -> u64 {
        if self.numbers.is_empty() {
            let first = space.numbers();
            self.numbers = first..first + NUMBERS_AT_A_TIME;
        }
        self.numbers.start += 1;
        self.numbers.start - 1
    }

    /// Inserts an entry, whose name must not be in use.
    pub(super) fn insert(&mut self, name: &[u8], child: Child<H, L>) {
        let cursor = self.next_cursor;
        self.next_cursor += 1;
        let name = Arc::<[u8]>::from(name);
        self.order.insert(cursor, (name.clone(), child));
        self.names.insert(name, Held { child, cursor });
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> Option<Child<H, L>> {
        let held = self.names.remove(name)?;
        self.order.remove(&held.cursor);
        Some(held.child)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Child<H, L>> {
        self.names.clear();
        std::mem::take(&mut self.order).into_values().map(|(_, child)| child)
    }

    /// Shows entries from a cursor on, until `show` has enough.
    pub(super) fn read(&self, cursor: u64, own: u64, parent: u64, mut show: impl FnMut(DirEntry<'_>) -> bool) {
        let mut dot = |at: u64, name: &[u8], number| {
            cursor > at || show(DirEntry { name, number, kind: Kind::Directory, next: at + 1 })
        };
        if !dot(OWN, b".", own) || !dot(PARENT, b"..", parent) {
            return;
        }
        for (at, (name, child)) in self.order.range(cursor.max(FIRST)..) {
            H::charge(crate::host::Work::DirectoryEntry);
            // SAFETY: the entry owns a reference.
            let child = unsafe { child.as_ref() };
            if !show(DirEntry { name, number: child.number(), kind: child.kind(), next: at + 1 }) {
                return;
            }
        }
    }
}

/// Checks that a name may stand in a directory.
///
/// # Errors
/// `NAMETOOLONG`.
pub(crate) fn check_name(name: &[u8]) -> Result<(), Errno> {
    if name.len() > NAME_MAX { Err(Errno::NAMETOOLONG) } else { Ok(()) }
}
