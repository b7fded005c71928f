//! The ticket lock: draw a number, wait until it is served. (D. Reed and R. Kanodia, "Synchronization with Eventcounts
//! and Sequencers", 1979.) Example: [`TicketLock`].
//!
//! ```text
//! lock    free: next + 1, by an exchange; else wait until fewer than FULL tickets are out, draw (next + 1), and back
//!         off until serving is my ticket
//! try     free: next + 1, by an exchange, once
//! timed   poll until it is free, try; again until the deadline
//! unlock  serving + 1
//! ```
//!
//! The word, 4 bytes:
//!
//! | bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 0..16 | serving | the ticket that has the lock, or will have it once drawn | the owner, in `unlock` |
//! | 16..32 | next | the ticket that the next thread draws | a thread that draws |
//!
//! | state (modulo 2^16) | when |
//! |---|---|
//! | free | next = serving |
//! | held, no waiters | next = serving + 1 |
//! | held, `n` wait | next = serving + 1 + n |
//!
//! Invariants:
//! 1. A ticket is drawn once per round of 2^16; its holder has the lock while serving equals it.
//! 2. Only the owner changes serving, so its own read of it is never stale.
//! 3. The addition in `unlock` is the owner's last access: the next owner may free the memory.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread at a time owns the lock; it sees what earlier owners wrote (ticket.acquire, ticket.turn,
//!   ticket.release).
//! - A2. The release is the owner's last access (invariant 3).
//! - P1. Threads with a ticket are served in the order in which they drew. At most 65535 tickets may be out, or next
//!   would wrap around to serving and the lock would appear free. From `FULL` (32768) on newcomers therefore draw none:
//!   they wait, in no order. To exceed the limit nonetheless, 32768 more threads would have to be between that check
//!   and their draw at once.
//! - P2. A drawn ticket cannot be given back, so a wait that may time out draws none. Such a waiter overtakes no other,
//!   and may be overtaken for ever.
//! - P3. **Fork.** A queue that is copied into a forked child has waiters that do not exist there: the child must not
//!   use a lock that others waited for. [`SpinLock`](super::SpinLock) has no queue.

use crate::backoff::{Backoff, NoBackoff};
use crate::events::{Counters, Event, Kind};
use crate::lock::Lock;
use crate::platform::{DefaultPlatform, IntWord, Platform, SpinLimit, Word};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const ONE_DRAWN: u32 = 1 << 16;
/// The number of tickets out from which newcomers wait without one.
const FULL: u32 = 1 << 15;

const fn serving(word: u32) -> u16 {
    word as u16
}

const fn next(word: u32) -> u16 {
    (word >> 16) as u16
}

/// Returns the number of tickets out: those of the owner and the waiters.
const fn out(word: u32) -> u32 {
    next(word).wrapping_sub(serving(word)) as u32
}

/// Returns the number of owners that come before `ticket`.
const fn turns(word: u32, ticket: u16) -> u32 {
    ticket.wrapping_sub(serving(word)) as u32
}

/// Returns the addend to the word that increments serving and leaves next unchanged.
const fn serve_next(word: u32) -> u32 {
    if serving(word) == u16::MAX { (u16::MAX as u32).wrapping_neg() } else { 1 }
}

/// A ticket lock without data. All-zero bytes are an unlocked lock.
///
/// ```
/// use turnwise::{RawLock, RawTicketLock};
///
/// static LOCK: RawTicketLock = RawTicketLock::new();
/// assert!(LOCK.try_lock() && !LOCK.try_lock());
/// ```
#[repr(C)]
pub struct RawTicketLock<B: Backoff = NoBackoff, P: Platform = DefaultPlatform> {
    word: P::U32,
    backoff: PhantomData<fn() -> B>,
    counters: Counters<{ Kind::TicketLock as usize }>,
}

/// Data of type `T` behind a ticket lock: first come, first served.
///
/// `try_lock_for` and `try_lock_until` wait outside the queue and get the lock only when the queue is empty.
///
/// ```
/// use turnwise::TicketLock;
///
/// static LOCK: TicketLock<u64> = TicketLock::new(7);
/// assert_eq!(*LOCK.lock(), 7);
/// ```
///
/// With back-off by the number of threads ahead: [`Proportional`](crate::backoff::Proportional).
pub type TicketLock<T, B = NoBackoff, P = DefaultPlatform> = Lock<RawTicketLock<B, P>, T>;

raw_constructors!(plain RawTicketLock [B: Backoff,] [B,], "an unlocked lock", {
    word: U32,
    backoff: (PhantomData),
    counters: (Counters::new()),
});
data_constructors!(plain Lock, RawTicketLock [B: Backoff,] [B,], "an unlocked lock");

// SAFETY: one ticket is served at a time (invariants 1 and 2), which `lock_until` draws as `try_lock` does; a thread
// that sees its turn acquires what the last owner released; the addition in `release` is its last access (invariant 3).
spin_lock!([B: Backoff,] RawTicketLock<B, P>, "TicketLock", SpunQueued, |lock| lock.take());

const fn is_held(word: u32) -> bool {
    out(word) != 0
}

impl<B: Backoff, P: Platform> RawTicketLock<B, P> {
    /// Takes a free lock, by drawing a ticket whose turn it is.
    #[inline]
    fn take(&self) -> bool {
        let word = self.word.load(Relaxed);
        // ORDERING ticket.acquire: pairs with ticket.release; shows what the last owner wrote.
        out(word) == 0 && self.word.compare_exchange(word, word.wrapping_add(ONE_DRAWN), Acquire, Relaxed).is_ok()
    }

    #[inline]
    fn release(&self) {
        let step = serve_next(self.word.load(Relaxed)); // not stale: invariant 2
        // ORDERING ticket.release: pairs with ticket.acquire and ticket.turn; later draws keep the chain, since they
        // are read-modify-writes.
        self.word.fetch_add(step, Release);
    }

    /// Waits in the queue.
    #[cold]
    fn lock_slow(&self) {
        // Step A: wait until there are tickets to draw (see Limit).
        if out(self.word.load(Relaxed)) >= FULL {
            let _ = P::spin_until(&self.word, |word| out(word) < FULL, SpinLimit::NONE);
        }
        // Step B: draw. It is ordered by the Acquire of step C or D.
        let drawn = self.word.fetch_add(ONE_DRAWN, Relaxed);
        // Step C: wait for our turn.
        let ticket = next(drawn);
        let _ = Self::backoff().wait::<P>(&self.word, |word| turns(word, ticket), None);
        // ORDERING ticket.turn: pairs with ticket.release; shows what the last owner wrote.
        self.word.load(Acquire);
    }

    /// Begins a wait. The word shows how many tickets come before, not which thread is the owner.
    fn backoff() -> B {
        const { assert!(!B::READS_MARKS, "a ticket lock's word has no mark of its owner") };
        B::start()
    }

    /// Waits outside the queue for the lock to be free, then tries to take it; returns `false` at `until`, too.
    fn attempt(&self, until: Option<u64>) -> bool {
        loop {
            if Self::backoff().wait::<P>(&self.word, out, until).is_err() {
                return false;
            }
            if self.take() {
                return true;
            }
        }
    }
}

shows!([B: Backoff, P: Platform] RawTicketLock<B, P>, |lock| serving: serving(lock.word.load(Relaxed)),
    next: next(lock.word.load(Relaxed)));

#[cfg(not(feature = "stats"))]
const _: () = assert!(size_of::<RawTicketLock>() == 4, "one word");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawLock;

    fn word(next: u16, serving: u16) -> u32 {
        u32::from(next) << 16 | u32::from(serving)
    }

    #[test]
    fn serving_comes_round_and_leaves_next_alone() {
        for (n, s) in [(1, 0), (7, 6), (0x8000, 0x7fff), (0, u16::MAX), (u16::MAX, u16::MAX - 1), (9, u16::MAX)] {
            let before = word(n, s);
            let after = before.wrapping_add(serve_next(before));
            assert_eq!((next(after), serving(after)), (n, s.wrapping_add(1)), "from {n}, {s}");
        }
    }

    #[test]
    fn tickets_out_and_turns_count_modulo_the_round() {
        assert_eq!(out(word(5, 5)), 0);
        assert_eq!(out(word(2, u16::MAX)), 3);
        assert_eq!(turns(word(2, u16::MAX), 1), 2);
        assert_eq!(turns(word(2, u16::MAX), u16::MAX), 0);
    }

    #[test]
    fn works_across_the_end_of_the_round() {
        let lock = RawTicketLock::new();
        lock.word.store(word(u16::MAX - 1, u16::MAX - 1), Relaxed);
        for _ in 0..4 {
            lock.lock();
            assert!(lock.is_locked() && !lock.try_lock());
            // SAFETY: contract of `RawLock::unlock`: this thread has just acquired the lock.
            unsafe { lock.unlock() };
        }
        assert_eq!(lock.word.load(Relaxed), word(2, 2));
    }

    #[test]
    fn a_full_line_gives_out_no_ticket() {
        let lock = RawTicketLock::new();
        lock.word.store(FULL << 16, Relaxed);
        std::thread::scope(|s| {
            s.spawn(|| lock.lock());
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(out(lock.word.load(Relaxed)), FULL);
            // SAFETY: stands for the holders of the tickets that this test made up; the spawned thread draws the next.
            (0..FULL).for_each(|_| unsafe { lock.unlock() });
        });
        assert_eq!(out(lock.word.load(Relaxed)), 1);
    }
}
