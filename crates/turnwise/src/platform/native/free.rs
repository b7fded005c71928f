//! The slots that threads may take: a stack of those that were returned, and those that were never taken.
//!
//! This file uses nothing but words, from the module around it: `proof/model` includes it, and checks it.

use super::{Platform, Word};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The free ones of `SLOTS` slots, by index. All-zero words: none was ever taken.
pub(crate) struct FreeSlots<P: Platform, const SLOTS: usize> {
    /// The top of the stack: index + 1 in the low half, a count of changes in the high half (against ABA).
    pub(crate) top: P::U64,
    /// The first of the slots that have never been taken.
    pub(crate) fresh: P::U32,
    /// By slot, while it is in the stack: the next one's index + 1, or 0.
    pub(crate) next: [P::U32; SLOTS],
}

impl<P: Platform, const SLOTS: usize> FreeSlots<P, SLOTS> {
    pub(crate) fn pop_free(&self) -> Option<u32> {
        // ORDERING thread.free: Acquire pairs with the Release in `push_free`; shows `next` and the clean slot.
        let mut top = self.top.load(Acquire);
        while top as u32 != 0 {
            let index = top as u32 - 1;
            let next = u64::from(self.next[index as usize].load(Relaxed));
            let new = (top >> 32).wrapping_add(1) << 32 | next;
            // ORDERING thread.free: Acquire pairs with the Release in `push_free`; a pop releases nothing.
            match self.top.compare_exchange(top, new, Acquire, Acquire) {
                Ok(_) => return Some(index),
                Err(found) => top = found,
            }
        }
        let mut fresh = self.fresh.load(Relaxed);
        while (fresh as usize) < SLOTS {
            match self.fresh.compare_exchange(fresh, fresh + 1, Relaxed, Relaxed) {
                Ok(_) => return Some(fresh),
                Err(found) => fresh = found,
            }
        }
        None
    }

    pub(crate) fn push_free(&self, index: u32) {
        let mut top = self.top.load(Relaxed);
        loop {
            self.next[index as usize].store(top as u32, Relaxed);
            let new = (top >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
            // ORDERING thread.free: Release pairs with the Acquire in `pop_free`; shows `next` and the clean slot.
            match self.top.compare_exchange(top, new, Release, Relaxed) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }
}
