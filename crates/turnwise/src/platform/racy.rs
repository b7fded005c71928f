//! Words of protected data that one thread may read while another writes them.
//!
//! A sequence lock reads first and asks afterwards whether it was allowed to. For the language that is a data race
//! unless both accesses are atomic; and an atomic access through an integer is undefined for a word with padding in
//! it, and loses the provenance of a pointer. Hence words of [`MaybeUninit`], accessed by one `mov` (`ldr`, `str`) of
//! inline assembly each: the compiler knows nothing of the value, and no access can be torn below a word.

use core::mem::MaybeUninit;

/// What such data are made of.
pub(crate) type RacyWord = MaybeUninit<usize>;

/// Reads a word, with no ordering.
///
/// # Safety
/// `word` is aligned and readable; other threads write it with [`store`] only, unless that is ordered with this call.
#[inline(always)]
pub(crate) unsafe fn load(word: *const RacyWord) -> RacyWord {
    #[cfg(not(miri))]
    // SAFETY: the caller's promise; a load writes nothing.
    return unsafe { AtomicMaybeUninit::from_ptr(word.cast_mut()) }.load(Relaxed);
    #[cfg(miri)]
    // SAFETY: the caller's promise; one access at a time.
    one_at_a_time(|| unsafe { *word })
}

/// Writes a word, with no ordering.
///
/// # Safety
/// `word` is aligned and writable; other threads access it with [`load`] and [`store`] only, unless that is ordered
/// with this call.
#[inline(always)]
pub(crate) unsafe fn store(word: *mut RacyWord, value: RacyWord) {
    #[cfg(not(miri))]
    // SAFETY: the caller's promise.
    unsafe { AtomicMaybeUninit::from_ptr(word) }.store(value, Relaxed);
    #[cfg(miri)]
    // SAFETY: the caller's promise; one access at a time.
    one_at_a_time(|| unsafe { *word = value });
}

#[cfg(not(miri))]
use atomic_maybe_uninit::AtomicMaybeUninit;
#[cfg(not(miri))]
use core::sync::atomic::Ordering::Relaxed;

/// Miri runs no assembly, and has no other access that is atomic and takes padding. There each access is a critical
/// section of its own: data may still be torn between two words, but an ordering that is missing would not show. (The
/// models show it.)
#[cfg(miri)]
fn one_at_a_time<R>(access: impl FnOnce() -> R) -> R {
    use core::sync::atomic::{AtomicBool, Ordering};
    static BUSY: AtomicBool = AtomicBool::new(false);
    // ORDERING racy.enter: pairs with racy.leave.
    while BUSY.swap(true, Ordering::Acquire) {
        core::hint::spin_loop();
    }
    let result = access();
    // ORDERING racy.leave: pairs with racy.enter.
    BUSY.store(false, Ordering::Release);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_what_was_stored() {
        let mut word = RacyWord::new(1);
        // SAFETY: a word of our own, initialised.
        unsafe {
            store(&raw mut word, RacyWord::new(usize::MAX));
            assert_eq!(load(&raw const word).assume_init(), usize::MAX);
        }
    }
}
