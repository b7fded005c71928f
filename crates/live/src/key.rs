//! Names a lock, or what else a thread waits for, and the way in which it waits, in one word.

/// The way of waiting for a lock. A readers-writer lock counts as two locks here: one that readers wait for, and one
/// that writers wait for. The others are calls of the C library's that are not on our locks; what is a futex of the
/// program's, the functions tell that wait for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// For a mutex.
    Mutex = 1,
    /// For a readers-writer lock, to read.
    Read = 2,
    /// For a readers-writer lock, to write.
    Write = 3,
    /// For a spin lock.
    Spin = 4,
    /// For a word of the program's, by the kernel's futex calls.
    Futex = 5,
    /// For a semaphore.
    Semaphore = 6,
    /// For a barrier.
    Barrier = 7,
    /// For the end of a thread.
    Join = 8,
    /// For an initialiser that another thread runs.
    Once = 9,
}

impl Kind {
    /// All ways of waiting.
    pub const ALL: [Kind; 9] = [
        Kind::Mutex,
        Kind::Read,
        Kind::Write,
        Kind::Spin,
        Kind::Futex,
        Kind::Semaphore,
        Kind::Barrier,
        Kind::Join,
        Kind::Once,
    ];

    /// Returns the way of this number.
    #[must_use]
    pub fn numbered(number: u64) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u64 == number)
    }

    /// Returns whether it is for one of our locks.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Kind::Mutex | Kind::Read | Kind::Write | Kind::Spin)
    }

    /// The names, by number from 1.
    const NAMES: [&'static str; Kind::ALL.len()] =
        ["mutex", "read", "write", "spin", "futex", "sem_t", "barrier", "join", "once"];

    /// Returns its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Kind::NAMES[self as usize - 1]
    }
}

/// A lock's address, and above it the [`Kind`]. It is never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(u64);

/// Program addresses fit in this many bits: 56 bits with five levels of page tables on x86-64, 52 on aarch64.
const ADDRESS_BITS: u32 = 56;

impl Key {
    /// Makes a key from its parts. Bits of the address above the 56th (tags of aarch64) are dropped.
    #[must_use]
    #[inline(always)]
    pub const fn new(address: usize, kind: Kind) -> Key {
        Key(address as u64 & ((1 << ADDRESS_BITS) - 1) | (kind as u64) << ADDRESS_BITS)
    }

    /// Returns the key as a word of the file.
    #[must_use]
    #[inline(always)]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// Views a word that a key was stored to.
    #[cfg(feature = "writer")]
    #[inline(always)]
    pub(crate) const fn of_word(word: u64) -> Key {
        Key(word)
    }

    /// Reads a word of the file; `None`: it is not a key.
    #[must_use]
    pub fn read(word: u64) -> Option<Key> {
        Kind::numbered(word >> ADDRESS_BITS).map(|_| Key(word))
    }

    /// Returns the lock's address.
    #[must_use]
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.0 & ((1 << ADDRESS_BITS) - 1)
    }

    /// Returns the way of waiting.
    #[must_use]
    pub fn kind(self) -> Kind {
        Kind::numbered(self.0 >> ADDRESS_BITS).unwrap_or(Kind::Mutex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UNKNOWN_MODULE, numbered, unnumbered};

    #[test]
    fn an_address_keeps_the_number_of_its_module() {
        let address = 0x7fff_ffff_f008;
        assert_eq!(numbered(address, 0), address);
        let second = numbered(address, 1);
        assert_eq!((unnumbered(second), second == address), (address, false));
        assert_eq!(numbered(address, 1000), numbered(address, UNKNOWN_MODULE));
        assert_eq!(Key::new(second as usize, Kind::Spin).address(), second);
    }

    #[test]
    fn a_key_keeps_its_parts() {
        for kind in Kind::ALL {
            for address in [0, 4, 0x7fff_ffff_f000, 0xff_ffff_ffff_fffc] {
                let key = Key::new(address, kind);
                assert_eq!((key.address(), key.kind()), (address as u64, kind));
                assert_eq!(Key::read(key.word()), Some(key));
            }
        }
        assert_eq!(Key::new(0xb400_7fff_0000_0010, Kind::Read).address(), 0x7fff_0000_0010, "without the tag");
        assert_eq!([0, 7, 10 << 56, u64::MAX].map(Key::read), [None; 4]);
    }
}
