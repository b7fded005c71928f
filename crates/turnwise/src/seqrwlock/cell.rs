//! The payload: a `T` in whole words, which can be read while it is being written.
//!
//! Every access from a shared reference to a payload that another thread may be writing goes word by word through
//! [`racy`]; the result of a read may be torn, and is a `T` only after the sequence confirms it.

use crate::platform::racy::{self, RacyWord, WIDE};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// A `T` at the start of the smallest number of whole words that holds it.
#[repr(C)]
struct Words<T> {
    align: [RacyWord; 0],
    value: MaybeUninit<T>,
}

impl<T> Words<T> {
    const COUNT: usize = size_of::<Self>() / size_of::<RacyWord>();
}

/// The payload of a sequence lock.
#[repr(transparent)]
pub(super) struct SeqCell<T>(UnsafeCell<Words<T>>);

impl<T: Copy> SeqCell<T> {
    pub(super) const fn new(value: T) -> Self {
        SeqCell(UnsafeCell::new(Words { align: [], value: MaybeUninit::new(value) }))
    }

    pub(super) const fn as_ptr(&self) -> *mut T {
        self.0.get().cast()
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        // SAFETY: it is always initialised where `&mut self` is possible: only `store` changes it, to a whole `T`.
        unsafe { self.0.get_mut().value.assume_init_mut() }
    }

    /// Copies the payload. The copy may be torn if `store` runs meanwhile; otherwise it is a `T`.
    #[inline(always)]
    pub(super) fn load(&self) -> MaybeUninit<T> {
        let mut copy = Words { align: [], value: MaybeUninit::uninit() };
        let (from, to) = (self.0.get().cast::<RacyWord>(), (&raw mut copy).cast::<RacyWord>());
        let wide = Words::<T>::COUNT - Words::<T>::COUNT % WIDE;
        for word in (0..wide).step_by(WIDE) {
            // SAFETY: contract of `racy::load_wide`: both have these words, aligned; `copy` is ours; only `store`
            // writes to the payload while it can be shared.
            unsafe { to.add(word).cast::<[RacyWord; WIDE]>().write(racy::load_wide(from.add(word))) };
        }
        for word in wide..Words::<T>::COUNT {
            // SAFETY: contract of `racy::load`: both have this word, aligned; `copy` is ours; only `store` writes to
            // the payload while it can be shared.
            unsafe { to.add(word).write(racy::load(from.add(word))) };
        }
        copy.value
    }

    /// Replaces the payload, not in a single step.
    ///
    /// # Safety
    /// No other thread stores, or has a reference to the payload.
    #[inline(always)]
    pub(super) unsafe fn store(&self, value: T) {
        let new = Words { align: [], value: MaybeUninit::new(value) };
        let (from, to) = ((&raw const new).cast::<RacyWord>(), self.0.get().cast::<RacyWord>());
        for word in 0..Words::<T>::COUNT {
            // SAFETY: contract of `racy::store`: both have this word, aligned; by that of `SeqCell::store` other
            // threads only load.
            unsafe { racy::store(to.add(word), from.add(word).read()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Odd {
        name: &'static str,
        small: u8,
        large: u32,
    }

    fn round_trip<T: Copy + PartialEq + core::fmt::Debug>(before: T, after: T) {
        let mut cell = SeqCell::new(before);
        // SAFETY: contract of `store`: there is one thread, and no reference to the payload.
        unsafe {
            assert_eq!(cell.load().assume_init(), before);
            cell.store(after);
            assert_eq!(cell.load().assume_init(), after);
        }
        assert_eq!(*cell.get_mut(), after);
    }

    #[test]
    fn payloads_of_every_size_and_with_padding_survive() {
        round_trip((), ());
        round_trip(1_u8, 2);
        round_trip([1_u8; 13], [2; 13]);
        round_trip([1_u64; 4], [2; 4]);
        round_trip((1_u8, 2_u64, 3_u16), (4, 5, 6));
        round_trip(Odd { name: "before", small: 1, large: 2 }, Odd { name: "after", small: 3, large: 4 });
        round_trip(1_u128, u128::MAX);
        round_trip([1_u64; 11], core::array::from_fn(|n| n as u64));
    }
}
