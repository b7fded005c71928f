//! Names a lock and the way in which a thread waits for it in one word.

/// The way of waiting for a lock. A readers-writer lock counts as two locks here: one that readers wait for, and one
/// that writers wait for.
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
}

impl Kind {
    /// All ways of waiting.
    pub const ALL: [Kind; 4] = [Kind::Mutex, Kind::Read, Kind::Write, Kind::Spin];

    /// Returns its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Spin => "spin",
        }
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
        let number = word >> ADDRESS_BITS;
        Kind::ALL.into_iter().any(|kind| kind as u64 == number).then_some(Key(word))
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
        let number = self.0 >> ADDRESS_BITS;
        Kind::ALL.into_iter().find(|kind| *kind as u64 == number).unwrap_or(Kind::Mutex)
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
        assert_eq!([0, 7, 5 << 56, u64::MAX].map(Key::read), [None; 4]);
    }
}
