//! Copies a view out of its file, while the program continues.
//!
//! The file is read and not mapped: a truncated file causes an error, where a mapping would cause a signal. Each word
//! of it is a counter or is under a sequence number (`layout.rs`), so a copy consists of three readings: a word that
//! was the same before and after was so in between.

use super::error::{Error, Fault};
use crate::layout::{BLOCKS, Block, Entry, FILE_BYTES, Header, LAYOUT, LOCKS, MAGIC, Part, VERSION};
use core::mem::offset_of;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// A copy of a file.
pub(crate) struct Copy {
    pub(crate) header: Header,
    /// The records of the table that were ever taken.
    pub(crate) table: Vec<Entry>,
    pub(crate) blocks: Vec<BlockCopy>,
    /// Whether no entry moved while it was read.
    pub(crate) is_exact: bool,
}

/// Three successive readings of a block.
pub(crate) struct BlockCopy {
    pub(crate) before: Block,
    pub(crate) block: Block,
    pub(crate) after: Block,
}

impl BlockCopy {
    /// Returns whether a word under a sequence number was stable in the middle reading.
    pub(crate) fn stood(&self, sequence: fn(&Block) -> &AtomicU32) -> bool {
        let [before, after] = [&self.before, &self.after].map(|block| sequence(block).load(Relaxed));
        before == after && before.is_multiple_of(2)
    }

    /// Returns whether no entry was counted twice or omitted.
    fn is_whole(&self) -> bool {
        self.stood(|block| &block.wait.sequence) && self.stood(|block| &block.moves)
    }
}

/// The number of times that a copy is tried, if entries moved meanwhile.
const TRIES: u32 = 4;

/// Copies the file.
pub(crate) fn copy(path: &Path, file: &File) -> Result<Copy, Error> {
    let mut copied = copy_once(path, file)?;
    for _ in 1..TRIES {
        if copied.is_exact {
            break;
        }
        copied = copy_once(path, file)?;
    }
    Ok(copied)
}

fn copy_once(path: &Path, file: &File) -> Result<Copy, Error> {
    let before = header(path, file)?;
    let fault = |error| Error::io(path, error);
    // The table comes first: an entry that moves meanwhile is missing, rather than counted twice. The number of records
    // is read after the number of moves, not with it: otherwise it could lack the last move's.
    let locks_used: u32 = read_at(file, offset_of!(Header, locks_used)).map_err(fault)?;
    let table = read_all(file, 0, (locks_used as usize).min(LOCKS)).map_err(fault)?;
    let used = before.blocks_used.load(Relaxed).min(before.blocks.load(Relaxed)).min(BLOCKS as u32);
    let blocks = blocks(file, used as usize).map_err(fault)?;
    let header = header(path, file)?;
    let is_exact =
        before.moves_ended.load(Relaxed) == header.moves_begun.load(Relaxed) && blocks.iter().all(BlockCopy::is_whole);
    Ok(Copy { header, table, blocks, is_exact })
}

/// Reads a part of the file.
pub(crate) fn read_at<T: FromZeros + FromBytes + IntoBytes>(file: &File, at: usize) -> io::Result<T> {
    let mut value = T::new_zeroed();
    file.read_exact_at(value.as_mut_bytes(), at as u64)?;
    Ok(value)
}

/// Reads records of one kind, from the one at `first` on.
pub(crate) fn read_all<T: Part + FromZeros + FromBytes + IntoBytes>(
    file: &File,
    first: usize,
    count: usize,
) -> io::Result<Vec<T>> {
    let mut records: Vec<T> = std::iter::repeat_with(T::new_zeroed).take(count).collect();
    file.read_exact_at(records.as_mut_bytes(), T::offset(first) as u64)?;
    Ok(records)
}

/// Reads and checks the header.
pub(crate) fn header(path: &Path, file: &File) -> Result<Header, Error> {
    let length = file.metadata().map_err(|error| Error::io(path, error))?.len();
    let fault = |fault| Err(Error::new(path, fault));
    if length < size_of::<Header>() as u64 {
        return fault(if length == 0 { Fault::Unfinished } else { Fault::Truncated(length, FILE_BYTES as u64) });
    }
    let header: Header = read_at(file, 0).map_err(|error| Error::io(path, error))?;
    let (version, layout) = (header.version.load(Relaxed), header.layout.load(Relaxed));
    match header.magic.load(Relaxed) {
        MAGIC if version != VERSION || layout != LAYOUT => return fault(Fault::Version(version, layout)),
        MAGIC => {}
        0 => return fault(Fault::Unfinished),
        _ => return fault(Fault::Foreign),
    }
    if header.blocks.load(Relaxed) as usize > BLOCKS {
        return fault(Fault::Damaged("more threads than the layout has"));
    }
    let needs = FILE_BYTES as u64;
    if length < needs {
        return fault(Fault::Truncated(length, needs));
    }
    Ok(header)
}

/// Reads blocks, several at a time. Those that changed meanwhile are read again, one at a time, which takes
/// microseconds.
fn blocks(file: &File, count: usize) -> io::Result<Vec<BlockCopy>> {
    const AT_A_TIME: usize = 32;
    const TRIES: u32 = 16;
    let mut copies = Vec::with_capacity(count);
    for first in (0..count).step_by(AT_A_TIME) {
        copies.extend(read_thrice(file, first, (count - first).min(AT_A_TIME))?);
    }
    for (place, copy) in copies.iter_mut().enumerate() {
        for _ in 0..TRIES {
            if copy.is_whole() {
                break;
            }
            if let Some(again) = read_thrice(file, place, 1)?.pop() {
                *copy = again;
            }
        }
    }
    Ok(copies)
}

/// Reads several blocks three times.
fn read_thrice(file: &File, first: usize, count: usize) -> io::Result<Vec<BlockCopy>> {
    let [before, blocks, after] = [(); 3].map(|()| read_all(file, first, count));
    let copies = before?.into_iter().zip(blocks?).zip(after?);
    Ok(copies.map(|((before, block), after)| BlockCopy { before, block, after }).collect())
}
