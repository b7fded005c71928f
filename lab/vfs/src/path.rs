//! Counted references to places in the tree, and the callers of operations.

use crate::Vfs;
use crate::dcache::DentryPtr;
use crate::dcache::dentry::Dentry;
use crate::dcache::paths::Spot;
use crate::errno::Errno;
use crate::host::Host;
use crate::inode::{Inode, Stat};
use crate::locks::LockSet;
use crate::mount::MountPtr;
use std::fmt;

/// A counted reference to a place in the tree: a mount and a dentry. Clone gets, drop puts.
///
/// It always stands for an existing file, directory or other node, perhaps one whose name was removed.
pub struct Path<'fs, H: Host, L: LockSet<H::Platform>> {
    pub(crate) fs: &'fs Vfs<H, L>,
    pub(crate) mount: MountPtr<H, L>,
    pub(crate) dentry: DentryPtr<H, L>,
}

// SAFETY: the pointers are to things that threads share, and which the reference keeps.
unsafe impl<H: Host, L: LockSet<H::Platform>> Send for Path<'_, H, L> {}
// SAFETY: threads share what the pointers lead to, and the reference keeps it.
unsafe impl<H: Host, L: LockSet<H::Platform>> Sync for Path<'_, H, L> {}

impl<H: Host, L: LockSet<H::Platform>> Clone for Path<'_, H, L> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: contract of `Dcache::get`: this path has a reference.
        unsafe { self.fs.dcache.get(self.dentry) };
        Path { fs: self.fs, mount: self.mount, dentry: self.dentry }
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
        self.spot() == other.spot()
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
    pub(crate) fn spot(&self) -> Spot<H, L> {
        (self.mount, self.dentry)
    }

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

    /// Returns where a symbolic link leads.
    ///
    /// # Errors
    /// `INVAL` if it is not a symbolic link.
    pub fn readlink(&self) -> Result<&[u8], Errno> {
        self.inode().target()
    }

    /// Returns whether its name was removed.
    pub fn is_deleted(&self) -> bool {
        self.dentry().is_unhashed()
    }

    /// Returns the child `name` of this directory; mount points are crossed, symbolic links are not followed.
    ///
    /// # Errors
    /// `NOENT`, `NOTDIR`, `NAMETOOLONG`; `INVAL` if `name` is not one component.
    pub fn child(&self, name: &[u8]) -> Result<Self, Errno> {
        if name.is_empty() || name.contains(&b'/') {
            return Err(Errno::INVAL);
        }
        let root = Path { fs: self.fs, mount: self.fs.first_mount(), dentry: self.fs.first_dentry() };
        // The file system itself has the root's reference.
        let root = std::mem::ManuallyDrop::new(root);
        self.fs.lookup(&Context::new(&root, self), name, Follow::No)
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

/// The user that asks, and from where.
pub struct Context<'a, 'fs, H: Host, L: LockSet<H::Platform>> {
    /// Where paths with a leading slash begin, and what `..` does not leave.
    pub root: &'a Path<'fs, H, L>,
    /// Where other paths begin: the working directory.
    pub at: &'a Path<'fs, H, L>,
    /// The user; 0 may do everything.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Permission bits that new files do not get.
    pub umask: u32,
}

impl<H: Host, L: LockSet<H::Platform>> Clone for Context<'_, '_, H, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: Host, L: LockSet<H::Platform>> Copy for Context<'_, '_, H, L> {}

impl<'a, 'fs, H: Host, L: LockSet<H::Platform>> Context<'a, 'fs, H, L> {
    /// Creates a context of user and group 0, without a umask.
    pub fn new(root: &'a Path<'fs, H, L>, at: &'a Path<'fs, H, L>) -> Self {
        Context { root, at, uid: 0, gid: 0, umask: 0 }
    }

    /// Checks that this user may do all that `want` contains: 4 read, 2 write, 1 execute or search, added up.
    pub(crate) fn may(&self, inode: &Inode<H, L>, want: u32) -> Result<(), Errno> {
        if self.uid == 0 && want & 1 == 0 || inode.stat().permits(self.uid, self.gid, want) {
            return Ok(());
        }
        Err(Errno::ACCESS)
    }

    /// Checks that this user may search a directory.
    #[inline]
    pub(crate) fn may_search(&self, directory: &Dentry<H, L>) -> Result<(), Errno> {
        if self.uid == 0 {
            return Ok(());
        }
        match directory.inode() {
            Some(inode) => self.may(inode, 1),
            None => Err(Errno::NOENT),
        }
    }

    /// Checks that this user may remove or rename `victim` in `directory`.
    pub(crate) fn may_remove(&self, directory: &Inode<H, L>, victim: &Inode<H, L>) -> Result<(), Errno> {
        if self.uid == 0 {
            return Ok(());
        }
        self.may(directory, 3)?;
        let stat = directory.stat();
        let sticky = stat.permissions & 0o1000 != 0;
        if sticky && stat.uid != self.uid && victim.stat().uid != self.uid {
            return Err(Errno::PERM);
        }
        Ok(())
    }
}
