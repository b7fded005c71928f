//! Copies a view out of its file, while the program goes on.
//!
//! The file is read and not mapped: one that is cut short ends in an error, where a mapping would end in a signal. Each
//! word of it is a counter or is under a sequence number (`layout.rs`), so a copy is made of three readings: what was
//! the same before and after stood so in between.

use super::error::{Error, Fault};
use crate::layout::{
    BLOCKS, BLOCKS_START, Block, FILE_BYTES, Header, LAYOUT, LOCKS, LOCKS_START, Lock, MAGIC, VERSION,
};
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
    pub(crate) locks: Vec<Lock>,
    pub(crate) blocks: Vec<BlockCopy>,
    /// Whether nothing changed place while it was read.
    pub(crate) is_exact: bool,
}

/// Three readings of a block, one after the other.
pub(crate) struct BlockCopy {
    pub(crate) before: Block,
    pub(crate) block: Block,
    pub(crate) after: Block,
}

impl BlockCopy {
    /// Whether a word under a sequence number stood still in the middle reading.
    pub(crate) fn stood(&self, sequence: fn(&Block) -> &AtomicU32) -> bool {
        let [before, after] = [&self.before, &self.after].map(|block| sequence(block).load(Relaxed));
        before == after && before.is_multiple_of(2)
    }

    /// Whether nothing was counted twice, or left out.
    fn is_whole(&self) -> bool {
        self.stood(|block| &block.wait.sequence) && self.stood(|block| &block.moves)
    }
}

/// How often a copy is tried again, if entries moved meanwhile.
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
    // The table first: an entry that moves meanwhile is missing, and not counted twice.
    let locks = if before.locks_used.load(Relaxed) == 0 {
        Vec::new()
    } else {
        locks(file, before.locks_used.load(Relaxed)).map_err(fault)?
    };
    let used = before.blocks_used.load(Relaxed).min(before.blocks.load(Relaxed)).min(BLOCKS as u32);
    let blocks = blocks(file, used as usize).map_err(fault)?;
    let header = header(path, file)?;
    let is_exact =
        before.moves_ended.load(Relaxed) == header.moves_begun.load(Relaxed) && blocks.iter().all(BlockCopy::is_whole);
    Ok(Copy { header, locks, blocks, is_exact })
}

/// Reads and checks the header.
pub(crate) fn header(path: &Path, file: &File) -> Result<Header, Error> {
    let length = file.metadata().map_err(|error| Error::io(path, error))?.len();
    let fault = |fault| Err(Error::new(path, fault));
    if length < size_of::<Header>() as u64 {
        return fault(if length == 0 { Fault::Unfinished } else { Fault::Truncated(length, FILE_BYTES as u64) });
    }
    let mut header = Header::new_zeroed();
    file.read_exact_at(header.as_mut_bytes(), 0).map_err(|error| Error::io(path, error))?;
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

/// Reads the records of the table that are taken.
fn locks(file: &File, used: u32) -> io::Result<Vec<Lock>> {
    const AT_A_TIME: usize = 256;
    const { assert!(LOCKS.is_multiple_of(AT_A_TIME)) };
    let mut bytes = vec![0; AT_A_TIME * size_of::<Lock>()];
    let mut taken = Vec::with_capacity((used as usize).min(LOCKS));
    for part in 0..LOCKS / AT_A_TIME {
        file.read_exact_at(&mut bytes, (LOCKS_START + part * AT_A_TIME * size_of::<Lock>()) as u64)?;
        let records = bytes.chunks_exact(size_of::<Lock>()).filter_map(|bytes| Lock::read_from_bytes(bytes).ok());
        taken.extend(records.filter(|lock| lock.key.load(Relaxed) != 0));
    }
    Ok(taken)
}

/// Reads blocks, some at a time. Those that changed meanwhile are read again, one at a time: that is a matter of
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

/// Reads some blocks three times.
fn read_thrice(file: &File, first: usize, count: usize) -> io::Result<Vec<BlockCopy>> {
    let mut readings = [(); 3].map(|()| vec![0; count * size_of::<Block>()]);
    for bytes in &mut readings {
        file.read_exact_at(bytes, (BLOCKS_START + first * size_of::<Block>()) as u64)?;
    }
    let [before, blocks, after] = readings.each_ref().map(|bytes| bytes.chunks_exact(size_of::<Block>()));
    let copies = before.zip(blocks).zip(after).filter_map(|((before, block), after)| {
        let [before, block, after] = [before, block, after].map(|bytes| Block::read_from_bytes(bytes).ok());
        Some(BlockCopy { before: before?, block: block?, after: after? })
    });
    Ok(copies.collect())
}
