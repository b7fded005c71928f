//! The protocol on a condition variable's two words. It is generic over the platform, so that the models run it.
//!
//! The invariants are those of `cond.rs`.
//!
//! ORDERING cond.word: all accesses of `word` are relaxed. A signal that must not miss a waiter comes from a thread
//! that locked the mutex after the waiter released it, and the mutex's release and acquire order the two; the futex
//! compares and queues under the kernel's own lock.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Platform, Word};

const COUNT_ONE: u64 = 1 << 32;
const DESTROYER: u32 = 1;
const INSIDE_ONE: u32 = 2;

fn sequence(word: u64) -> u32 {
    word as u32
}

fn count(word: u64) -> u64 {
    word >> 32
}

fn next(word: u64, count: u64) -> u64 {
    count << 32 | u64::from(sequence(word).wrapping_add(1))
}

/// The words of a condition variable.
pub(crate) struct Words<'a, P: Platform> {
    /// The sequence and the count.
    pub(crate) word: &'a P::U64,
    /// Bit 0: a destroyer waits; bits 1..32: the number of threads that may yet touch the object.
    pub(crate) inside: &'a P::U32,
}

/// How a waiter's sleep ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Its time was up, or it never slept.
    ByItself,
    /// Another thread woke it.
    Woken,
    /// It is being cancelled, and may have been woken, too.
    Cancelled,
}

impl<P: Platform> Words<'_, P> {
    /// Returns the futex: the sequence's half of the word. Nothing in user space reads it by this pointer.
    pub(crate) fn futex(&self) -> *const P::U32 {
        const { assert!(cfg!(target_endian = "little"), "the sequence must be the first half") };
        ptr::from_ref(self.word).cast()
    }

    fn wake(&self, count: u32) -> u32 {
        P::wake(self.futex(), Lane::Waiters, count)
    }

    /// Begins a wait, before the mutex is released; returns the sequence to sleep on.
    pub(crate) fn arrive(&self) -> u32 {
        self.inside.fetch_add(INSIDE_ONE, Relaxed);
        sequence(self.word.fetch_add(COUNT_ONE, Relaxed))
    }

    /// Ends a wait, after the sleep: the thread is no longer counted. The object may be gone afterwards.
    /// `may_overtake`: whether the kernel may wake this thread before some that slept earlier.
    pub(crate) fn leave(&self, seen: u32, how: Leave, may_overtake: fn() -> bool) {
        let unchanged = self.uncount(seen);
        match how {
            Leave::Woken | Leave::Cancelled if unchanged && may_overtake() => self.wake_all(), // invariant 3
            Leave::Cancelled if !unchanged => {
                self.wake(1); // invariant 4
            }
            _ => {}
        }
        let inside = ptr::from_ref(self.inside);
        // ORDERING cond.inside: pairs with the Acquire in `destroy`: our accesses come before the object's end.
        if self.inside.fetch_sub(INSIDE_ONE, Release) == INSIDE_ONE | DESTROYER {
            P::wake(inside, Lane::Waiters, u32::MAX);
        }
    }

    /// Takes 1 back from the count if the sequence is still `seen` (invariant 1); returns whether it is.
    fn uncount(&self, seen: u32) -> bool {
        let mut word = self.word.load(Relaxed);
        while sequence(word) == seen && count(word) > 0 {
            match self.word.compare_exchange(word, word - COUNT_ONE, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        sequence(word) == seen
    }

    /// Wakes all threads that sleep or are about to, whatever the count: all are changed afterwards.
    #[cold]
    fn wake_all(&self) {
        let mut word = self.word.load(Relaxed);
        while let Err(found) = self.word.compare_exchange(word, next(word, 0), Relaxed, Relaxed) {
            word = found;
        }
        self.wake(u32::MAX);
    }

    /// Wakes one waiter, if there is any.
    pub(crate) fn signal(&self) {
        let Some(word) = self.advance(|count| count - 1) else { return };
        if self.wake(1) == 0 {
            // Unchanged: no thread arrived since (arrivals raise the count), and none sleeps (invariant 1).
            let _ = self.word.compare_exchange(word, u64::from(sequence(word)), Relaxed, Relaxed);
        }
    }

    /// Wakes all waiters, if there are any.
    pub(crate) fn broadcast(&self) {
        if self.advance(|_| 0).is_some() {
            self.wake(u32::MAX);
        }
    }

    /// Adds 1 to the sequence and changes the count, unless the count is 0; returns the new word.
    fn advance(&self, change: impl Fn(u64) -> u64) -> Option<u64> {
        let mut old = self.word.load(Relaxed);
        while count(old) > 0 {
            let new = next(old, change(count(old)));
            match self.word.compare_exchange(old, new, Relaxed, Relaxed) {
                Ok(_) => return Some(new),
                Err(found) => old = found,
            }
        }
        None
    }

    /// Waits until no waiter touches the object any more. Like the C library's, it waits for ever while a thread
    /// sleeps.
    pub(crate) fn destroy(&self) {
        // ORDERING cond.inside: pairs with the Release in `leave`.
        let mut inside = self.inside.load(Acquire);
        while inside != 0 {
            inside = self.inside.fetch_or(DESTROYER, Acquire) | DESTROYER;
            if inside == DESTROYER {
                return self.inside.store(0, Relaxed);
            }
            P::park(self.inside, inside, Lane::Waiters, None);
            // ORDERING cond.inside: pairs with the Release in `leave`.
            inside = self.inside.load(Acquire);
        }
    }
}
