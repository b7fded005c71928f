//! The operations, by what they do to the tree. Their common parts are here.
//!
//! A change locks the directory (`i_mutex`), starts a handle of the journal, changes the directory's own entries, and
//! then the cache, all before it unlocks: the next owner of the lock finds both alike.

mod attributes;
mod create;
mod paths;
mod remove;
mod rename;

use crate::Vfs;
use crate::dcache::dentry::{Dentry, What};
use crate::dcache::{Counter, DentryPtr};
use crate::errno::Errno;
use crate::host::{Host, Work};
use crate::inode::{Inode, Locked};
use crate::journal::{Change, Handle};
use crate::locks::LockSet;
use std::ptr::NonNull;

/// A reference to a dentry, given back when dropped.
pub(crate) struct Ref<'fs, H: Host, L: LockSet<H::Platform>> {
    fs: &'fs Vfs<H, L>,
    at: DentryPtr<H, L>,
}

impl<H: Host, L: LockSet<H::Platform>> Drop for Ref<'_, H, L> {
    fn drop(&mut self) {
        // SAFETY: contract of `Dcache::put`: the reference is ours, and given back once.
        unsafe { self.fs.dcache.put(self.at) };
    }
}

impl<'fs, H: Host, L: LockSet<H::Platform>> Ref<'fs, H, L> {
    fn dentry(&self) -> &Dentry<H, L> {
        // SAFETY: we have a reference.
        unsafe { self.at.as_ref() }
    }

    /// Returns its inode, if it has one.
    fn inode(&self) -> Option<&Inode<H, L>> {
        self.dentry().inode()
    }

    fn is_directory(&self) -> bool {
        matches!(self.dentry().what(), What::Directory(_))
    }

    fn is_negative(&self) -> bool {
        self.dentry().what() == What::Negative
    }

    /// Takes the reference out, as a pointer.
    fn into_ptr(self) -> DentryPtr<H, L> {
        std::mem::ManuallyDrop::new(self).at
    }
}

impl<H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Returns the dentry of a name in a directory, with a reference; made if there is none. The caller is pinned, has
    /// a reference to the directory's dentry, and its lock.
    pub(crate) fn child_locked(
        &self,
        parent: DentryPtr<H, L>,
        directory: &Locked<'_, H, L>,
        name: &[u8],
        hash: u64,
    ) -> Result<DentryPtr<H, L>, Errno> {
        if let Some(found) = self.dcache.get_cached(parent, hash, name) {
            return Ok(found);
        }
        if directory.is_removed() {
            return Err(Errno::NOENT);
        }
        self.dcache.counters.add(Counter::Missed);
        let found = directory.find(name)?;
        // SAFETY: the entry has a reference, and the directory is locked.
        let inode = found.map(|inode| unsafe { inode.as_ref() });
        if let Some(inode) = inode {
            inode.get();
        }
        Ok(self.dcache.make(parent, hash, name, inode))
    }

    /// Does as [`Vfs::child_locked`], and returns it as a [`Ref`].
    fn entry(
        &self,
        parent: DentryPtr<H, L>,
        directory: &Locked<'_, H, L>,
        name: &[u8],
        hash: u64,
    ) -> Result<Ref<'_, H, L>, Errno> {
        let _pin = H::pin();
        let at = self.child_locked(parent, directory, name, hash)?;
        Ok(Ref { fs: self, at })
    }

    /// Begins a change: returns its handle, if there is a journal. Taken after the directories' locks.
    pub(crate) fn begin_change(&self, change: Change) -> Option<Handle<'_, H, L>> {
        self.journal.as_ref().map(|journal| journal.start(change))
    }

    /// Gives back a reference to an inode.
    ///
    /// # Safety
    /// The caller owns it, and does not use it any more.
    pub(crate) unsafe fn put_inode(&self, inode: NonNull<Inode<H, L>>) {
        // SAFETY: guaranteed by the caller.
        unsafe { Inode::put(inode, &self.dcache.space, &H::pin()) };
    }
}

/// Charges the host for the start of an operation.
fn call<H: Host>() {
    H::charge(Work::Call);
}

#[cfg(test)]
mod tests;
