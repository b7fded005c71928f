//! Reading and writing a regular file.

use super::attributes::Kind;
use super::locked::Locked;
use super::pages::Pages;
use super::space::Space;
use super::{Body, Inode};
use crate::Errno;
use crate::host::{Host, Work};
use crate::locks::{LockSet, Shared};
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::Word;

/// Bytes that a file may have.
pub const FILE_BYTES_MAX: u64 = i64::MAX as u64;

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
        let allowed = space.pages.take(self.number, pages.missing(offset, from.len()));
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

    /// Forgets all bytes.
    ///
    /// # Errors
    /// `ISDIR`; `INVAL` for anything but a file.
    pub fn empty(&mut self, space: &Space<H::Platform>) -> Result<(), Errno> {
        let data = self.data()?;
        let mut pages = data.write();
        let gone = if self.size() > 0 || pages.count() > 0 { pages.clear() } else { 0 };
        space.pages.give(self.number, gone);
        self.now_has(&pages, 0);
        drop(pages);
        self.words.touch_modified();
        Ok(())
    }

    fn now_has(&self, pages: &Pages, size: u64) {
        self.words.pages.store(pages.count(), Relaxed);
        self.words.size.store(size, Relaxed);
    }
}
