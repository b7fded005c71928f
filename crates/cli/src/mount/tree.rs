//! The file system as the server uses it (for now on inodes alone).

use std::ptr::NonNull;
use turnwise::platform::Native;
use turnwise_vfs::LockSet;
use turnwise_vfs::errno::Errno;
use turnwise_vfs::host::{Host, Metal};
use turnwise_vfs::inode::{DirEntry, Inode, Kind, New, Seek, SetAttributes, Space, Stat, Usage};

pub(super) struct Tree<L: LockSet<Native>> {
    space: &'static Space<Native>,
    root: Node<L>,
}

pub(super) struct Node<L: LockSet<Native>> {
    at: NonNull<Inode<Metal, L>>,
    space: &'static Space<Native>,
}
unsafe impl<L: LockSet<Native>> Send for Node<L> {}
unsafe impl<L: LockSet<Native>> Sync for Node<L> {}

impl<L: LockSet<Native>> Clone for Node<L> {
    fn clone(&self) -> Self {
        self.inode().get();
        Node { at: self.at, space: self.space }
    }
}
impl<L: LockSet<Native>> Drop for Node<L> {
    fn drop(&mut self) {
        unsafe { Inode::put(self.at, self.space, &Metal::pin()) }
    }
}

impl<L: LockSet<Native>> Node<L> {
    fn inode(&self) -> &Inode<Metal, L> {
        unsafe { self.at.as_ref() }
    }
    pub(super) fn stat(&self) -> Stat {
        self.inode().stat()
    }
    pub(super) fn target(&self) -> Result<Vec<u8>, Errno> {
        self.inode().target().map(<[u8]>::to_vec)
    }
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.inode().read(offset, into)
    }
    pub(super) fn seek(&self, offset: u64, to: Seek) -> Result<u64, Errno> {
        self.inode().seek(offset, to)
    }
}

impl<L: LockSet<Native>> Tree<L> {
    pub(super) fn new(data_bytes: Option<u64>, max_inodes: Option<u64>) -> Self {
        let space: &'static Space<Native> = Box::leak(Box::new(Space::new(data_bytes, max_inodes)));
        let at = Inode::root(space, 0o755, 0, 0).expect("room");
        Tree { space, root: Node { at, space } }
    }
    pub(super) fn root(&self) -> Node<L> {
        self.root.clone()
    }
    pub(super) fn usage(&self) -> Usage {
        self.space.usage()
    }
    pub(super) fn child(&self, directory: &Node<L>, name: &[u8]) -> Result<Node<L>, Errno> {
        let locked = directory.inode().lock();
        let at = locked.find(name)?.ok_or(Errno::NOENT)?;
        unsafe { at.as_ref() }.get();
        Ok(Node { at, space: self.space })
    }
    pub(super) fn make(&self, directory: &Node<L>, name: &[u8], new: &New<'_>) -> Result<Node<L>, Errno> {
        let mut locked = directory.inode().lock();
        locked.may_insert(name)?;
        let at = locked.create(self.space, new)?;
        let child = unsafe { at.as_ref() };
        child.get();
        locked.insert(name, child)?;
        Ok(Node { at, space: self.space })
    }
    pub(super) fn unlink(&self, directory: &Node<L>, name: &[u8]) -> Result<(), Errno> {
        let mut locked = directory.inode().lock();
        let at = locked.find(name)?.ok_or(Errno::NOENT)?;
        if unsafe { at.as_ref() }.kind() == Kind::Directory {
            return Err(Errno::ISDIR);
        }
        let at = locked.remove(name)?;
        unsafe { at.as_ref() }.drop_link();
        drop(Node { at, space: self.space });
        Ok(())
    }
    pub(super) fn rmdir(&self, directory: &Node<L>, name: &[u8]) -> Result<(), Errno> {
        let mut locked = directory.inode().lock();
        let at = locked.find(name)?.ok_or(Errno::NOENT)?;
        unsafe { at.as_ref() }.lock().kill_directory()?;
        let at = locked.remove(name)?;
        drop(Node { at, space: self.space });
        Ok(())
    }
    pub(super) fn link(&self, node: &Node<L>, directory: &Node<L>, name: &[u8]) -> Result<(), Errno> {
        let mut locked = directory.inode().lock();
        locked.may_insert(name)?;
        node.inode().add_link()?;
        node.inode().get();
        locked.insert(name, node.inode())
    }
    pub(super) fn rename(&self, from: (&Node<L>, &[u8]), to: (&Node<L>, &[u8]), flags: u32) -> Result<(), Errno> {
        if flags != 0 && flags != 1 {
            return Err(Errno::INVAL);
        }
        let moved = self.child(from.0, from.1)?;
        if let Ok(old) = self.child(to.0, to.1) {
            if flags == 1 {
                return Err(Errno::EXIST);
            }
            if old.at == moved.at {
                return Ok(());
            }
            if old.inode().kind() == Kind::Directory { self.rmdir(to.0, to.1)? } else { self.unlink(to.0, to.1)? }
        }
        let at = from.0.inode().lock().remove(from.1)?;
        to.0.inode().lock().insert(to.1, unsafe { at.as_ref() })
    }
    pub(super) fn set_attributes(&self, node: &Node<L>, wanted: &SetAttributes) -> Result<(), Errno> {
        node.inode().lock().set_attributes(self.space, wanted)
    }
    pub(super) fn write(&self, node: &Node<L>, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        node.inode().write(self.space, offset, data)
    }
    pub(super) fn allocate(&self, node: &Node<L>, offset: u64, len: u64, keep: bool) -> Result<(), Errno> {
        node.inode().lock().allocate_range(self.space, offset, len, keep)
    }
    pub(super) fn punch(&self, node: &Node<L>, offset: u64, len: u64) -> Result<(), Errno> {
        node.inode().lock().punch_hole(self.space, offset, len)
    }
    pub(super) fn entries(
        &self,
        directory: &Node<L>,
        cursor: u64,
        show: impl FnMut(DirEntry<'_>) -> bool,
    ) -> Result<(), Errno> {
        directory.inode().lock().read_entries(cursor, 1, show)
    }
}
