//! Counted references to places in the tree, and where paths begin.

use crate::Vfs;
use crate::dcache::DentryPtr;
use crate::dcache::dentry::Dentry;
use crate::host::Host;
use crate::inode::{Inode, Stat};
use crate::locks::LockSet;
use std::fmt;

/// A counted reference to a place in the tree. Clone gets, drop puts.
///
/// It always stands for an existing file, directory or other node, perhaps one whose name was removed; except for those
/// of a directory's entries in `ops`, which never leave that.
pub struct Path<'fs, H: Host, L: LockSet<H::Platform>> {
    pub(crate) fs: &'fs Vfs<H, L>,
    pub(crate) dentry: DentryPtr<H, L>,
}

// SAFETY: the pointer is to a dentry, which threads share, and which the reference keeps.
unsafe impl<H: Host, L: LockSet<H::Platform>> Send for Path<'_, H, L> {}
// SAFETY: threads share what the pointer leads to, and the reference keeps it.
unsafe impl<H: Host, L: LockSet<H::Platform>> Sync for Path<'_, H, L> {}

impl<H: Host, L: LockSet<H::Platform>> Clone for Path<'_, H, L> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: contract of `Dcache::get`: this path has a reference.
        unsafe { self.fs.dcache.get(self.dentry) };
        Path { fs: self.fs, dentry: self.dentry }
    }
}

impl<H: Host, L: LockSet<H::Platform>> Drop for Path<'_, H, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: contract of `Dcache::put`: this path's reference.
        unsafe { self.fs.dcache.put(self.dentry) };
    }
}

impl<H: Host, L: LockSet<H::Platform>> PartialEq for Path<'_, H, L> {
    fn eq(&self, other: &Self) -> bool {
        self.dentry == other.dentry
    }
}

impl<H: Host, L: LockSet<H::Platform>> Eq for Path<'_, H, L> {}

impl<H: Host, L: LockSet<H::Platform>> fmt::Debug for Path<'_, H, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("inode", &self.inode_number()).finish_non_exhaustive()
    }
}

impl<'fs, H: Host, L: LockSet<H::Platform>> Path<'fs, H, L> {
    #[inline]
    pub(crate) fn dentry(&self) -> &Dentry<H, L> {
        // SAFETY: this path has a reference.
        unsafe { self.dentry.as_ref() }
    }

    pub(crate) fn inode(&self) -> &Inode<H, L> {
        self.dentry().inode().expect("a path stands for something that exists, and keeps it")
    }

    /// Returns the file system that it belongs to.
    pub fn file_system(&self) -> &'fs Vfs<H, L> {
        self.fs
    }

    /// Returns the attributes, as `stat` does.
    pub fn stat(&self) -> Stat {
        self.inode().stat()
    }

    /// Returns the inode's number.
    pub fn inode_number(&self) -> u64 {
        self.inode().number()
    }

    /// Returns whether its name was removed.
    pub fn is_deleted(&self) -> bool {
        self.dentry().is_unhashed()
    }
}

/// Whether a symbolic link at the end of a path is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Follow {
    /// Follow the link, as `stat` does.
    Yes,
    /// Stop at the link, as `lstat` does.
    No,
}

/// From where a process asks.
pub struct Context<'a, 'fs, H: Host, L: LockSet<H::Platform>> {
    /// Where paths with a leading slash begin, and what `..` does not leave.
    pub root: &'a Path<'fs, H, L>,
    /// Where other paths begin: the working directory.
    pub at: &'a Path<'fs, H, L>,
}

impl<'a, 'fs, H: Host, L: LockSet<H::Platform>> Context<'a, 'fs, H, L> {
    /// Creates a context.
    pub fn new(root: &'a Path<'fs, H, L>, at: &'a Path<'fs, H, L>) -> Self {
        Context { root, at }
    }
}
