//! Open files.

use crate::errno::Errno;
use crate::host::{Host, Work};
use crate::inode::{DirEntry, Kind, Locked, Seek, Space, Stat};
use crate::journal::Change;
use crate::locks::LockSet;
use crate::path::{Context, Path};
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

    /// Opens what is there, if the user may; with `TRUNC`, empties it.
    pub(crate) fn open(path: Path<'fs, H, L>, cx: &Context<'_, 'fs, H, L>, flags: OpenFlags) -> Result<Self, Errno> {
        let kind = path.inode().kind();
        let file = File { path, flags };
        match kind {
            Kind::Symlink if !flags.contains(OpenFlags::DIRECTORY) => return Err(Errno::LOOP),
            Kind::Directory
                if file.writes() || flags.contains(OpenFlags::TRUNC) || flags.contains(OpenFlags::CREATE) =>
            {
                return Err(Errno::ISDIR);
            }
            Kind::Directory => {}
            _ if flags.contains(OpenFlags::DIRECTORY) => return Err(Errno::NOTDIR),
            Kind::File => {}
            _ => return Err(Errno::NXIO), // these nodes have no driver
        }
        let want =
            if file.reads() { 4 } else { 0 } | if file.writes() || flags.contains(OpenFlags::TRUNC) { 2 } else { 0 };
        cx.may(file.path.inode(), want)?;
        if flags.contains(OpenFlags::TRUNC) && kind == Kind::File {
            file.path.fs.resize(file.path.inode(), 0)?;
        }
        Ok(file)
    }

    fn reads(&self) -> bool {
        !self.flags.contains(OpenFlags::WRONLY)
    }

    fn writes(&self) -> bool {
        self.flags.intersects(OpenFlags::WRONLY | OpenFlags::RDWR)
    }

    fn for_writing(&self) -> Result<(), Errno> {
        H::charge(Work::Call);
        if self.writes() { Ok(()) } else { Err(Errno::BADF) }
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

    /// Copies bytes in; returns how many found room. If it is open for appending, they go to the end.
    ///
    /// # Errors
    /// `BADF` if it is open for reading only; `NOSPC`, `FBIG`.
    pub fn write(&self, offset: u64, from: &[u8]) -> Result<usize, Errno> {
        if self.flags.contains(OpenFlags::APPEND) {
            return self.append(from);
        }
        self.for_writing()?;
        self.change(|file, space| file.write(space, offset, from))
    }

    /// Copies bytes to the end of the file, wherever that is now; returns how many found room.
    ///
    /// # Errors
    /// As [`File::write`].
    pub fn append(&self, from: &[u8]) -> Result<usize, Errno> {
        self.for_writing()?;
        self.change(|file, space| file.append(space, from))
    }

    /// Makes a change of the file, under its lock and, inside that, in a handle of the journal.
    fn change<R>(&self, work: impl FnOnce(&mut Locked<'_, H, L>, &Space<H::Platform>) -> R) -> R {
        let fs = self.path.fs;
        let mut file = self.path.inode().lock();
        let _handle = fs.begin_change(Change::Write);
        work(&mut file, &fs.dcache.space)
    }

    /// Cuts it off, or fills it up with zeros.
    ///
    /// # Errors
    /// `INVAL` if it is not open for writing; `FBIG`.
    pub fn truncate(&self, size: u64) -> Result<(), Errno> {
        self.for_writing().map_err(|_| Errno::INVAL)?;
        self.path.fs.resize(self.path.inode(), size)
    }

    /// Returns the first byte from `offset` on that is data or a hole.
    ///
    /// # Errors
    /// `NXIO`, `ISDIR`, `INVAL`.
    pub fn seek(&self, offset: u64, to: Seek) -> Result<u64, Errno> {
        self.path.inode().seek(offset, to)
    }

    /// Makes room for a range, so that writing there cannot fail for want of it.
    ///
    /// # Errors
    /// `NOSPC`, `INVAL`, `FBIG`, `BADF`.
    pub fn allocate(&self, offset: u64, len: u64, keep_size: bool) -> Result<(), Errno> {
        self.for_writing()?;
        self.change(|file, space| file.allocate_range(space, offset, len, keep_size))
    }

    /// Makes a range read as zeros, and gives its memory back.
    ///
    /// # Errors
    /// `INVAL`, `FBIG`, `BADF`.
    pub fn punch_hole(&self, offset: u64, len: u64) -> Result<(), Errno> {
        self.for_writing()?;
        self.change(|file, space| file.punch_hole(space, offset, len))
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

impl<'fs, H: Host, L: LockSet<H::Platform>> Path<'fs, H, L> {
    /// Opens what is there, if the user may.
    ///
    /// # Errors
    /// `ISDIR`, `NOTDIR`, `LOOP` for a symbolic link, `ACCESS`.
    pub fn open(&self, cx: &Context<'_, 'fs, H, L>, flags: OpenFlags) -> Result<File<'fs, H, L>, Errno> {
        File::open(self.clone(), cx, flags)
    }
}
