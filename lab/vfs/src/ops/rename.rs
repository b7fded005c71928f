//! Rename: within a directory, across directories, and over a target.
//!
//! Across directories the file system's rename mutex comes first, so that ancestry stays fixed; then the two
//! directories' locks, an ancestor before its descendant, else by number; then a directory that is replaced.

use super::call;
use crate::Errno;
use crate::Vfs;
use crate::host::Host;
use crate::inode::Locked;
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::{Context, Path};
use crate::walk::Last;
use turnwise::LockGuard;

/// A name in a directory.
#[derive(Clone, Copy)]
struct Name<'n> {
    bytes: &'n [u8],
    hash: u64,
    slashes: bool,
}

impl<'n> Name<'n> {
    fn of(last: Last<'n>) -> Result<Name<'n>, Errno> {
        match last {
            Last::Name(bytes, hash, slashes) => Ok(Name { bytes, hash, slashes }),
            _ => Err(Errno::BUSY),
        }
    }
}

/// The locks of one or two directories. Fields are dropped in order; the mutex is released last.
struct Locks<'a, H: Host, L: LockSet<H::Platform>> {
    from: Locked<'a, H, L>,
    /// `None`: the same.
    to: Option<Locked<'a, H, L>>,
    _renames: Option<LockGuard<'a, L::Mutex, ()>>,
}

impl<'a, H: Host, L: LockSet<H::Platform>> Locks<'a, H, L> {
    fn to(&mut self) -> &mut Locked<'a, H, L> {
        self.to.as_mut().unwrap_or(&mut self.from)
    }

    fn in_to(&self) -> &Locked<'a, H, L> {
        self.to.as_ref().unwrap_or(&self.from)
    }
}

/// The subject of a rename.
struct Renaming<'a, 'fs, H: Host, L: LockSet<H::Platform>> {
    from: &'a Path<'fs, H, L>,
    from_name: Name<'a>,
    to: &'a Path<'fs, H, L>,
    to_name: Name<'a>,
}

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Renames what is at `old` to `new`, replacing the former owner of that name.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `INVAL` into itself, `NOTEMPTY`, `ISDIR`, `NOTDIR`, `BUSY` for `.` and `..`.
    pub fn rename(&'fs self, cx: &Context<'_, 'fs, H, L>, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        call::<H>();
        self.with_parent(cx, old, |from, old| {
            self.with_parent(cx, new, |to, new| {
                let (from_name, to_name) = (Name::of(old)?, Name::of(new)?);
                self.rename_locked(&Renaming { from, from_name, to, to_name })
            })
        })
    }

    fn lock_both<'a>(&'a self, from: &'a Path<'fs, H, L>, to: &'a Path<'fs, H, L>) -> Locks<'a, H, L> {
        let (in_from, in_to) = (from.inode(), to.inode());
        if from.dentry == to.dentry {
            return Locks { from: in_from.lock(), to: None, _renames: None };
        }
        let renames = Some(self.rename_mutex.lock());
        let to_first = self.dcache.is_below(from.dentry, to.dentry)
            || !self.dcache.is_below(to.dentry, from.dentry) && in_to.number() < in_from.number();
        if to_first {
            let to = Some(in_to.lock());
            return Locks { from: in_from.lock(), to, _renames: renames };
        }
        let from = in_from.lock();
        Locks { from, to: Some(in_to.lock()), _renames: renames }
    }

    fn rename_locked(&'fs self, job: &Renaming<'_, 'fs, H, L>) -> Result<(), Errno> {
        let mut locks = self.lock_both(job.from, job.to);
        let moved = self.entry(job.from.dentry, &locks.from, job.from_name.bytes, job.from_name.hash)?;
        if moved.dentry().is_negative() {
            return Err(Errno::NOENT);
        }
        let over = self.entry(job.to.dentry, locks.in_to(), job.to_name.bytes, job.to_name.hash)?;
        self.check_rename(job, &moved, &over)?;
        let replaced = over.dentry().inode();
        if replaced.is_some_and(|inode| inode.number() == moved.inode_number()) {
            return Ok(()); // two names of one file: both stay
        }
        let mut victim = replaced.filter(|_| over.dentry().is_directory()).map(|directory| directory.lock());
        if let Some(victim) = &victim
            && !victim.is_empty()?
        {
            return Err(Errno::NOTEMPTY);
        }
        let _handle = self.begin_change(Change::Rename);
        self.replace(job, &mut locks, &moved, &over, victim.as_mut())
    }

    fn check_rename(
        &self,
        job: &Renaming<'_, 'fs, H, L>,
        moved: &Path<'fs, H, L>,
        over: &Path<'fs, H, L>,
    ) -> Result<(), Errno> {
        if (job.from_name.slashes || job.to_name.slashes) && !moved.dentry().is_directory() {
            return Err(Errno::NOTDIR);
        }
        // Within one directory nothing can come below itself.
        if job.from.dentry != job.to.dentry {
            if self.dcache.is_below(job.to.dentry, moved.dentry) {
                return Err(Errno::INVAL);
            }
            if self.dcache.is_below(job.from.dentry, over.dentry) {
                return Err(Errno::NOTEMPTY);
            }
        }
        match (moved.dentry().is_directory(), over.dentry().is_directory()) {
            _ if over.dentry().is_negative() => Ok(()),
            (true, false) => Err(Errno::NOTDIR),
            (false, true) => Err(Errno::ISDIR),
            _ => Ok(()),
        }
    }

    /// Removes the old name; the new one means what the old one meant.
    fn replace(
        &self,
        job: &Renaming<'_, 'fs, H, L>,
        locks: &mut Locks<'_, H, L>,
        moved: &Path<'fs, H, L>,
        over: &Path<'fs, H, L>,
        directory: Option<&mut Locked<'_, H, L>>,
    ) -> Result<(), Errno> {
        let (old, new) = (job.from_name.bytes, job.to_name.bytes);
        let inode = moved.inode();
        if let Some(victim) = over.dentry().inode() {
            match directory {
                Some(directory) => directory.kill_directory(&self.dcache.space)?,
                None => victim.drop_link(),
            }
            let removed = locks.to().remove(new)?;
            // SAFETY: contract of `put_inode`: the reference that the directory had; the dentry still has one.
            unsafe { self.put_inode(removed) };
        } else {
            locks.to().may_insert(new)?;
        }
        locks.from.remove(old)?; // its reference goes with it
        locks.to().insert(new, inode)?;
        inode.renamed();
        self.dcache.rename(moved.dentry, (job.to.dentry, job.to_name.hash, new), over.dentry);
        Ok(())
    }
}
