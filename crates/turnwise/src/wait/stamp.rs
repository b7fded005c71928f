//! In which process a flag of a lock's word was set.

use crate::platform::Platform;

/// Where a lock's word says which process its flags were set in.
///
/// Flags speak of threads: one sleeps, one was promised the lock. A child of `fork` inherits the word and not the
/// threads. All flags of a word are of one [generation](Platform::generation), whose lowest bits stand beside them;
/// without flags these bits are 0.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    /// The bits of the generation: neighbours in the word.
    pub(crate) bits: u32,
    /// The flags that it stands for.
    pub(crate) flags: u32,
}

impl Stamp {
    /// The generation of this process, in its place.
    pub(crate) fn now<P: Platform>(self) -> u32 {
        P::generation() << self.bits.trailing_zeros() & self.bits
    }

    /// Whether `word` has flags of threads that this process does not have.
    pub(crate) fn is_void<P: Platform>(self, word: u32) -> bool {
        word & self.flags != 0 && word & self.bits != self.now::<P>()
    }

    /// `word`, whose flags are none or of one generation, with more `flags` of that or, if there are none, of this
    /// process.
    pub(crate) fn with<P: Platform>(self, word: u32, flags: u32) -> u32 {
        let first = word & self.flags == 0 && flags != 0;
        word | flags | if first { self.now::<P>() } else { 0 }
    }

    /// `word` without `flags`.
    pub(crate) fn without(self, word: u32, flags: u32) -> u32 {
        let word = word & !flags;
        if word & self.flags == 0 { word & !self.bits } else { word }
    }
}
