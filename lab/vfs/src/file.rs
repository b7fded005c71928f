//! Open files.

use crate::Errno;
use crate::host::{Host, Work};
use crate::inode::{DirEntry, Kind, Stat};
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::Path;
use rustix::fs::OFlags as OpenFlags;

/// An open file or directory. It keeps its inode, also when its name is removed.
pub struct File<'fs, H: Host, L: LockSet<H::Platform>> {
    path: Path<'fs, H, L>,
    flags: OpenFlags,
}

impl<'fs, H: Host, L: LockSet<H::Platform>> File<'fs, H, L> {
    pub(crate) fn new(path: Path<'fs, H, L>, flags: OpenFlags) -> Self {
        File { path, flags }
    }

    /// Opens what is there; with `TRUNC`, empties it.
    pub(crate) fn open(path: Path<'fs, H, L>, flags: OpenFlags) -> Result<Self, Errno> {
        let kind = path.inode().kind();
        let file = File { path, flags };
        match kind {
            Kind::File => {}
            Kind::Directory if file.writes() || flags.intersects(OpenFlags::TRUNC | OpenFlags::CREATE) => {
                return Err(Errno::ISDIR);
            }
            Kind::Directory => {}
            Kind::Symlink => return Err(Errno::LOOP),
            Kind::Fifo => return Err(Errno::NXIO), // there is no pipe behind the node
        }
        file.path.dentry().charge_look(); // may the user?
        if flags.contains(OpenFlags::TRUNC) {
            file.path.fs.empty(file.path.inode())?;
        }
        Ok(file)
    }

    fn reads(&self) -> bool {
        !self.flags.contains(OpenFlags::WRONLY)
    }

    fn writes(&self) -> bool {
        self.flags.intersects(OpenFlags::WRONLY | OpenFlags::RDWR)
    }

    /// Returns the path by which it was opened.
    pub fn path(&self) -> &Path<'fs, H, L> {
        &self.path
    }

    /// Copies bytes out; returns how many there were before the end of the file.
    ///
    /// # Errors
    /// `BADF` if it is open for writing only, `ISDIR`, `INVAL` for anything but a file.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        H::charge(Work::Call);
        if !self.reads() {
            return Err(Errno::BADF);
        }
        self.path.inode().read(offset, into)
    }

    /// Copies bytes in, under the file's lock and, inside that, in a handle of the journal; returns how many found
    /// room.
    ///
    /// # Errors
    /// `BADF` if it is open for reading only; `NOSPC`, `FBIG`.
    pub fn write(&self, offset: u64, from: &[u8]) -> Result<usize, Errno> {
        H::charge(Work::Call);
        if !self.writes() {
            return Err(Errno::BADF);
        }
        let fs = self.path.fs;
        let mut file = self.path.inode().lock();
        let _handle = fs.begin_change(Change::Write);
        file.write(&fs.dcache.space, offset, from)
    }

    /// Returns the attributes, as `fstat` does.
    pub fn stat(&self) -> Stat {
        self.path.stat()
    }

    /// Does nothing: all is in memory.
    pub fn sync(&self) {
        H::charge(Work::Call);
    }

    /// Shows the entries of a directory from a cursor on, `.` and `..` first, until `show` returns that it has enough.
    /// A cursor is 0, or an entry's `next`; it stays valid whatever comes and goes.
    ///
    /// # Errors
    /// `NOTDIR`; `NOENT` if the directory was removed.
    pub fn readdir(&self, cursor: u64, show: impl FnMut(DirEntry<'_>) -> bool) -> Result<(), Errno> {
        H::charge(Work::Call);
        let parent = self.path.fs.dcache.parent_number(self.path.dentry());
        self.path.inode().lock().read_entries(cursor, parent, show)
    }
}
