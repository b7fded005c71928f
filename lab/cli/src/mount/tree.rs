//! The file system as the server uses it: by nodes and single names, for a caller whose rights the kernel has checked.

use std::sync::Arc;
use turnwise::platform::Native;
use turnwise_vfs::errno::Errno;
use turnwise_vfs::inode::{Kind, New, SetAttributes, Usage};
use turnwise_vfs::{Config, Context, File, LockSet, Metal, OpenFlags, Path, RenameFlags, Stats, Vfs};

/// A file system that lives as long as the process: nodes refer to it, and the FUSE session needs them for ever.
pub(super) struct Tree<L: LockSet<Native>> {
    fs: &'static Vfs<Metal, L>,
    root: Node<L>,
}

/// The kernel's node: something that exists, perhaps without a name.
pub(super) type Node<L> = Path<'static, Metal, L>;

/// Bits of a directory's mode: new nodes in it belong to its group.
const SET_GID: u32 = 0o2000;

impl<L: LockSet<Native>> Tree<L> {
    pub(super) fn new(config: Config) -> Result<Self, Errno> {
        Ok(Tree::of(Box::leak(Box::new(Vfs::new(config)?))))
    }

    /// Wraps a file system that was made elsewhere.
    pub(super) fn of(fs: &'static Vfs<Metal, L>) -> Self {
        Tree { fs, root: fs.root() }
    }

    /// Reads the statistics of this file system.
    pub(super) fn statistics(&self) -> Arc<dyn Fn() -> Stats + Send + Sync> {
        let fs = self.fs;
        Arc::new(move || fs.stats())
    }

    pub(super) fn root(&self) -> Node<L> {
        self.root.clone()
    }

    pub(super) fn usage(&self) -> Usage {
        self.fs.usage()
    }

    /// Returns the context of user 0 at this directory: the caller's rights were checked.
    fn at<'a>(&'a self, directory: &'a Node<L>) -> Context<'a, 'static, Metal, L> {
        Context::new(&self.root, directory)
    }

    /// Makes a new node as user 0 and then gives it to its owner: no process sees it in between, since the kernel has
    /// the directory locked.
    pub(super) fn make(&self, directory: &Node<L>, name: &[u8], new: &New<'_>) -> Result<Node<L>, Errno> {
        let cx = self.at(directory);
        let made = match new.kind {
            Kind::Directory => self.fs.mkdir(&cx, name, new.permissions),
            Kind::Symlink => self.fs.symlink(&cx, new.target, name),
            kind => self.fs.mknod(&cx, name, kind.mode() | new.permissions, new.device),
        }?;
        let inherits = new.kind != Kind::Directory && directory.stat().permissions & SET_GID == 0;
        if new.uid != 0 || new.gid != 0 && inherits || new.kind == Kind::Directory {
            self.give(directory, &made, new)?;
        }
        Ok(made)
    }

    fn give(&self, directory: &Node<L>, made: &Node<L>, new: &New<'_>) -> Result<(), Errno> {
        let of_group = directory.stat().permissions & SET_GID;
        let inherited = if new.kind == Kind::Directory { of_group } else { 0 };
        made.set_attributes(&SetAttributes {
            permissions: Some(new.permissions | inherited),
            uid: Some(new.uid),
            gid: (of_group == 0).then_some(new.gid),
            ..Default::default()
        })
    }

    pub(super) fn unlink(&self, directory: &Node<L>, name: &[u8]) -> Result<(), Errno> {
        self.fs.unlink(&self.at(directory), name)
    }

    pub(super) fn rmdir(&self, directory: &Node<L>, name: &[u8]) -> Result<(), Errno> {
        self.fs.rmdir(&self.at(directory), name)
    }

    pub(super) fn link(&self, node: &Node<L>, directory: &Node<L>, name: &[u8]) -> Result<(), Errno> {
        self.fs.link_path(&self.at(directory), node, name).map(drop)
    }

    pub(super) fn rename(&self, from: (&Node<L>, &[u8]), to: (&Node<L>, &[u8]), flags: u32) -> Result<(), Errno> {
        let flags = RenameFlags::from_bits(flags).ok_or(Errno::INVAL)?;
        self.fs.rename_at(&self.at(from.0), from.1, &self.at(to.0), to.1, flags)
    }

    /// Opens a node for one access, which takes one reference; only the kernel keeps files open.
    fn open(&self, node: &Node<L>, flags: OpenFlags) -> Result<File<'static, Metal, L>, Errno> {
        node.open(&self.at(&self.root), flags)
    }

    pub(super) fn reading(&self, node: &Node<L>) -> Result<File<'static, Metal, L>, Errno> {
        self.open(node, OpenFlags::RDONLY)
    }

    pub(super) fn writing(&self, node: &Node<L>) -> Result<File<'static, Metal, L>, Errno> {
        self.open(node, OpenFlags::WRONLY)
    }
}
