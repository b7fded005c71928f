//! The protocol on a condition variable's two words. It is generic over the platform, so that the models run it.
//!
//! The invariants are those of `cond.rs`.
//!
//! ORDERING cond.word: all accesses of `word` are relaxed. A signal that must not miss a waiter comes from a thread
//! that locked the mutex after the waiter released it, and the mutex's release and acquire order the two; the futex
//! compares and queues under the kernel's lock.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::condvar::SpinThenSleep;
use turnwise::platform::{Deadline, Hint, IntWord, Lane, Platform, Word};

const COUNT_ONE: u64 = 1 << 32;
const POLLING: u64 = 1 << 63;
const DESTROYER: u32 = 1;
const INSIDE_ONE: u32 = 2;

fn sequence(word: u64) -> u32 {
    word as u32
}

fn count(word: u64) -> u64 {
    (word & !POLLING) >> 32
}

/// Returns the word after a notification, without `POLLING`.
fn next(word: u64, count: u64) -> u64 {
    count << 32 | u64::from(sequence(word).wrapping_add(1))
}

/// The words of a condition variable.
pub(crate) struct Words<'a, P: Platform> {
    /// The sequence, the count, and `POLLING`.
    pub(crate) word: &'a P::U64,
    /// Bit 0: a destroyer waits; bits 1..32: the number of threads that may yet touch the object.
    pub(crate) inside: &'a P::U32,
    /// What past polls have shown.
    pub(crate) spin_then_sleep: &'a SpinThenSleep<P>,
}

/// The beginning of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The sequence that the waiter has seen.
    pub(crate) seen: u32,
    /// Whether it polls before it sleeps: [`Words::poll`].
    pub(crate) polls: bool,
}

/// A notification for which a thread waited.
struct Notified {
    /// The word after it.
    word: u64,
    /// A polling waiter received it.
    polled: bool,
    /// Waiters sleep, or are about to.
    slept: bool,
}

/// How a waiter's sleep ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Its timeout expired, it was notified while it polled, or it never slept.
    ByItself,
    /// Another thread woke it.
    Woken,
    /// It is being cancelled, and may also have been woken.
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

    /// Begins a wait, before the mutex is released.
    pub(crate) fn arrive(&self) -> Arrival {
        self.inside.fetch_add(INSIDE_ONE, Relaxed);
        match self.begin_to_poll() {
            Some(seen) => Arrival { seen, polls: true },
            None => Arrival { seen: sequence(self.word.fetch_add(COUNT_ONE, Relaxed)), polls: false },
        }
    }

    /// Sets `POLLING` if no other thread waits and polling has paid; returns the sequence if it did.
    fn begin_to_poll(&self) -> Option<u32> {
        if P::hint(Hint::Cpus) < 2 {
            return None; // the signalling thread needs that CPU
        }
        let word = self.word.load(Relaxed);
        if count(word) > 0 || self.is_polled(word) {
            return None;
        }
        self.spin_then_sleep.begin(self.word, word, word & !POLLING, word | POLLING).then_some(sequence(word))
    }

    /// Returns whether a thread of this process polls the sequence.
    fn is_polled(&self, word: u64) -> bool {
        word & POLLING != 0 && self.spin_then_sleep.is_of_this_process()
    }

    /// Polls for a notification for some microseconds, after an arrival that allows it; returns whether one came.
    /// Otherwise the caller is counted, and goes to sleep.
    pub(crate) fn poll(&self, seen: u32, deadline: Option<Deadline>) -> bool {
        self.spin_then_sleep.watch(self.word, |now| sequence(now) != seen, deadline) || self.stop_polling(seen)
    }

    /// Clears `POLLING` and counts the caller, which set it; returns whether it was notified instead.
    fn stop_polling(&self, seen: u32) -> bool {
        let mut word = self.word.load(Relaxed);
        while sequence(word) == seen {
            match self.word.compare_exchange(word, (word & !POLLING) + COUNT_ONE, Relaxed, Relaxed) {
                Ok(_) => return false,
                Err(found) => word = found,
            }
        }
        true
    }

    /// Ends a wait whose mutex could not be released. Notifications since its start may have been for another waiter.
    pub(crate) fn give_up(&self, arrival: Arrival, may_overtake: fn() -> bool) {
        if arrival.polls && self.stop_polling(arrival.seen) {
            self.signal();
        }
        self.leave(arrival.seen, Leave::ByItself, may_overtake);
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

    /// Subtracts 1 from the count if the sequence is still `seen` (invariant 1); returns whether it is.
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

    /// Wakes all threads that sleep or are about to, whatever the count; all are changed afterwards.
    #[cold]
    fn wake_all(&self) {
        let mut word = self.word.load(Relaxed);
        while let Err(found) = self.word.compare_exchange(word, next(word, 0), Relaxed, Relaxed) {
            word = found;
        }
        self.wake(u32::MAX);
    }

    /// Wakes one waiter, if there is any.
    #[inline(always)]
    pub(crate) fn signal(&self) {
        if self.is_waited_for() {
            self.signal_waiter();
        }
    }

    /// Wakes all waiters, if there are any.
    #[inline(always)]
    pub(crate) fn broadcast(&self) {
        if self.is_waited_for() {
            self.signal_waiters();
        }
    }

    /// Returns whether any waiter is counted or polls.
    #[inline(always)]
    fn is_waited_for(&self) -> bool {
        self.word.load(Relaxed) >= COUNT_ONE
    }

    #[inline(never)]
    fn signal_waiter(&self) {
        let to_one = |count: u64, polled: bool| if polled { count } else { count.saturating_sub(1) };
        let Some(Notified { word, polled: false, .. }) = self.advance(to_one) else { return };
        if self.wake(1) == 0 {
            // Unchanged: no thread arrived since (arrivals change the word), and none sleeps (invariant 1).
            let _ = self.word.compare_exchange(word, u64::from(sequence(word)), Relaxed, Relaxed);
        }
    }

    #[inline(never)]
    fn signal_waiters(&self) {
        if let Some(Notified { slept: true, .. }) = self.advance(|_, _| 0) {
            self.wake(u32::MAX);
        }
    }

    /// Adds 1 to the sequence, clears `POLLING`, and changes the count, by `change`, which receives it and whether a
    /// thread polls; does nothing if no thread waits.
    fn advance(&self, change: impl Fn(u64, bool) -> u64) -> Option<Notified> {
        let mut old = self.word.load(Relaxed);
        loop {
            let polled = self.is_polled(old);
            // A flag without its thread, from before a `fork`: it may have been set by the thread that forked.
            let slept = count(old) > 0 || old & POLLING != 0 && !polled;
            if !polled && !slept {
                return None;
            }
            let word = next(old, change(count(old), polled));
            match self.word.compare_exchange(old, word, Relaxed, Relaxed) {
                Ok(_) => return Some(Notified { word, polled, slept }),
                Err(found) => old = found,
            }
        }
    }

    /// Waits until no waiter touches the object any more. Like the C library's, it waits forever while a thread sleeps.
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
