//! Paths out of dentries: up the tree, name by name, while others may rename what is on the way.
//!
//! Each place is seen whole, but two places that were never true at the same time could give a path that never existed.
//! So the rename lock's sequence has to be the same before and after; if it is not, the path is read again with renames
//! excluded. In earlier kernels, a reader of a path excluded renames from the start, and read each name under its
//! dentry's lock: as a writer of the rename lock at first, as a blocking reader with the paper's patches.

use super::dentry::Dentry;
use super::place::Place;
use super::{Dcache, DentryPtr};
use crate::Errno;
use crate::host::{Host, Work};
use crate::inode::Inode;
use crate::locks::{Count, LockSet, PathsBy, Rename};
use turnwise::raw::RawLock;

/// A path that grows to the left, in the caller's buffer.
pub(crate) struct Prepend<'b> {
    buffer: &'b mut [u8],
    start: usize,
}

impl<'b> Prepend<'b> {
    pub(crate) fn new(buffer: &'b mut [u8]) -> Self {
        let start = buffer.len();
        Prepend { buffer, start }
    }

    /// Puts `bytes` before what is there.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let start = self.start.checked_sub(bytes.len()).ok_or(Errno::NAMETOOLONG)?;
        self.buffer[start..self.start].copy_from_slice(bytes);
        self.start = start;
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.buffer.len()
    }

    pub(crate) fn into_bytes(self) -> &'b [u8] {
        &self.buffer[self.start..]
    }
}

impl<H: Host, L: LockSet<H::Platform>> Dcache<H, L> {
    /// Writes the path from `root` to `at`, put before what `out` holds; from the first directory, if `at` does not lie
    /// below `root`. The caller has references to both.
    pub(crate) fn path(&self, at: DentryPtr<H, L>, root: DentryPtr<H, L>, out: &mut Prepend<'_>) -> Result<(), Errno> {
        let rename = &self.rename.0;
        let pin = H::pin();
        match L::Rename::PATHS {
            PathsBy::Writer => {
                let _alone = rename.write();
                self.climb(&pin, at, root, out, locked)
            }
            PathsBy::Blocking => {
                let _no_renames = rename.read();
                self.climb(&pin, at, root, out, locked)
            }
            PathsBy::SequenceThenBlocking => {
                let start = out.start;
                let sequence = rename.raw().read_begin();
                let read = self.climb(&pin, at, root, out, free);
                if !L::read_again(rename.raw(), sequence) {
                    return read;
                }
                out.start = start;
                let _no_renames = rename.read();
                self.climb(&pin, at, root, out, free)
            }
        }
    }

    /// Makes one pass. Ends, since a rename under way cannot make a cycle: it never puts a directory below itself, and
    /// if a pass meets several renames, the buffer is its bound.
    fn climb(
        &self,
        _pin: &H::Pin,
        mut at: DentryPtr<H, L>,
        root: DentryPtr<H, L>,
        out: &mut Prepend<'_>,
        add: impl Fn(&Dentry<H, L>, &Place<H, L>, &mut Prepend<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        while at != root {
            // SAFETY: pinned since before the first one, to which the caller has a reference; each one was a parent of
            // the one before after that (invariant 1 of `dentry`).
            let dentry = unsafe { at.as_ref() };
            let place = dentry.place();
            if place.parent() == at {
                break;
            }
            H::charge(Work::Component);
            add(dentry, place, out)?;
            out.add(b"/")?;
            at = place.parent();
        }
        Ok(())
    }

    /// Returns the parent, with a reference (`dget_parent`), without its lock where the count allows that. The caller
    /// has a reference to the dentry.
    pub(crate) fn parent(&self, dentry: &Dentry<H, L>) -> DentryPtr<H, L> {
        let _pin = H::pin();
        loop {
            let parent = dentry.place().parent();
            // SAFETY: pinned since before it was loaded. If it is dead, the dentry already has another one.
            let count = &unsafe { parent.as_ref() }.busy.count;
            if count.get_above_one() || L::get_found(count) {
                if dentry.place().parent() == parent {
                    return parent;
                }
                // SAFETY: contract of `Dcache::put`: the reference from above.
                unsafe { self.put(parent) };
            }
        }
    }

    /// Returns the parent's inode number, for `..` in a directory: takes no reference, since none of the kernels' file
    /// systems does. The caller has a reference to the dentry.
    pub(crate) fn parent_number(&self, dentry: &Dentry<H, L>) -> u64 {
        let _pin = H::pin();
        // SAFETY: pinned since before it was loaded (invariant 1 of `dentry`).
        let parent = unsafe { dentry.place().parent().as_ref() };
        parent.inode().map_or(0, Inode::number)
    }

    /// Returns whether `at` is `ancestor` or below it. No directory changes its parent meanwhile.
    pub(crate) fn is_below(&self, mut at: DentryPtr<H, L>, ancestor: DentryPtr<H, L>) -> bool {
        let _pin = H::pin();
        loop {
            if at == ancestor {
                return true;
            }
            // SAFETY: the caller has a reference to the first one; each has one to its parent, which does not change.
            let parent = unsafe { at.as_ref() }.place().parent();
            if parent == at {
                return false;
            }
            at = parent;
        }
    }
}

/// Puts a name before what is there, without a lock.
#[inline]
fn free<H: Host, L: LockSet<H::Platform>>(
    _: &Dentry<H, L>,
    place: &Place<H, L>,
    out: &mut Prepend<'_>,
) -> Result<(), Errno> {
    out.add(place.name())
}

/// Puts a name before what is there, under `d_lock`.
#[inline]
fn locked<H: Host, L: LockSet<H::Platform>>(
    dentry: &Dentry<H, L>,
    place: &Place<H, L>,
    out: &mut Prepend<'_>,
) -> Result<(), Errno> {
    dentry.busy.count.lock();
    let added = out.add(place.name());
    // SAFETY: contract of `RawLock::unlock`: this thread locked it above.
    unsafe { dentry.busy.count.unlock() };
    added
}
