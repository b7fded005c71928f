//! Reads the memory of a running process.

use crate::call::Word;
use crate::living;
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(crate) struct Memory(File);

impl Memory {
    /// Opens a process's memory; `None`: the process has ended, or may not be inspected.
    pub(crate) fn of(pid: u32) -> Option<Memory> {
        File::open(living::directory(pid)?.join("mem")).ok().map(Memory)
    }

    /// Reads up to `most` bytes: fewer if no more are mapped.
    pub(crate) fn read(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let read = self.0.read_at(&mut bytes, address).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Reads as many words; `None`: not all are mapped.
    pub(crate) fn words<const N: usize>(&self, address: u64) -> Option<[u32; N]> {
        let bytes = self.read(address, 4 * N);
        let mut words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap_or_default()));
        let read = std::array::from_fn(|_| words.next().unwrap_or(0));
        (bytes.len() == 4 * N).then_some(read)
    }

    fn word(&self, address: u64) -> Option<u32> {
        self.words(address).map(|[word]| word)
    }

    /// Returns the thread that holds the lock that a thread waits for there, by the lock's own words. It is a lock only
    /// if this is a thread of the program, which the caller checks.
    pub(crate) fn owner(&self, address: u64, word: Word) -> Option<u32> {
        /// The C library's mutex with waiters. It is followed by a count and the owner.
        const CONTENDED: u32 = 2;
        const OWNER: u64 = 8;
        /// A mutex that protects a priority has it above that.
        const PRIORITY: u32 = 0x7f << 19;
        let now = self.word(address)?;
        match word {
            Word::Private(value) | Word::Shared(value) if value == now && value & !PRIORITY == CONTENDED => {
                self.word(address.wrapping_add(OWNER))
            }
            // Robust mutexes are like this: the kernel itself reads the owner there.
            Word::Private(value) | Word::Shared(value) if value & libc::FUTEX_WAITERS != 0 => {
                Some(now & libc::FUTEX_TID_MASK)
            }
            Word::Owner => Some(now & libc::FUTEX_TID_MASK),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_of_mutexes_that_name_them() {
        let memory = Memory::of(std::process::id()).unwrap();
        let owner = |words: [u32; 3], word| memory.owner(words.as_ptr() as u64, word);
        assert_eq!(owner([2, 1, 77], Word::Private(2)), Some(77), "a mutex of the C library");
        assert_eq!(owner([0, 0, 77], Word::Private(2)), None, "it was released meanwhile");
        let protected = 5 << 19 | 2;
        assert_eq!(owner([protected, 1, 77], Word::Private(protected)), Some(77));
        assert_eq!(owner([libc::FUTEX_WAITERS | 78, 0, 0], Word::Owner), Some(78));
        assert_eq!(owner([libc::FUTEX_WAITERS | 79, 0, 0], Word::Shared(libc::FUTEX_WAITERS | 79)), Some(79));
        assert_eq!(owner([5, 1, 77], Word::Private(5)), None, "this is no lock that we know");
        assert_eq!(memory.owner(8, Word::Owner), None, "nothing is there");
    }
}
