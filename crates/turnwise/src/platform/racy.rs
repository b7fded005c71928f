//! Words of protected data that one thread may read while another writes them.
//!
//! A sequence lock reads first and checks afterwards whether the read was valid. In the language that is a data race
//! unless both accesses are atomic; and an atomic access through an integer is undefined for a word with padding in it,
//! and loses the provenance of a pointer. Hence words of [`MaybeUninit`], accessed by inline assembly, one plain load
//! or store each: the compiler knows nothing about the values, nor that they do not change. The result of a read may be
//! torn anywhere; the reader must not use it before the sequence confirms it.

use core::mem::MaybeUninit;

/// A word of such data.
pub(crate) type RacyWord = MaybeUninit<usize>;

/// The number of words of a [`load_wide`].
pub(crate) const WIDE: usize = 4;

/// Reads [`WIDE`] words, with no ordering, like a [`load`] of each, but by fewer instructions where we know them.
///
/// # Safety
/// As for [`load`] of each.
#[inline(always)]
pub(crate) unsafe fn load_wide(words: *const RacyWord) -> [RacyWord; WIDE] {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
    {
        use core::arch::x86_64::__m128i;
        let (low, high): (MaybeUninit<__m128i>, MaybeUninit<__m128i>);
        // SAFETY: contract of `load_wide`; two vectors are as large as four words, and any bytes are such words.
        unsafe {
            core::arch::asm!(
                "movups {low}, xmmword ptr [{words}]",
                "movups {high}, xmmword ptr [{words} + 16]",
                words = in(reg) words,
                low = out(xmm_reg) low,
                high = out(xmm_reg) high,
                options(nostack, preserves_flags),
            );
            core::mem::transmute([low, high])
        }
    }
    #[cfg(all(target_arch = "aarch64", target_pointer_width = "64", not(miri)))]
    {
        let (a, b, c, d): (RacyWord, RacyWord, RacyWord, RacyWord);
        // SAFETY: contract of `load_wide`. Both loads come before any output register is needed as the address.
        unsafe {
            core::arch::asm!(
                "ldp {a}, {b}, [{words}]",
                "ldp {c}, {d}, [{words}, #16]",
                words = in(reg) words,
                a = out(reg) a,
                b = out(reg) b,
                c = out(reg) c,
                d = out(reg) d,
                options(nostack, preserves_flags),
            );
        }
        [a, b, c, d]
    }
    #[cfg(any(
        miri,
        not(any(
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_pointer_width = "64")
        ))
    ))]
    // SAFETY: contract of `load_wide`, which is that of `load` for each word.
    core::array::from_fn(|word| unsafe { load(words.add(word)) })
}

/// Reads a word, with no ordering.
///
/// # Safety
/// `word` is aligned and readable; other threads write it with [`store`] only, unless that is ordered with this call.
#[inline(always)]
pub(crate) unsafe fn load(word: *const RacyWord) -> RacyWord {
    #[cfg(not(miri))]
    // SAFETY: contract of `load`; a load writes nothing.
    return unsafe { AtomicMaybeUninit::from_ptr(word.cast_mut()) }.load(Relaxed);
    #[cfg(miri)]
    // SAFETY: contract of `load`; one access at a time.
    one_at_a_time(|| unsafe { *word })
}

/// Writes a word, with no ordering.
///
/// # Safety
/// `word` is aligned and writable; other threads access it with [`load`], [`load_wide`] and [`store`] only, unless that
/// is ordered with this call.
#[inline(always)]
pub(crate) unsafe fn store(word: *mut RacyWord, value: RacyWord) {
    #[cfg(not(miri))]
    // SAFETY: contract of `store`.
    unsafe { AtomicMaybeUninit::from_ptr(word) }.store(value, Relaxed);
    #[cfg(miri)]
    // SAFETY: contract of `store`; one access at a time.
    one_at_a_time(|| unsafe { *word = value });
}

#[cfg(not(miri))]
use atomic_maybe_uninit::AtomicMaybeUninit;
#[cfg(not(miri))]
use core::sync::atomic::Ordering::Relaxed;

/// Runs an access in its own critical section. Miri runs no assembly, and has no other access that is atomic and
/// permits padding. Data may still be torn between two words, but a missing ordering would not show. (The models show
/// it.)
#[cfg(miri)]
fn one_at_a_time<R>(access: impl FnOnce() -> R) -> R {
    use core::sync::atomic::{AtomicBool, Ordering};
    static BUSY: AtomicBool = AtomicBool::new(false);
    // ORDERING racy.enter: pairs with racy.leave: shows the accesses before.
    while BUSY.swap(true, Ordering::Acquire) {
        core::hint::spin_loop();
    }
    let result = access();
    // ORDERING racy.leave: pairs with racy.enter: shows our access.
    BUSY.store(false, Ordering::Release);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_was_stored_in_order() {
        let mut words = [RacyWord::new(0); WIDE];
        for (number, word) in words.iter_mut().enumerate() {
            // SAFETY: contract of `store`: the word is our own.
            unsafe { store(word, RacyWord::new(usize::MAX - number)) };
        }
        // SAFETY: contracts of `load` and `load_wide`: the words are our own, and initialised.
        unsafe {
            let wide = load_wide(words.as_ptr());
            for number in 0..WIDE {
                assert_eq!(wide[number].assume_init(), usize::MAX - number);
                assert_eq!(load(&raw const words[number]).assume_init(), usize::MAX - number);
            }
        }
    }
}
