//! The queued spin lock: an MCS queue of waiters in front of a lock bit, in one word of four bytes. Waiters queue, each
//! spinning on its own static node; only the head of the queue spins on the word. The node is needed only while
//! waiting, so the lock is released without it and fits wherever a plain spin lock fits. (J. Mellor-Crummey and M.
//! Scott, 1991, for the queue; in front of a lock word as in Linux's queued spin locks, 2014.) Example:
//! [`QueuedSpinLock`].
//!
//! ```text
//! lock     0 -> HELD; else clear my node, and exchange the tail for me; a predecessor: prev.next = me, poll my granted
//!          head: poll until HELD is clear; set it; I am the tail: clear that, else wait for next: next.granted = 1
//! attempt  (timed, no slot, or node in use) poll until HELD is clear, and set it, whatever the tail
//! try      0 -> HELD
//! unlock   clear HELD
//! ```
//!
//! The word, 4 bytes:
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0..16 | tail | token of the queue's last thread, 0: none | a thread that joins | the last, as it takes the lock |
//! | 16 | `HELD` | the lock is held | the thread that takes it | the owner, in `unlock` |
//!
//! | tail | `HELD` | state |
//! |---|---|---|
//! | 0 | 0 | free |
//! | 0 | 1 | held, empty queue |
//! | t | 1 | held, the queue waits |
//! | t | 0 | just released; the head of the queue is about to take it |
//!
//! Invariants:
//! 1. The thread that sets `HELD` has the lock until it clears it.
//! 2. A node is reachable only while its thread is in `wait_in_queue`; a thread leaves the queue by resetting the tail
//!    to 0, or after its successor linked itself and was made head. Nodes are static: a stale read of one yields a
//!    wrong value, never a wild pointer.
//! 3. Only the head, and threads that cannot join the queue, try to set `HELD` while there is a queue.
//! 4. Clearing `HELD` is the owner's last access: the next owner may free the memory. A head that has taken the lock
//!    does not touch the word again until it releases it.
//! 5. A node that is gone (invariant 5 of [`crate::osq`]) was left in the queue by a jump out of a signal handler, or
//!    by the end of its thread. The thread behind it is a head: there may be several then, which compete for the word.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread at a time owns the lock; it sees what earlier owners wrote (queued.acquire, queued.release).
//! - A2. The release is the owner's last access (invariant 4).
//! - P1. Threads in the queue are served in the order in which they joined.
//! - P2. A thread that cannot join competes with the head, overtakes the queue, and may be overtaken for ever: one
//!   without a slot ([`Platform::me`] is `None`: all slots are taken, or it is exiting), a signal handler that
//!   interrupted a wait of its thread, whose node is in use, and a timed wait, since a place in the queue cannot be
//!   given up.
//! - P3. **Fork.** A queue that is copied into a forked child has waiters that do not exist there: the child must not
//!   use a lock that others waited for. [`SpinLock`](super::SpinLock) has no queue.

use crate::events::{Counters, Event, Kind};
use crate::lock::Lock;
use crate::osq::{Node, Polls};
use crate::platform::{DefaultPlatform, IntWord, Me, Platform, SpinLimit, Token, Word};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const TAIL: u32 = 0xffff;
const HELD: u32 = 1 << 16;

/// Returns the word after the head `me` has taken the lock: without a tail if `me` is the last in the queue.
const fn taken_by_head(word: u32, me: u32) -> u32 {
    if word & TAIL == me { HELD } else { word | HELD }
}

/// A queued spin lock without data. All-zero bytes are an unlocked lock.
///
/// ```
/// use turnwise::{RawLock, RawQueuedSpinLock};
///
/// static LOCK: RawQueuedSpinLock = RawQueuedSpinLock::new();
/// assert!(LOCK.try_lock() && !LOCK.try_lock());
/// ```
#[repr(C)]
pub struct RawQueuedSpinLock<P: Platform = DefaultPlatform> {
    word: P::U32,
    counters: Counters<{ Kind::QueuedSpinLock as usize }>,
}

/// Data of type `T` behind a queued spin lock: first come, first served, each waiter spinning on its own node.
///
/// `try_lock_for` and `try_lock_until` wait outside the queue and overtake it.
///
/// ```
/// use turnwise::QueuedSpinLock;
///
/// static LOCK: QueuedSpinLock<u64> = QueuedSpinLock::new(7);
/// *LOCK.lock() += 1;
/// assert_eq!(*LOCK.lock(), 8);
/// ```
pub type QueuedSpinLock<T, P = DefaultPlatform> = Lock<RawQueuedSpinLock<P>, T>;

raw_constructors!(default RawQueuedSpinLock, "an unlocked lock", { word: U32, counters: (Counters::new()), });
data_constructors!(Lock, RawQueuedSpinLock [] [], "an unlocked lock");

// SAFETY: `HELD` is set by one thread at a time (invariant 1), with a deadline, too, which acquires what
// `queued.release` released; clearing it is the last access (invariant 4).
spin_lock!([] RawQueuedSpinLock<P>, "QueuedSpinLock", SpunQueued, |lock| lock.take());

const fn is_held(word: u32) -> bool {
    word & HELD != 0
}

impl<P: Platform> RawQueuedSpinLock<P> {
    /// Takes a free lock whose queue is empty.
    #[inline]
    fn take(&self) -> bool {
        // ORDERING queued.acquire: pairs with queued.release; shows what the last owner wrote.
        self.word.compare_exchange(0, HELD, Acquire, Relaxed).is_ok()
    }

    #[inline]
    fn release(&self) {
        // ORDERING queued.release: pairs with queued.acquire; changes of the tail meanwhile keep the chain, since they
        // are read-modify-writes.
        self.word.fetch_and(!HELD, Release);
    }

    #[cold]
    fn lock_slow(&self) {
        match P::me() {
            Some(me) if !me.slot.private.node_busy.replace(true) => {
                self.wait_in_queue(me);
                me.slot.node_is_back();
            }
            _ => {
                self.counters.count(Event::SpinLeftOut);
                self.attempt(None);
            }
        }
    }

    fn wait_in_queue(&self, me: Me<P>) {
        let node = &me.slot.node;
        // Step A: join at the end, and wait for our predecessor to make us head.
        node.next.store(0, Relaxed);
        node.granted.store(0, Relaxed);
        node.join(P::generation());
        if let Some(prev) = self.join(me.token.get()) {
            // Relaxed: `prev` took the lock after our join, and saw our cleared node with the word (queued.acquire).
            let prev = &P::slot(prev).node;
            prev.next.store(me.token.get(), Relaxed);
            Self::await_grant(node, prev);
        }
        // Step B: we are head of the queue: take the lock.
        if self.take_as_head(me.token.get()) & TAIL == me.token.get() {
            return; // we were the last in the queue, and reset the tail
        }
        // Step C: our successor is about to link itself, or has done so; it becomes head while we have the lock.
        if let Some(next) = Self::await_next(node) {
            // Relaxed: the word, not the grant, orders the data.
            P::slot(next).node.granted.store(1, Relaxed);
        }
    }

    /// Waits until the predecessor makes this node's thread head, or has abandoned its node (invariant 5).
    fn await_grant(node: &Node<P>, prev: &Node<P>) {
        let _ = P::spin_until(&node.granted, |granted| granted != 0 || prev.is_gone(), SpinLimit::NONE);
    }

    /// Waits for this node's successor to link itself; returns `None` if that has left in between, and the node stays.
    fn await_next(node: &Node<P>) -> Option<Token> {
        if !P::calls_may_be_left() {
            return P::spin_until(&node.next, |next| next != 0, SpinLimit::NONE).ok().and_then(Token::new);
        }
        let mut polls = Polls::default();
        loop {
            let next = Token::new(node.next.load(Relaxed));
            if next.is_some() {
                return next;
            }
            if !polls.wait::<P>() {
                node.lose();
                return None;
            }
        }
    }

    /// Appends `token` to the queue; returns its predecessor.
    fn join(&self, token: u32) -> Option<Token> {
        let mut word = self.word.load(Relaxed);
        loop {
            // ORDERING queued.join: Release shows our cleared node to the next to join, whose Acquire pairs with
            // queued.join here, in `join`: so our predecessor's node is cleared before we link to it.
            match self.word.compare_exchange(word, word & !TAIL | token, AcqRel, Relaxed) {
                Ok(_) => return Token::new(word & TAIL),
                Err(found) => word = found,
            }
        }
    }

    /// Takes the lock when it is free, and resets the tail if `me` is the last; returns the previous word.
    fn take_as_head(&self, me: u32) -> u32 {
        loop {
            let Ok(word) = P::spin_until(&self.word, |word| !is_held(word), SpinLimit::NONE) else { continue };
            // ORDERING queued.acquire: pairs with queued.release, as in `take`.
            if self.word.compare_exchange(word, taken_by_head(word, me), Acquire, Relaxed).is_ok() {
                return word;
            }
        }
    }

    /// Takes the lock when it is free, whether or not there is a queue; returns `false` at `until`.
    fn attempt(&self, until: Option<u64>) -> bool {
        loop {
            let limit = SpinLimit { until, ..SpinLimit::NONE };
            let Ok(word) = P::spin_until(&self.word, |word| !is_held(word), limit) else { return false };
            // ORDERING queued.acquire: pairs with queued.release, as in `take`.
            if self.word.compare_exchange(word, word | HELD, Acquire, Relaxed).is_ok() {
                return true;
            }
        }
    }
}

shows!([P: Platform] RawQueuedSpinLock<P>, |lock| held: is_held(lock.word.load(Relaxed)),
    tail: lock.word.load(Relaxed) & TAIL);

#[cfg(not(feature = "stats"))]
const _: () = assert!(size_of::<RawQueuedSpinLock>() == 4, "one word");
const _: () = assert!(Token::LIMIT <= TAIL + 1, "a token must fit the tail");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawLock;

    #[test]
    fn the_last_head_takes_the_tail_back() {
        assert_eq!(taken_by_head(5, 5), HELD);
        assert_eq!(taken_by_head(6, 5), HELD | 6);
    }

    #[test]
    fn try_lock_respects_the_line_and_a_competitor_does_not() {
        let lock = RawQueuedSpinLock::new();
        lock.word.store(9, Relaxed);
        assert!(!lock.try_lock());
        assert!(lock.attempt(Some(0)));
        assert_eq!(lock.word.load(Relaxed), HELD | 9);
        // SAFETY: contract of `RawLock::unlock`: this thread has just acquired the lock.
        unsafe { lock.unlock() };
        assert_eq!(lock.word.load(Relaxed), 9);
    }

    #[test]
    fn a_thread_whose_node_is_in_use_competes() {
        let Some(me) = DefaultPlatform::me() else { return };
        let lock = RawQueuedSpinLock::new();
        me.slot.private.node_busy.set(true);
        lock.lock_slow();
        assert_eq!(lock.word.load(Relaxed), HELD);
        me.slot.private.node_busy.set(false);
    }
}
