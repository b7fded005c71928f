//! Reading and writing a regular file.

use super::attributes::Kind;
use super::locked::Locked;
use super::pages::Pages;
use super::space::{PAGE_BYTES, Space};
use super::{Body, Inode};
use crate::errno::Errno;
use crate::host::{Host, Work};
use crate::locks::{LockSet, Shared};
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::Word;

/// Bytes that a file may have.
pub const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// What [`Inode::seek`] looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seek {
    /// Bytes that hold data.
    Data,
    /// A hole; the end of the file counts as one.
    Hole,
}

/// A file's pages under a lock that readers share. In the kernel readers meet in the pages' reference counts instead:
/// either way a read writes one word that other readers of the file write too.
pub(super) type Data<S> = Shared<S, Pages>;

fn kib(bytes: usize) -> Work {
    Work::Kib(u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX))
}

impl<H: Host, L: LockSet<H::Platform>> Inode<H, L> {
    fn data(&self) -> Result<&Data<L::RwSem>, Errno> {
        match &self.body {
            Body::File(data) => Ok(data),
            Body::Directory(_) => Err(Errno::ISDIR),
            _ => Err(Errno::INVAL),
        }
    }

    /// Copies bytes out; returns how many there were before the end of the file.
    ///
    /// # Errors
    /// `ISDIR`; `INVAL` for anything but a file.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let pages = self.data()?.read();
        let left = self.size().saturating_sub(offset);
        let count = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if count > 0 {
            H::charge(kib(count));
            pages.read(offset, &mut into[..count]);
        }
        drop(pages);
        self.words.touch_accessed();
        Ok(count)
    }

    /// Returns the first byte from `offset` on that is data or a hole.
    ///
    /// # Errors
    /// `NXIO` beyond the end of the file, and where no data follows; `ISDIR`, `INVAL` for anything but a file.
    pub fn seek(&self, offset: u64, to: Seek) -> Result<u64, Errno> {
        let pages = self.data()?.read();
        let size = self.size();
        if offset >= size {
            return Err(Errno::NXIO);
        }
        match to {
            Seek::Hole => Ok(pages.next_hole(offset).min(size)),
            Seek::Data => pages.next_data(offset).filter(|data| *data < size).ok_or(Errno::NXIO),
        }
    }

    fn size(&self) -> u64 {
        self.words.size.load(Relaxed)
    }

    /// Gives a file's pages back to the file system, when there is no reference any more.
    pub(super) fn give_pages_back(&self, space: &Space<H::Platform>) {
        if self.kind == Kind::File {
            space.pages.give(self.number, self.words.pages.load(Relaxed));
        }
    }
}

impl<H: Host, L: LockSet<H::Platform>> Locked<'_, H, L> {
    /// Copies bytes in; returns how many found room.
    ///
    /// # Errors
    /// `NOSPC` if none did, `FBIG` if none may be there; `ISDIR`, `INVAL` for anything but a file.
    pub fn write(&mut self, space: &Space<H::Platform>, offset: u64, from: &[u8]) -> Result<usize, Errno> {
        let data = self.data()?;
        if from.is_empty() {
            return Ok(0);
        }
        let room = FILE_BYTES_MAX.checked_sub(offset).filter(|room| *room > 0).ok_or(Errno::FBIG)?;
        let from = &from[..from.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        let mut pages = data.write();
        let allowed = space.pages.take_up_to(self.number, pages.missing(offset, from.len()));
        let (written, new) = pages.write(offset, from, allowed);
        H::charge(kib(written));
        space.pages.give(self.number, allowed - new);
        self.now_has(&pages, self.size().max(if written > 0 { offset + written as u64 } else { 0 }));
        drop(pages);
        if written == 0 {
            return Err(Errno::NOSPC);
        }
        self.words.touch_modified();
        Ok(written)
    }

    /// Copies bytes to the end of the file; returns how many found room.
    ///
    /// # Errors
    /// As [`Locked::write`].
    pub fn append(&mut self, space: &Space<H::Platform>, from: &[u8]) -> Result<usize, Errno> {
        self.write(space, self.size(), from)
    }

    /// Cuts the file off, or fills it up with a hole.
    ///
    /// # Errors
    /// `FBIG`; `ISDIR`, `INVAL` for anything but a file.
    pub fn resize(&mut self, space: &Space<H::Platform>, size: u64) -> Result<(), Errno> {
        let data = self.data()?;
        if size > FILE_BYTES_MAX {
            return Err(Errno::FBIG);
        }
        let mut pages = data.write();
        let gone = if size < self.size() || pages.count() > 0 { pages.cut(size) } else { 0 };
        space.pages.give(self.number, gone);
        self.now_has(&pages, size);
        drop(pages);
        self.words.touch_modified();
        Ok(())
    }

    /// Makes room for a range, so that writing there cannot fail for want of it.
    ///
    /// # Errors
    /// `NOSPC`, and then nothing has changed; `INVAL` for an empty range, `FBIG`, `ISDIR`.
    pub fn allocate_range(
        &mut self,
        space: &Space<H::Platform>,
        offset: u64,
        len: u64,
        keep_size: bool,
    ) -> Result<(), Errno> {
        let (data, end) = (self.data()?, range_end(offset, len)?);
        let range = offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
        // More than fits in memory is refused before it is counted page by page.
        let bytes = usize::try_from(len).map_err(|_| Errno::FBIG)?;
        let mut pages = data.write();
        let missing = pages.missing(offset, bytes);
        let taken = space.pages.take_up_to(self.number, missing);
        if taken < missing {
            space.pages.give(self.number, taken);
            return Err(Errno::NOSPC);
        }
        pages.fill(range);
        self.now_has(&pages, if keep_size { self.size() } else { self.size().max(end) });
        drop(pages);
        self.words.touch_modified();
        Ok(())
    }

    /// Makes a range read as zeros, and gives its whole pages back. The size stays.
    ///
    /// # Errors
    /// `INVAL` for an empty range, `FBIG`, `ISDIR`.
    pub fn punch_hole(&mut self, space: &Space<H::Platform>, offset: u64, len: u64) -> Result<(), Errno> {
        let (data, end) = (self.data()?, range_end(offset, len)?);
        let mut pages = data.write();
        space.pages.give(self.number, pages.punch(offset..end));
        self.now_has(&pages, self.size());
        drop(pages);
        self.words.touch_modified();
        Ok(())
    }

    fn now_has(&self, pages: &Pages, size: u64) {
        self.words.pages.store(pages.count(), Relaxed);
        self.words.size.store(size, Relaxed);
    }
}

fn range_end(offset: u64, len: u64) -> Result<u64, Errno> {
    match offset.checked_add(len) {
        _ if len == 0 => Err(Errno::INVAL),
        Some(end) if end <= FILE_BYTES_MAX => Ok(end),
        _ => Err(Errno::FBIG),
    }
}
