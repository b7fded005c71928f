//! Attributes of files: stat, readlink, truncate, chmod and the like.

use super::call;
use crate::Vfs;
use crate::errno::Errno;
use crate::host::Host;
use crate::inode::{Inode, Kind, SetAttributes, SetTime, Stat};
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::{Context, Follow, Path};

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Returns what `stat` or `lstat` reports.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`].
    pub fn stat(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], follow: Follow) -> Result<Stat, Errno> {
        call::<H>();
        self.look_at(cx, path, follow, Inode::stat)
    }

    /// Returns where a symbolic link leads.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `INVAL` if it is not a symbolic link.
    pub fn readlink(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8]) -> Result<Vec<u8>, Errno> {
        call::<H>();
        self.look_at(cx, path, Follow::No, |inode| inode.target().map(<[u8]>::to_vec))?
    }

    /// Cuts a file off, or fills it up with zeros.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `ISDIR`, `INVAL`, `FBIG`, `ACCESS`.
    pub fn truncate(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], size: u64) -> Result<(), Errno> {
        call::<H>();
        let path = self.lookup(cx, path, Follow::Yes)?;
        if path.inode().kind() == Kind::Directory {
            return Err(Errno::ISDIR);
        }
        cx.may(path.inode(), 2)?;
        self.resize(path.inode(), size)
    }

    pub(crate) fn resize(&self, inode: &Inode<H, L>, size: u64) -> Result<(), Errno> {
        let mut locked = inode.lock();
        self.truncating(inode, || locked.resize(&self.dcache.space, size))
    }

    /// Makes a change that sets the size of a file, whose lock the caller has.
    fn truncating<R>(&self, inode: &Inode<H, L>, work: impl FnOnce() -> R) -> R {
        match &self.journal {
            Some(journal) => journal.truncate(inode.number(), work),
            None => work(),
        }
    }

    /// Changes owner, permissions, size or times, as far as the user may.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `PERM`, `ACCESS`, and for a size those of [`Vfs::truncate`].
    pub fn set_attributes(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        wanted: &SetAttributes,
    ) -> Result<(), Errno> {
        call::<H>();
        let path = self.lookup(cx, path, Follow::Yes)?;
        self.may_set(cx, &path, wanted)?;
        path.set_attributes(wanted)
    }

    fn may_set(
        &self,
        cx: &Context<'_, 'fs, H, L>,
        path: &Path<'fs, H, L>,
        wanted: &SetAttributes,
    ) -> Result<(), Errno> {
        if cx.uid == 0 {
            return Ok(());
        }
        let stat = path.stat();
        let owns = stat.uid == cx.uid;
        let new_owner = wanted.uid.is_some_and(|uid| uid != stat.uid);
        let new_group = wanted.gid.is_some_and(|gid| gid != stat.gid && gid != cx.gid);
        let at = |time| matches!(time, Some(SetTime::At(_)));
        let for_owner =
            wanted.permissions.is_some() || wanted.gid.is_some() || at(wanted.accessed) || at(wanted.modified);
        if new_owner || new_group || for_owner && !owns {
            return Err(Errno::PERM);
        }
        let for_writer = wanted.size.is_some() || !owns && (wanted.accessed.is_some() || wanted.modified.is_some());
        if for_writer { cx.may(path.inode(), 2) } else { Ok(()) }
    }
}

impl<H: Host, L: LockSet<H::Platform>> Path<'_, H, L> {
    /// Changes owner, permissions, size or times, for any user.
    ///
    /// # Errors
    /// As [`Vfs::truncate`], for a size.
    pub fn set_attributes(&self, wanted: &SetAttributes) -> Result<(), Errno> {
        let inode = self.inode();
        let mut locked = inode.lock();
        if wanted.size.is_some() {
            return self.fs.truncating(inode, || locked.set_attributes(&self.fs.dcache.space, wanted));
        }
        let _handle = self.fs.begin_change(Change::Attributes);
        locked.set_attributes(&self.fs.dcache.space, wanted)
    }
}
