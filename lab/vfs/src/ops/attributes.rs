//! Attributes of files: stat; and what `TRUNC` does.

use super::call;
use crate::Vfs;
use crate::errno::Errno;
use crate::host::Host;
use crate::inode::{Inode, Stat};
use crate::locks::LockSet;
use crate::path::{Context, Follow};

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
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
}
