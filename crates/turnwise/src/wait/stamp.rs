//! The stamp in a lock's word that names the process in which its flags were set.

use crate::platform::{Platform, Word};
use core::sync::atomic::Ordering::Relaxed;

/// The bits of a lock's word that name the process in which its flags were set.
///
/// Flags are about threads: one sleeps, one is to be handed the lock. A child of `fork` inherits the word but not the
/// threads. All flags of a word belong to one [generation](Platform::generation), whose lowest bits are stored next to
/// them; without flags these bits are 0.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    /// The bits of the generation, adjacent in the word.
    pub(crate) bits: u32,
    /// The flags that are stamped.
    pub(crate) flags: u32,
}

impl Stamp {
    /// Returns the generation of this process, shifted to its place in the word.
    pub(crate) fn now<P: Platform>(self) -> u32 {
        P::generation() << self.bits.trailing_zeros() & self.bits
    }

    /// Returns whether `word` has flags of threads that this process does not have.
    pub(crate) fn is_stale<P: Platform>(self, word: u32) -> bool {
        word & self.flags != 0 && word & self.bits != self.now::<P>()
    }

    /// Returns `word` with `flags` added. If some are to be stamped: with the generation of those already in it or, if
    /// there are none, of this process.
    pub(crate) fn with<P: Platform>(self, word: u32, flags: u32) -> u32 {
        let first = word & self.flags == 0 && flags & self.flags != 0;
        word | flags | if first { self.now::<P>() } else { 0 }
    }

    /// Returns `word` without `flags`.
    pub(crate) fn without(self, word: u32, flags: u32) -> u32 {
        let word = word & !flags;
        if word & self.flags == 0 { word & !self.bits } else { word }
    }

    /// Clears stale flags in a lock's word, which was `word` a moment ago; returns the word.
    pub(crate) fn clear_stale<P: Platform>(self, at: &P::U32, mut word: u32) -> u32 {
        while self.is_stale::<P>(word) {
            let new = self.without(word, self.flags);
            match at.compare_exchange(word, new, Relaxed, Relaxed) {
                Ok(_) => word = new,
                Err(found) => word = found,
            }
        }
        word
    }
}
