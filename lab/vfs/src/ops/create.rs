//! New names: open with `CREATE`, mkdir, mknod, symlink, link.

use super::{Ref, call};
use crate::Vfs;
use crate::errno::Errno;
use crate::file::File;
use crate::host::Host;
use crate::inode::{Inode, Kind, Locked, New};
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::{Context, Follow, Path};
use crate::walk::{LINKS_FOLLOWED_MAX, Last};
use rustix::fs::OFlags as OpenFlags;

/// What an open with `CREATE` found.
enum Opened<'fs, H: Host, L: LockSet<H::Platform>> {
    /// This, and whether it is new.
    File(Path<'fs, H, L>, bool),
    /// A symbolic link in this directory, which leads there.
    Link(Path<'fs, H, L>, Vec<u8>),
}

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Opens a file; with `CREATE`, makes it with the permission bits of `mode` if there is none.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `EXIST` (`CREATE` and `EXCL`), `ISDIR`, `NOTDIR` (`DIRECTORY`), `LOOP` (`NOFOLLOW`),
    /// `ACCESS`, `NOSPC`, `INVAL`.
    pub fn open(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<File<'fs, H, L>, Errno> {
        call::<H>();
        if !flags.contains(OpenFlags::CREATE) {
            let follow = if flags.contains(OpenFlags::NOFOLLOW) { Follow::No } else { Follow::Yes };
            return File::open(self.lookup(cx, path, follow)?, cx, flags);
        }
        if flags.contains(OpenFlags::DIRECTORY) {
            return Err(Errno::INVAL);
        }
        let (path, new) = self.open_or_create(cx, path, flags, mode)?;
        if new { Ok(File::new(path, flags)) } else { File::open(path, cx, flags) }
    }

    fn open_or_create(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<(Path<'fs, H, L>, bool), Errno> {
        let new = self.new_node(cx, Kind::File, mode);
        let mut opened = self.try_create(cx, path, flags, &new)?;
        for _ in 0..LINKS_FOLLOWED_MAX {
            match opened {
                Opened::File(path, new) => return Ok((path, new)),
                Opened::Link(directory, text) => {
                    opened = self.try_create(&Context { at: &directory, ..*cx }, &text, flags, &new)?;
                }
            }
        }
        Err(Errno::LOOP)
    }

    /// Opens or creates, one symbolic link at a time.
    fn try_create(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        flags: OpenFlags,
        new: &New<'_>,
    ) -> Result<Opened<'fs, H, L>, Errno> {
        self.with_parent(cx, path, |parent, last| {
            let Last::Name(name, hash, slashes) = last else {
                return if flags.contains(OpenFlags::EXCL) { Err(Errno::EXIST) } else { Err(Errno::ISDIR) };
            };
            if slashes {
                return Err(Errno::ISDIR);
            }
            let mut directory = parent.inode().lock();
            let entry = self.entry(parent.dentry, &directory, name, hash)?;
            if entry.is_negative() {
                cx.may(parent.inode(), 3)?;
                let _handle = self.begin_change(Change::Create);
                self.make_inode(&entry, &mut directory, name, new)?;
                return Ok(Opened::File(self.path_of(parent, entry), true));
            }
            drop(directory);
            if flags.contains(OpenFlags::EXCL) {
                return Err(Errno::EXIST);
            }
            let is_link = entry.inode().is_some_and(|inode| inode.kind() == Kind::Symlink);
            if !is_link {
                return Ok(Opened::File(self.on_top_of(self.path_of(parent, entry)), false));
            }
            if flags.contains(OpenFlags::NOFOLLOW) {
                return Err(Errno::LOOP);
            }
            let target = entry.inode().ok_or(Errno::NOENT)?.target()?;
            Ok(Opened::Link(parent.clone(), target.to_vec()))
        })
    }

    /// Returns what `mode` and the umask make of a new node.
    fn new_node(&self, cx: &Context<'_, 'fs, H, L>, kind: Kind, mode: u32) -> New<'static> {
        New { kind, permissions: mode & 0o7777 & !cx.umask, uid: cx.uid, gid: cx.gid, device: 0, target: b"" }
    }

    /// Makes a new inode behind a negative dentry, in the directory and in the cache.
    fn make_inode(
        &self,
        entry: &Ref<'_, H, L>,
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

    /// Returns a path from a reference.
    pub(super) fn path_of(&'fs self, parent: &Path<'fs, H, L>, entry: Ref<'_, H, L>) -> Path<'fs, H, L> {
        Path { fs: self, mount: parent.mount, dentry: entry.into_ptr() }
    }

    /// Returns what is mounted on a path, or the path itself.
    fn on_top_of(&'fs self, mut path: Path<'fs, H, L>) -> Path<'fs, H, L> {
        while let Some(mount) = path.dentry().mounted() {
            // SAFETY: mounts stay, and have a reference to their root.
            let dentry = unsafe { mount.as_ref() }.root;
            // SAFETY: a mount has a reference to its root, so the dentry lives.
            unsafe { self.dcache.get(dentry) };
            path = Path { fs: self, mount, dentry };
        }
        path
    }

    /// Has `fill` put something behind a free name: it gets the directory, locked, the negative entry and the name.
    fn new_name(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        slashes_allowed: bool,
        fill: impl FnOnce(&Path<'fs, H, L>, &mut Locked<'_, H, L>, &Ref<'_, H, L>, &[u8]) -> Result<(), Errno>,
    ) -> Result<Path<'fs, H, L>, Errno> {
        call::<H>();
        self.with_parent(cx, path, |parent, last| {
            let Last::Name(name, hash, slashes) = last else {
                return Err(Errno::EXIST);
            };
            let mut directory = parent.inode().lock();
            let entry = self.entry(parent.dentry, &directory, name, hash)?;
            if !entry.is_negative() {
                return Err(Errno::EXIST);
            }
            if slashes && !slashes_allowed {
                return Err(Errno::NOENT);
            }
            fill(parent, &mut directory, &entry, name)?;
            Ok(self.path_of(parent, entry))
        })
    }

    /// Makes a node of any kind.
    fn create(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], new: &New<'_>) -> Result<Path<'fs, H, L>, Errno> {
        self.new_name(cx, path, new.kind == Kind::Directory, |parent, directory, entry, name| {
            cx.may(parent.inode(), 3)?;
            let _handle = self.begin_change(Change::Create);
            self.make_inode(entry, directory, name, new)
        })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`] for the way there; `EXIST`, `ACCESS`, `NOSPC`.
    pub fn mkdir(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &[u8], mode: u32) -> Result<Path<'fs, H, L>, Errno> {
        let new = self.new_node(cx, Kind::Directory, mode & 0o1777);
        self.create(cx, path, &new)
    }

    /// Makes a file, pipe, socket or device: the kind is in `mode`, as in `st_mode`.
    ///
    /// # Errors
    /// Those of [`Vfs::mkdir`]; `PERM` for directories and for devices of other users than 0, `INVAL`.
    pub fn mknod(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        mode: u32,
        device: u64,
    ) -> Result<Path<'fs, H, L>, Errno> {
        let kind = Kind::of_mode(mode).ok_or(Errno::INVAL)?;
        match kind {
            Kind::Directory => return Err(Errno::PERM),
            Kind::Symlink => return Err(Errno::INVAL),
            Kind::CharDevice | Kind::BlockDevice if cx.uid != 0 => return Err(Errno::PERM),
            _ => {}
        }
        self.create(cx, path, &New { device, ..self.new_node(cx, kind, mode) })
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
        let new = New { target, permissions: 0o777, ..self.new_node(cx, Kind::Symlink, 0o777) };
        new.check()?; // before the path is looked up
        self.create(cx, path, &new)
    }

    /// Gives what is at `old` another name. A symbolic link at the end of `old` is not followed.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `EXIST`, `PERM` for directories, `XDEV` between mounts, `MLINK`, `ACCESS`.
    pub fn link(&'fs self, cx: &Context<'_, 'fs, H, L>, old: &[u8], new: &[u8]) -> Result<Path<'fs, H, L>, Errno> {
        let old = self.lookup(cx, old, Follow::No)?;
        self.link_path(cx, &old, new)
    }

    /// Gives the file at the path `old` another name.
    ///
    /// # Errors
    /// As [`Vfs::link`]; `NOENT` if it no longer has a name.
    pub fn link_path(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        old: &Path<'fs, H, L>,
        new: &[u8],
    ) -> Result<Path<'fs, H, L>, Errno> {
        self.new_name(cx, new, false, |parent, directory, entry, name| {
            if parent.mount != old.mount {
                return Err(Errno::XDEV);
            }
            cx.may(parent.inode(), 3)?;
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
