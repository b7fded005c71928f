//! The per-thread words.

use crate::layout::Block;
use turnwise_interpose::thread_variable;

thread_variable! {
    /// Returns the thread pointer and the place of the calling thread's words.
    fn place() -> "turnwise_live_words" of 16 bytes
}

/// The words of a thread. Zeros: it has not requested a block yet.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Words {
    /// Its block; null: it has none.
    pub(super) block: *const Block,
    /// 1 plus the generation of the process that the block belongs to.
    pub(super) generation: u64,
}

/// Returns the calling thread's words.
#[inline(always)]
pub(super) fn get() -> Words {
    // SAFETY: the calling thread's own variable. Signal handlers may write it; hence volatile.
    unsafe { place().1.cast::<Words>().read_volatile() }
}

/// Sets the calling thread's words.
pub(super) fn set(words: Words) {
    // SAFETY: the calling thread's own variable.
    unsafe { place().1.cast::<Words>().write_volatile(words) }
}

/// Returns the calling thread's pointer.
pub(super) fn thread_pointer() -> u64 {
    place().0 as u64
}

const _: () = assert!(size_of::<Words>() == 16);
