//! Inodes: files, directories, symbolic links and named pipes, apart from their names.
//!
//! An inode is counted: by the directory entries and by the dentries that point to it. It is opened through a dentry.
//! Its words are read without a lock; changes are made under its lock (`i_mutex`), which [`Locked`] proves. A file's
//! pages have a lock of their own below that one, which readers share.
//!
//! Data, entries and targets lie in ordinary memory; contended locks and words lie in the inode.

mod attributes;
mod directory;
mod file;
mod locked;
mod pages;
mod space;

pub use attributes::{Kind, Stat};
pub use directory::{DirEntry, NAME_MAX};
pub use file::FILE_BYTES_MAX;
pub use locked::Locked;
pub use space::{PAGE_BYTES, Space, Usage};

use crate::Errno;
use crate::host::Host;
use crate::locks::LockSet;
use attributes::Words;
use directory::Directory;
use file::Data;
use pages::Pages;
use space::Line;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::Lock;
use turnwise::platform::{IntWord, Platform, Word};

/// Bytes that a symbolic link's target may have.
pub const TARGET_MAX: usize = 4095;

/// Names that an inode may have.
pub const LINKS_MAX: u32 = i32::MAX as u32;

/// A file, a directory, or another node. Lines: the constant words and those that `stat` reads; the lock; the count and
/// the data's lock. The words lie as they do behind a kernel's inode, which has a device's number, too.
#[repr(C, align(64))]
pub struct Inode<H: Host, L: LockSet<H::Platform>> {
    number: u64,
    _device: u64,
    kind: Kind,
    words: Words<H::Platform>,
    mutex: Line<Lock<L::Mutex, ()>>,
    references: Line<<H::Platform as Platform>::U64>,
    /// The inode itself, as it was allocated: its memory cannot be given back by a pointer that was a reference.
    own: <H::Platform as Platform>::Ptr<Inode<H, L>>,
    body: Body<H, L>,
}

enum Body<H: Host, L: LockSet<H::Platform>> {
    File(Data<L::RwSem>),
    Directory(UnsafeCell<Directory<H, L>>),
    Symlink(Box<[u8]>),
    Fifo,
}

// SAFETY: the cells inside are read and written under the inode's lock or the data's; the pointers in directories own
// references to inodes, which are `Send` and `Sync` themselves.
unsafe impl<H: Host, L: LockSet<H::Platform>> Sync for Inode<H, L> {}
// SAFETY: nothing in an inode belongs to one thread, and its cells are reached under locks.
unsafe impl<H: Host, L: LockSet<H::Platform>> Send for Inode<H, L> {}

/// The properties of a new inode.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// The kind of the inode.
    pub kind: Kind,
    /// Its permission bits.
    pub permissions: u32,
    /// For a symbolic link: where it leads.
    pub target: &'a [u8],
}

impl New<'_> {
    /// Checks that there can be such an inode.
    pub(crate) fn check(&self) -> Result<(), Errno> {
        match self.target.len() {
            0 if self.kind == Kind::Symlink => Err(Errno::NOENT),
            len if len > TARGET_MAX => Err(Errno::NAMETOOLONG),
            _ => Ok(()),
        }
    }

    fn size(&self) -> u64 {
        if self.kind == Kind::Symlink { self.target.len() as u64 } else { 0 }
    }
}

impl<H: Host, L: LockSet<H::Platform>> Inode<H, L> {
    /// Creates the first directory of a file system, with one reference, the caller's.
    pub fn root(space: &Space<H::Platform>) -> NonNull<Self> {
        Self::allocate(space, space.numbers(), &New { kind: Kind::Directory, permissions: 0o755, target: &[] })
    }

    fn allocate(space: &Space<H::Platform>, number: u64, new: &New<'_>) -> NonNull<Self> {
        space.inodes.take(number, 1);
        let body = match new.kind {
            Kind::File => Body::File(Data::new_in(Pages::default())),
            Kind::Directory => Body::Directory(UnsafeCell::new(Directory::new())),
            Kind::Symlink => Body::Symlink(new.target.into()),
            Kind::Fifo => Body::Fifo,
        };
        let links = if new.kind == Kind::Directory { 2 } else { 1 };
        let at: NonNull<Self> = H::allocate(Inode {
            number,
            _device: 0,
            kind: new.kind,
            words: Words::new(new.permissions, links, new.size()),
            mutex: Line(Lock::new_in(())),
            references: Line(IntWordOf::<H>::new(1)),
            own: Word::new(std::ptr::null_mut()),
            body,
        });
        // SAFETY: just allocated.
        unsafe { at.as_ref() }.own.store(at.as_ptr(), Relaxed);
        at
    }

    /// Returns its number: unique in its file system, and never given out again.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the kind of the inode.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the attributes, as `stat` does.
    pub fn stat(&self) -> Stat {
        self.words.stat(self.number, self.kind)
    }

    /// Checks that this directory takes new names, as the kernel does (`may_create`), which reads its owner and
    /// permissions for it; here all users are root.
    ///
    /// # Errors
    /// `NOENT` if it was removed.
    pub fn may_create(&self) -> Result<(), Errno> {
        if self.stat().links == 0 { Err(Errno::NOENT) } else { Ok(()) }
    }

    /// Returns where a symbolic link leads.
    ///
    /// # Errors
    /// `INVAL` if it is not a symbolic link.
    pub fn target(&self) -> Result<&[u8], Errno> {
        match &self.body {
            Body::Symlink(target) => Ok(target),
            _ => Err(Errno::INVAL),
        }
    }

    /// Adds a name.
    ///
    /// # Errors
    /// `NOENT` if it has none left: an inode that lost its last name gets no new one. `MLINK` if it has too many.
    /// `PERM` for directories.
    pub fn add_link(&self) -> Result<(), Errno> {
        if self.kind == Kind::Directory {
            return Err(Errno::PERM);
        }
        let mut seen = self.words.links.load(Relaxed);
        loop {
            match seen {
                0 => return Err(Errno::NOENT),
                LINKS_MAX.. => return Err(Errno::MLINK),
                _ => {}
            }
            match self.words.links.compare_exchange(seen, seen + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) => seen = found,
            }
        }
        self.words.touch_changed();
        Ok(())
    }

    /// Drops a name. Not for directories: see [`Locked::kill_directory`].
    pub fn drop_link(&self) {
        self.words.links.fetch_sub(1, Relaxed);
        self.words.touch_changed();
    }

    /// Notes a rename: this is a change of the inode, as in most file systems.
    pub fn renamed(&self) {
        self.words.touch_changed();
    }

    /// Adds a reference. The caller has one, or holds the lock of a directory that has.
    pub fn get(&self) {
        self.references.0.fetch_add(1, Relaxed);
    }

    /// Drops a reference. The last one gives the inode back to its file system, and with it everything below, if it is
    /// a directory that still has entries (when a file system ends).
    ///
    /// # Safety
    /// The caller owns a reference, and does not use it any more.
    pub unsafe fn put(at: NonNull<Self>, space: &Space<H::Platform>, pin: &H::Pin) {
        let mut dead = Vec::new();
        // SAFETY: guaranteed by the caller.
        unsafe { Self::put_one(at, space, pin, &mut dead) };
        while let Some(at) = dead.pop() {
            // SAFETY: the entry it came from owned a reference.
            unsafe { Self::put_one(at, space, pin, &mut dead) };
        }
    }

    /// # Safety
    /// As [`Inode::put`]. The entries' references of a directory that is gone are in `below`.
    unsafe fn put_one(at: NonNull<Self>, space: &Space<H::Platform>, pin: &H::Pin, below: &mut Vec<NonNull<Self>>) {
        // SAFETY: the caller owns a reference.
        let inode = unsafe { at.as_ref() };
        // ORDERING inode.references: what was done with the inode comes before its end. Partner: the fence below.
        if inode.references.0.fetch_sub(1, Release) != 1 {
            return;
        }
        // ORDERING inode.references: the last one sees what all others did. Partner: the decrement above.
        <H::Platform as Platform>::U32::fence(Acquire);
        inode.give_pages_back(space);
        let killed = inode.kind == Kind::Directory && inode.words.links.load(Relaxed) == 0;
        if !killed {
            space.inodes.give(inode.number, 1);
        }
        if let Body::Directory(directory) = &inode.body {
            // SAFETY: there is no reference, so no thread can lock it.
            below.extend(unsafe { &mut *directory.get() }.drain());
        }
        // SAFETY: from `allocate`; later pins find no pointer to it, since every one was counted.
        unsafe { H::retire(pin, NonNull::new_unchecked(inode.own.load(Relaxed))) };
    }
}

/// The platform's 64-bit word.
type IntWordOf<H> = <<H as Host>::Platform as Platform>::U64;

#[cfg(test)]
mod tests;
