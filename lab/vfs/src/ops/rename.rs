//! Rename: within a directory, across directories, over a target, and exchange of two names.
//!
//! Across directories the file system's rename mutex comes first, so that ancestry stays fixed; then the two
//! directories' locks, an ancestor before its descendant, else by number; then a directory that is replaced.

use super::{Ref, call};
use crate::Vfs;
use crate::errno::Errno;
use crate::host::Host;
use crate::inode::Locked;
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::{Context, Path};
use crate::walk::Last;
use rustix::fs::RenameFlags;
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
    cx: &'a Context<'a, 'fs, H, L>,
    from: &'a Path<'fs, H, L>,
    from_name: Name<'a>,
    to: &'a Path<'fs, H, L>,
    to_name: Name<'a>,
    flags: RenameFlags,
}

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Renames what is at `old` to `new`, replacing the former owner of that name.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`]; `XDEV` between mounts, `INVAL` into itself, `NOTEMPTY`, `ISDIR`, `NOTDIR`, `BUSY` for
    /// `.`, `..` and mount points, `EXIST` with `NOREPLACE`, `ACCESS`, `PERM`; `INVAL` for incompatible flags.
    pub fn rename(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        old: &[u8],
        new: &[u8],
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        self.rename_at(cx, old, cx, new, flags)
    }

    /// Renames with a context for either path, which may differ in where relative paths begin. The first decides what
    /// the user may do.
    ///
    /// # Errors
    /// As [`Vfs::rename`].
    pub fn rename_at(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        old: &[u8],
        new_cx: &Context<'_, 'fs, H, L>,
        new: &[u8],
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        call::<H>();
        let known = RenameFlags::NOREPLACE | RenameFlags::EXCHANGE;
        if !known.contains(flags) || flags == known {
            return Err(Errno::INVAL);
        }
        self.with_parent(cx, old, |from, old| {
            self.with_parent(new_cx, new, |to, new| {
                if from.mount != to.mount {
                    return Err(Errno::XDEV);
                }
                let from_name = Name::of(old)?;
                let noreplace = flags.contains(RenameFlags::NOREPLACE);
                let to_name = Name::of(new).map_err(|busy| if noreplace { Errno::EXIST } else { busy })?;
                self.rename_locked(&Renaming { cx, from, from_name, to, to_name, flags })
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
        if moved.is_negative() {
            return Err(Errno::NOENT);
        }
        let over = self.entry(job.to.dentry, locks.in_to(), job.to_name.bytes, job.to_name.hash)?;
        self.check_rename(job, &moved, &over)?;
        if moved.inode().map(|inode| inode.number()) == over.inode().map(|inode| inode.number()) {
            return Ok(()); // two names of one file: both stay
        }
        if job.flags.contains(RenameFlags::EXCHANGE) {
            let _handle = self.begin_change(Change::Rename);
            return self.exchange(job, &mut locks, &moved, &over);
        }
        let mut victim = over.inode().filter(|_| over.is_directory()).map(|directory| directory.lock());
        if let Some(victim) = &victim {
            if over.dentry().mounted().is_some() {
                return Err(Errno::BUSY); // under its lock, which a thread that mounts something has too
            }
            if !victim.is_empty()? {
                return Err(Errno::NOTEMPTY);
            }
        }
        let _handle = self.begin_change(Change::Rename);
        self.replace(job, &mut locks, &moved, &over, victim.as_mut())
    }

    fn check_rename(
        &self,
        job: &Renaming<'_, 'fs, H, L>,
        moved: &Ref<'_, H, L>,
        over: &Ref<'_, H, L>,
    ) -> Result<(), Errno> {
        let exchange = job.flags.contains(RenameFlags::EXCHANGE);
        if exchange && over.is_negative() {
            return Err(Errno::NOENT);
        }
        if job.flags.contains(RenameFlags::NOREPLACE) && !over.is_negative() {
            return Err(Errno::EXIST);
        }
        let slashes = job.from_name.slashes || !exchange && job.to_name.slashes;
        if slashes && !moved.is_directory() || exchange && job.to_name.slashes && !over.is_directory() {
            return Err(Errno::NOTDIR);
        }
        // Within one directory nothing can come below itself.
        if job.from.dentry != job.to.dentry {
            if self.dcache.is_below(job.to.dentry, moved.at) {
                return Err(Errno::INVAL);
            }
            if self.dcache.is_below(job.from.dentry, over.at) {
                return Err(if exchange { Errno::INVAL } else { Errno::NOTEMPTY });
            }
        }
        if let Some(inode) = moved.inode() {
            job.cx.may_remove(job.from.inode(), inode)?;
            if moved.is_directory() && job.from.dentry != job.to.dentry {
                job.cx.may(inode, 2)?; // its `..` changes
            }
        }
        match over.inode() {
            Some(inode) => job.cx.may_remove(job.to.inode(), inode)?,
            None => job.cx.may(job.to.inode(), 3)?,
        }
        if !exchange && !over.is_negative() {
            match (moved.is_directory(), over.is_directory()) {
                (true, false) => return Err(Errno::NOTDIR),
                (false, true) => return Err(Errno::ISDIR),
                _ => {}
            }
        }
        let mounted = |entry: &Ref<'_, H, L>| entry.dentry().mounted().is_some();
        if mounted(moved) || mounted(over) { Err(Errno::BUSY) } else { Ok(()) }
    }

    /// Removes the old name; the new one means what the old one meant.
    fn replace(
        &self,
        job: &Renaming<'_, 'fs, H, L>,
        locks: &mut Locks<'_, H, L>,
        moved: &Ref<'_, H, L>,
        over: &Ref<'_, H, L>,
        directory: Option<&mut Locked<'_, H, L>>,
    ) -> Result<(), Errno> {
        let (old, new) = (job.from_name.bytes, job.to_name.bytes);
        let inode = moved.inode().ok_or(Errno::NOENT)?;
        if let Some(victim) = over.inode() {
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
        self.dcache.rename(moved.at, (job.to.dentry, job.to_name.hash, new), Some(over.at));
        Ok(())
    }

    /// Exchanges the two names: each means what the other one meant.
    fn exchange(
        &self,
        job: &Renaming<'_, 'fs, H, L>,
        locks: &mut Locks<'_, H, L>,
        a: &Ref<'_, H, L>,
        b: &Ref<'_, H, L>,
    ) -> Result<(), Errno> {
        let (Some(in_a), Some(in_b)) = (a.inode(), b.inode()) else {
            return Err(Errno::NOENT);
        };
        in_b.get();
        let of_a = locks.from.replace(job.from_name.bytes, in_b)?; // the reference of its entry is ours now
        in_a.get();
        let of_b = locks.to().replace(job.to_name.bytes, in_a)?;
        in_a.renamed();
        in_b.renamed();
        self.dcache.exchange(a.at, b.at);
        // SAFETY: contract of `put_inode`: the references of the two entries that were replaced; the dentries have
        // theirs.
        unsafe {
            self.put_inode(of_a);
            self.put_inode(of_b);
        }
        Ok(())
    }
}
