//! Mount points: a fresh tree on top of a directory.

use super::call;
use crate::Vfs;
use crate::errno::Errno;
use crate::host::Host;
use crate::inode::{Inode, Kind};
use crate::locks::LockSet;
use crate::mount::Mount;
use crate::path::{Context, Follow, Path};

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Mounts a fresh, empty tree on a directory; returns its root. Files share the limits of the file system, but
    /// cannot be renamed or linked from one tree to another.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `NOTDIR`, `NOENT` if the directory was removed, `BUSY`, `PERM` for users other than 0,
    /// `NOSPC`.
    pub fn mount(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8]) -> Result<Path<'fs, H, L>, Errno> {
        call::<H>();
        if cx.uid != 0 {
            return Err(Errno::PERM);
        }
        let point = self.lookup(cx, path, Follow::Yes)?;
        if point.inode().kind() != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        let mut mounts = self.mounts.lock();
        // A thread that removes the directory has its own lock too. A rename that is under way may still move the mount
        // along, which is harmless.
        let locked = point.inode().lock();
        if locked.is_removed() && point.dentry != self.first_dentry() {
            return Err(Errno::NOENT);
        }
        if point.dentry().mounted().is_some() {
            return Err(Errno::BUSY); // another thread was faster
        }
        let inode = Inode::root(&self.dcache.space, 0o755, cx.uid, cx.gid)?;
        // SAFETY: just made; the dentry takes over its reference.
        let root = self.dcache.root(unsafe { inode.as_ref() });
        // SAFETY: contract of `Dcache::get`: `point` has a reference. One more, for the mount.
        unsafe { self.dcache.get(point.dentry) };
        let mount = H::allocate(Mount::new(root, Some((point.mount, point.dentry))));
        mounts.push(mount);
        point.dentry().set_mounted(Some(mount));
        drop(locked);
        drop(mounts);
        // SAFETY: contract of `Dcache::get`: the mount has a reference to its root.
        unsafe { self.dcache.get(root) };
        Ok(Path { fs: self, mount, dentry: root })
    }

    /// Takes a tree away from the directory where it is mounted. Present users may continue; its memory is freed with
    /// the file system.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `INVAL` if nothing is mounted there, `PERM` for users other than 0.
    pub fn umount(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8]) -> Result<(), Errno> {
        call::<H>();
        if cx.uid != 0 {
            return Err(Errno::PERM);
        }
        let root = self.lookup(cx, path, Follow::Yes)?;
        // SAFETY: mounts live as long as the file system.
        let mount = unsafe { root.mount.as_ref() };
        if root.dentry != mount.root || !self.detach_mount(mount) {
            return Err(Errno::INVAL);
        }
        Ok(())
    }

    /// Takes a mount off its directory, if it is on one; returns whether it was.
    pub(crate) fn detach_mount(&self, mount: &Mount<H, L>) -> bool {
        let mounts = self.mounts.lock();
        let Some((_, point)) = mount.point() else {
            return false;
        };
        mount.detach();
        // SAFETY: the mount has a reference to it, until the end of this function.
        unsafe { point.as_ref() }.set_mounted(None);
        drop(mounts);
        // SAFETY: the mount had a reference to its point, which is given back here.
        unsafe { self.dcache.put(point) };
        true
    }
}
