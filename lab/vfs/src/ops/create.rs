//! New names: open with `CREATE`, mkdir, mkfifo, symlink, link.

use super::call;
use crate::Errno;
use crate::Vfs;
use crate::file::File;
use crate::host::Host;
use crate::inode::{Inode, Kind, Locked, New};
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::{Context, Follow, Path};
use crate::walk::Last;
use rustix::fs::OFlags as OpenFlags;

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Opens a file; with `CREATE`, makes it with the permission bits of `mode` if there is none. Of the flags, `EXCL`,
    /// `TRUNC`, `RDONLY`, `WRONLY` and `RDWR` count, too.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `EXIST` (`CREATE` and `EXCL`), `ISDIR`, `NXIO` for a named pipe, `LOOP` for a symbolic
    /// link at the end of a path with `CREATE`: it is not followed.
    pub fn open(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<File<'fs, H, L>, Errno> {
        call::<H>();
        if !flags.contains(OpenFlags::CREATE) {
            return File::open(self.lookup(cx, path, Follow::Yes)?, flags);
        }
        let (path, new) = self.open_or_create(cx, path, flags, mode)?;
        if new { Ok(File::new(path, flags)) } else { File::open(path, flags) }
    }

    /// Returns the file, and whether it is new.
    fn open_or_create(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<(Path<'fs, H, L>, bool), Errno> {
        self.with_parent(cx, path, |parent, last| {
            let Last::Name(name, hash, slashes) = last else {
                return if flags.contains(OpenFlags::EXCL) { Err(Errno::EXIST) } else { Err(Errno::ISDIR) };
            };
            if slashes {
                return Err(Errno::ISDIR);
            }
            let mut directory = parent.inode().lock();
            let entry = self.entry(parent.dentry, &directory, name, hash)?;
            if entry.dentry().is_negative() {
                parent.inode().may_create()?;
                let _handle = self.begin_change(Change::Create);
                self.make_inode(&entry, &mut directory, name, &node(Kind::File, mode))?;
                return Ok((entry, true));
            }
            drop(directory);
            if flags.contains(OpenFlags::EXCL) {
                return Err(Errno::EXIST);
            }
            if entry.inode().kind() == Kind::Symlink {
                return Err(Errno::LOOP);
            }
            entry.dentry().charge_look(); // is something mounted there?
            Ok((entry, false))
        })
    }

    /// Makes a new inode behind a negative dentry, in the directory and in the cache.
    fn make_inode(
        &self,
        entry: &Path<'_, H, L>,
        directory: &mut Locked<'_, H, L>,
        name: &[u8],
        new: &New<'_>,
    ) -> Result<(), Errno> {
        let inode = directory.create(&self.dcache.space, new)?;
        // SAFETY: made with a reference, the entry's.
        let in_inode = unsafe { inode.as_ref() };
        if let Err(errno) = directory.insert(name, in_inode) {
            // SAFETY: contract of `put_inode`: its only reference, still ours.
            unsafe { self.put_inode(inode) };
            return Err(errno);
        }
        in_inode.get(); // the dentry's
        entry.dentry().set_inode(in_inode);
        Ok(())
    }

    /// Has `fill` put something behind a free name: it gets the directory, locked, the negative entry and the name.
    fn new_name(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        slashes_allowed: bool,
        fill: impl FnOnce(&Path<'fs, H, L>, &mut Locked<'_, H, L>, &Path<'fs, H, L>, &[u8]) -> Result<(), Errno>,
    ) -> Result<Path<'fs, H, L>, Errno> {
        call::<H>();
        self.with_parent(cx, path, |parent, last| {
            let Last::Name(name, hash, slashes) = last else {
                return Err(Errno::EXIST);
            };
            let mut directory = parent.inode().lock();
            let entry = self.entry(parent.dentry, &directory, name, hash)?;
            if !entry.dentry().is_negative() {
                return Err(Errno::EXIST);
            }
            if slashes && !slashes_allowed {
                return Err(Errno::NOENT);
            }
            fill(parent, &mut directory, &entry, name)?;
            Ok(entry)
        })
    }

    /// Makes a node of any kind.
    fn create(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], new: &New<'_>) -> Result<Path<'fs, H, L>, Errno> {
        self.new_name(cx, path, new.kind == Kind::Directory, |parent, directory, entry, name| {
            parent.inode().may_create()?;
            let _handle = self.begin_change(Change::Create);
            self.make_inode(entry, directory, name, new)
        })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`] for the way there; `EXIST`.
    pub fn mkdir(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], mode: u32) -> Result<Path<'fs, H, L>, Errno> {
        self.create(cx, path, &node(Kind::Directory, mode))
    }

    /// Makes a named pipe.
    ///
    /// # Errors
    /// Those of [`Vfs::mkdir`].
    pub fn mkfifo(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], mode: u32) -> Result<Path<'fs, H, L>, Errno> {
        self.create(cx, path, &node(Kind::Fifo, mode))
    }

    /// Makes a symbolic link at `path`, which leads to `target`.
    ///
    /// # Errors
    /// Those of [`Vfs::mkdir`]; `NOENT` for an empty target, `NAMETOOLONG`.
    pub fn symlink(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        target: &[u8],
        path: &[u8],
    ) -> Result<Path<'fs, H, L>, Errno> {
        let new = New { target, ..node(Kind::Symlink, 0o777) };
        new.check()?; // before the path is looked up
        self.create(cx, path, &new)
    }

    /// Gives what is at `old` another name. A symbolic link at the end of `old` is not followed.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `EXIST`, `PERM` for directories, `MLINK`; `NOENT` if it has lost its last name
    /// meanwhile.
    pub fn link(&'fs self, cx: &Context<'_, 'fs, H, L>, old: &[u8], new: &[u8]) -> Result<Path<'fs, H, L>, Errno> {
        let old = self.lookup(cx, old, Follow::No)?;
        self.new_name(cx, new, false, |parent, directory, entry, name| {
            parent.inode().may_create()?;
            let inode = old.inode();
            directory.may_insert(name)?;
            let _handle = self.begin_change(Change::Link);
            self.add_name(inode, directory, name)?;
            inode.get(); // the dentry's
            entry.dentry().set_inode(inode);
            Ok(())
        })
    }

    fn add_name(&self, inode: &Inode<H, L>, directory: &mut Locked<'_, H, L>, name: &[u8]) -> Result<(), Errno> {
        inode.add_link()?;
        inode.get(); // the entry's
        directory.insert(name, inode).inspect_err(|_| {
            inode.drop_link();
            // SAFETY: contract of `put_inode`: the reference from above.
            unsafe { self.put_inode(inode.into()) };
        })
    }
}

/// Returns what is to be made.
fn node(kind: Kind, mode: u32) -> New<'static> {
    New { kind, permissions: mode, target: b"" }
}
