//! Names that go: unlink, rmdir.

use super::call;
use crate::Errno;
use crate::Vfs;
use crate::host::Host;
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::Context;
use crate::walk::Last;

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Removes the name of anything but a directory. Processes that have it open keep it.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `ISDIR`.
    pub fn unlink(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8]) -> Result<(), Errno> {
        call::<H>();
        self.with_parent(cx, path, |parent, last| {
            let Last::Name(name, hash, slashes) = last else {
                return Err(Errno::ISDIR);
            };
            let mut directory = parent.inode().lock();
            let entry = self.entry(parent.dentry, &directory, name, hash)?;
            let inode = entry.dentry().inode().ok_or(Errno::NOENT)?;
            match (slashes, entry.dentry().is_directory()) {
                (_, true) => return Err(Errno::ISDIR),
                (true, false) => return Err(Errno::NOTDIR),
                _ => {}
            }
            parent.dentry().charge_look(); // may the user?
            entry.dentry().charge_look(); // is something mounted there?
            let handle = self.begin_change(Change::Remove);
            let removed = directory.remove(name)?;
            inode.drop_link();
            self.dcache.detach(entry.dentry);
            drop(handle);
            drop(directory);
            // SAFETY: contract of `put_inode`: the reference that the directory had.
            unsafe { self.put_inode(removed) };
            Ok(())
        })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `NOTDIR`, `NOTEMPTY`, `INVAL` for `.`, `BUSY` for the root.
    pub fn rmdir(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8]) -> Result<(), Errno> {
        call::<H>();
        self.with_parent(cx, path, |parent, last| {
            let (name, hash) = match last {
                Last::Name(name, hash, _) => (name, hash),
                Last::DotDot => return Err(Errno::NOTEMPTY),
                Last::Dot if path.contains(&b'.') => return Err(Errno::INVAL), // not the root
                Last::Dot => return Err(Errno::BUSY),
            };
            let mut directory = parent.inode().lock();
            let entry = self.entry(parent.dentry, &directory, name, hash)?;
            let inode = entry.dentry().inode().ok_or(Errno::NOENT)?;
            if !entry.dentry().is_directory() {
                return Err(Errno::NOTDIR);
            }
            let mut victim = inode.lock();
            if !victim.is_empty()? {
                return Err(Errno::NOTEMPTY);
            }
            let handle = self.begin_change(Change::Remove);
            victim.kill_directory(&self.dcache.space)?; // from here on nothing can be made in it
            let removed = directory.remove(name)?;
            self.dcache.detach(entry.dentry);
            drop(handle);
            drop(victim);
            drop(directory);
            // SAFETY: contract of `put_inode`: the reference that the directory had.
            unsafe { self.put_inode(removed) };
            Ok(())
        })
    }
}
