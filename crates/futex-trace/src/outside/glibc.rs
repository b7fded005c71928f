//! The GNU C library's locks: `bits/struct_mutex.h` and `bits/struct_rwlock.h`, alike on x86-64 and aarch64.

use super::kinds::Kind;
use crate::call::Word;
use crate::memory::Memory;

/// Returns whether a mutex that threads wait for is there, as far as its words show: a function without a name waits.
pub(super) fn is_mutex(memory: &Memory, address: u64) -> bool {
    /// All bits of a type: recursive and the like, robust, inheriting or protecting a priority, shared, elided.
    const TYPES: u32 = 0x3f3;
    let Some([lock, _count, owner, users, kind]) = memory.words(address) else { return false };
    let is_held = lock == 2 && owner != 0 && users != 0;
    is_held && kind & !TYPES == 0
}

/// Returns the address of the readers-writer lock that a thread waits for at one of its words.
pub(super) fn rwlock(address: u64, word: Word) -> u64 {
    /// The phase has this value while readers, or the next writer, wait for the other phase: set, and waited for.
    const PHASE: u32 = 3;
    const PHASE_AT: u64 = 8;
    const WRITERS_AT: u64 = 12;
    // The lock is aligned to eight bytes. Readers that let writers go first wait at its first word.
    let at = match word {
        _ if !address.is_multiple_of(8) => WRITERS_AT,
        Word::Private(value) | Word::Shared(value) if value > PHASE => 0,
        _ => PHASE_AT,
    };
    address.wrapping_sub(at)
}

/// Returns the writer that has a readers-writer lock; `None`: readers have it.
pub(super) fn writer(memory: &Memory, lock: u64) -> Option<u32> {
    const WRITER: u64 = 24;
    let [writer] = memory.words(lock.wrapping_add(WRITER))?;
    Some(writer).filter(|writer| *writer != 0)
}

/// Returns the owner of the lock of this kind that a thread waits for, by its number inside the process, and the lock's
/// address.
pub(super) fn owner(memory: &Memory, kind: Kind, address: u64, word: Word) -> (Option<u32>, u64) {
    match kind {
        Kind::READ | Kind::WRITE => {
            let lock = rwlock(address, word);
            (writer(memory, lock), lock)
        }
        Kind::MUTEX => (memory.owner(address, word), address),
        _ => (None, address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(8))]
    struct Words([u32; 14]);

    #[test]
    fn a_readers_writer_lock_is_found_from_each_of_its_words() {
        let address = |at: u64, value| rwlock(0x7f00_0000_1000 + at, Word::Private(value)) - 0x7f00_0000_1000;
        assert_eq!([address(8, 3), address(12, 3), address(0, 14)], [0; 3]);
        let mut lock = Words([0; 14]);
        lock.0[6] = 77;
        let memory = Memory::of(std::process::id()).unwrap();
        let at = lock.0.as_ptr() as u64;
        assert_eq!(owner(&memory, Kind::READ, at + 8, Word::Private(3)), (Some(77), at));
        assert_eq!(owner(&memory, Kind::WRITE, at + 12, Word::Private(3)), (Some(77), at));
        lock.0[6] = 0;
        assert_eq!(owner(&memory, Kind::WRITE, lock.0.as_ptr() as u64 + 12, Word::Private(3)).0, None, "readers");
    }

    #[test]
    fn only_what_looks_like_a_held_mutex_is_one() {
        let memory = Memory::of(std::process::id()).unwrap();
        let is_one = |words: [u32; 5]| is_mutex(&memory, words.as_ptr() as u64);
        assert!(is_one([2, 1, 77, 1, 0]) && is_one([2, 1, 77, 1, 1]));
        assert!(!is_one([2, 1, 77, 0, 0]) && !is_one([1, 1, 77, 1, 0]) && !is_one([2, 1, 77, 1, 0x7ffd_0000]));
        assert!(!is_mutex(&memory, 8), "nothing is there");
    }
}
