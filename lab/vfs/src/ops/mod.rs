//! The operations, by what they do to the tree. Their common parts are here.
//!
//! A change locks the directory (`i_mutex`), starts a handle of the journal, changes the directory's own entries, and
//! then the cache, all before it unlocks: the next owner of the lock finds both alike.

mod create;
mod paths;
mod remove;
mod rename;

use crate::Errno;
use crate::Vfs;
use crate::dcache::{Counter, DentryPtr};
use crate::host::{Host, Work};
use crate::inode::{Inode, Locked, Stat};
use crate::journal::{Change, Handle};
use crate::locks::LockSet;
use crate::path::{Context, Follow, Path};
use std::ptr::NonNull;

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
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

    /// Does as [`Vfs::child_locked`], and returns it as a path, which is negative where there is no such name.
    fn entry(
        &'fs self,
        parent: DentryPtr<H, L>,
        directory: &Locked<'_, H, L>,
        name: &[u8],
        hash: u64,
    ) -> Result<Path<'fs, H, L>, Errno> {
        let _pin = H::pin();
        let dentry = self.child_locked(parent, directory, name, hash)?;
        Ok(Path { fs: self, dentry })
    }

    /// Begins a change: returns its handle, if there is a journal. Taken after the directories' locks.
    pub(crate) fn begin_change(&self, change: Change) -> Option<Handle<'_, H, L>> {
        self.journal.as_ref().map(|journal| journal.start(change))
    }

    /// Returns what `stat` or `lstat` reports.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`].
    pub fn stat(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], follow: Follow) -> Result<Stat, Errno> {
        call::<H>();
        self.look_at(cx, path, follow, Inode::stat)
    }

    /// Empties a file, as an open with `TRUNC` does.
    pub(crate) fn empty(&self, inode: &Inode<H, L>) -> Result<(), Errno> {
        let mut locked = inode.lock();
        let mut work = || locked.empty(&self.dcache.space);
        match &self.journal {
            Some(journal) => journal.truncate(inode.number(), work),
            None => work(),
        }
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
