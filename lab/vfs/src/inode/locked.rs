//! A locked inode: everything that changes it, and a directory's entries.

use super::attributes::Kind;
use super::directory::{DirEntry, Directory, check_name};
use super::space::Space;
use super::{Body, Inode, New};
use crate::Errno;
use crate::host::{Host, Work};
use crate::locks::LockSet;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::LockGuard;
use turnwise::platform::{IntWord, Platform, Word};

/// An inode whose `i_mutex` is held. The lock order is: file system's rename lock, directory, its entry, data.
pub struct Locked<'a, H: Host, L: LockSet<H::Platform>> {
    inode: &'a Inode<H, L>,
    _mutex: LockGuard<'a, L::Mutex, ()>,
}

impl<H: Host, L: LockSet<H::Platform>> Deref for Locked<'_, H, L> {
    type Target = Inode<H, L>;

    fn deref(&self) -> &Inode<H, L> {
        self.inode
    }
}

impl<H: Host, L: LockSet<H::Platform>> Inode<H, L> {
    /// Waits for its lock.
    pub fn lock(&self) -> Locked<'_, H, L> {
        Locked { inode: self, _mutex: self.mutex.0.lock() }
    }
}

impl<H: Host, L: LockSet<H::Platform>> Locked<'_, H, L> {
    fn directory(&self) -> Result<&Directory<H, L>, Errno> {
        match &self.inode.body {
            // SAFETY: only read and written under the inode's lock, which we hold for as long as `self` is borrowed.
            Body::Directory(directory) => Ok(unsafe { &*directory.get() }),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn directory_mut(&mut self) -> Result<&mut Directory<H, L>, Errno> {
        match &self.inode.body {
            // SAFETY: we hold the inode's lock, and the exclusive borrow of `self` rules other borrows out.
            Body::Directory(directory) => Ok(unsafe { &mut *directory.get() }),
            _ => Err(Errno::NOTDIR),
        }
    }

    /// Creates a new inode for this directory. The caller gets one reference, for the entry that it will make, and a
    /// link count that includes this entry.
    ///
    /// # Errors
    /// `NOTDIR`, `NOENT` if the directory was removed, `NAMETOOLONG` and `NOENT` for a symbolic link's target.
    pub fn create(&mut self, space: &Space<H::Platform>, new: &New<'_>) -> Result<NonNull<Inode<H, L>>, Errno> {
        new.check()?;
        if self.is_removed() {
            return Err(Errno::NOENT);
        }
        let number = self.directory_mut()?.number(space);
        // The kernel looks whether the directory passes its group on (`inode_init_owner`); here there is one group.
        let permissions = &self.inode.words.permissions;
        H::Platform::touch(std::ptr::from_ref(permissions).cast(), size_of_val(permissions), false);
        Ok(Inode::allocate(space, number, new))
    }

    /// Returns the inode of this name; its reference stays the directory's.
    ///
    /// # Errors
    /// `NOTDIR`, `NAMETOOLONG`.
    pub fn find(&self, name: &[u8]) -> Result<Option<NonNull<Inode<H, L>>>, Errno> {
        let directory = self.directory()?;
        check_name(name)?;
        H::charge(Work::DirectoryEntry);
        Ok(directory.find(name))
    }

    /// Checks that [`Locked::insert`] of this name would succeed.
    ///
    /// # Errors
    /// `NOTDIR`, `NAMETOOLONG`, `EXIST`; `NOENT` if the directory was removed.
    pub fn may_insert(&self, name: &[u8]) -> Result<(), Errno> {
        match self.find(name)? {
            _ if self.is_removed() => Err(Errno::NOENT),
            Some(_) => Err(Errno::EXIST),
            None => Ok(()),
        }
    }

    /// Makes an entry, which takes over one reference of the caller's. If the inode is a directory, its `..` counts as
    /// a link of this one.
    ///
    /// # Errors
    /// As [`Locked::may_insert`]; the reference stays the caller's.
    pub fn insert(&mut self, name: &[u8], child: &Inode<H, L>) -> Result<(), Errno> {
        self.may_insert(name)?;
        H::charge(Work::DirectoryEntry);
        self.directory_mut()?.insert(name, NonNull::from(child));
        self.entries_changed(1, u32::from(child.kind == Kind::Directory), 0);
        Ok(())
    }

    /// Removes an entry; its reference is now the caller's. The caller handles the link counts of the inode itself.
    ///
    /// # Errors
    /// `NOTDIR`, `NAMETOOLONG`, `NOENT`.
    pub fn remove(&mut self, name: &[u8]) -> Result<NonNull<Inode<H, L>>, Errno> {
        check_name(name)?;
        H::charge(Work::DirectoryEntry);
        let child = self.directory_mut()?.remove(name).ok_or(Errno::NOENT)?;
        // SAFETY: its reference is ours.
        let kind = unsafe { child.as_ref() }.kind;
        self.entries_changed(-1, 0, u32::from(kind == Kind::Directory));
        Ok(child)
    }

    /// Updates sizes as the kernel's tmpfs does: 20 bytes for each entry.
    fn entries_changed(&self, entries: i64, more_links: u32, fewer_links: u32) {
        const ENTRY_BYTES: i64 = 20;
        let words = &self.inode.words;
        let size = words.size.load(Relaxed).wrapping_add_signed(entries * ENTRY_BYTES);
        words.size.store(size, Relaxed);
        match (more_links, fewer_links) {
            (0, 0) => {}
            (more, 0) => drop(words.links.fetch_add(more, Relaxed)),
            (_, fewer) => drop(words.links.fetch_sub(fewer, Relaxed)),
        }
        words.touch_modified();
    }

    /// Returns whether it is a directory without entries.
    ///
    /// # Errors
    /// `NOTDIR`.
    pub fn is_empty(&self) -> Result<bool, Errno> {
        Ok(self.directory()?.is_empty())
    }

    /// Returns whether it was removed: it has no name any more, and if it is a directory it gets no entries.
    pub fn is_removed(&self) -> bool {
        self.inode.words.links.load(Relaxed) == 0
    }

    /// Kills a directory that is about to be removed: nothing can be made in it from now on. It no longer counts as one
    /// of the file system's inodes, however long a process stays in it, or the cache remembers names below it.
    ///
    /// # Errors
    /// `NOTDIR`, `NOTEMPTY`.
    pub fn kill_directory(&mut self, space: &Space<H::Platform>) -> Result<(), Errno> {
        if !self.is_empty()? {
            return Err(Errno::NOTEMPTY);
        }
        self.inode.words.links.store(0, Relaxed);
        space.inodes.give(self.number, 1);
        self.inode.words.touch_changed();
        Ok(())
    }

    /// Shows the entries from a cursor on, `.` and `..` first, until `show` returns that it has enough. A cursor is 0,
    /// or an entry's `next`; it stays valid whatever comes and goes.
    ///
    /// # Errors
    /// `NOTDIR`; `NOENT` if the directory was removed.
    pub fn read_entries(&self, cursor: u64, parent: u64, show: impl FnMut(DirEntry<'_>) -> bool) -> Result<(), Errno> {
        let directory = self.directory()?;
        if self.is_removed() {
            return Err(Errno::NOENT);
        }
        directory.read(cursor, self.inode.number, parent, show);
        self.inode.words.touch_accessed();
        Ok(())
    }
}
