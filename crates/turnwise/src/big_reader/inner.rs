//! What only a lock that spreads its readers does with its inner lock.

use crate::platform::{IntWord, Platform};
use crate::rwsem::{HANDOFF, RawRwSem, WRITERS};
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

/// Changes the word, to what it is; returns whether a hand-off is pending, or a writer may sleep.
pub(super) fn writer_waits<P: Platform>(lock: &RawRwSem<P>) -> bool {
    // ORDERING big_reader.announced: pairs with itself: of a writer that has announced itself, and a spreader that has
    // opened the slots, the second sees what the first did.
    lock.word.fetch_or(0, AcqRel) & (HANDOFF | WRITERS) != 0
}

/// Counts more readers, for a caller to whom one of the count belongs before and after, but leaves at least that one.
pub(super) fn count_more<P: Platform>(lock: &RawRwSem<P>, readers: i32) {
    // Fewer only if a thread has released what it did not have.
    let least = 1 - lock.readers().cast_signed();
    lock.word.fetch_add(readers.max(least).cast_unsigned(), Relaxed);
}
