//! The queue of optimistic spinners: a cancellable MCS queue in four bytes.
//!
//! Spinners of a sleeping lock wait in line here, each looking at its own node, so that one thread at a time
//! competes for the lock. Unlike in a plain MCS queue a waiter may leave at any time: when its budget is spent or
//! when the thread before it is off the CPU. (J. Mellor-Crummey and M. Scott, 1991; cancellable with static nodes
//! as in the Linux kernel's optimistic spin queue of 2014.)
//!
//! The word:
//!
//! | bits | meaning |
//! |---|---|
//! | 0..16 | token of the last thread in the queue, 0: empty |
//! | 16..32 | a count that belongs to the lock around it ([`Osq::count`]); `Mutex` counts its sleepers here |
//!
//! Invariants:
//! 1. A node is reachable (by `tail`, or by a neighbour's `next` or `prev`) only between `lock` and the return of
//!    `unlock` or of a cancelled `lock`; nodes are static, so a stale look at one is a wrong value, never a wild
//!    pointer.
//! 2. A node's `next` is written by its successor (to itself) and taken back to 0 by whoever wins it with an exchange:
//!    the node's owner, who then decides for the successor, or the successor, who then leaves. One of the two gets it.
//! 3. `granted` is set once per stay, by the predecessor, after it won `next`.

use crate::platform::{IntWord, Me, Platform, SpinLimit, Token, Word};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A thread's place in the queue.
pub struct Node<P: Platform> {
    pub(crate) next: P::U32,
    prev: P::U32,
    pub(crate) granted: P::U32,
}

impl<P: Platform> Node<P> {
    /// A node in no queue, on any platform.
    pub fn new_in() -> Self {
        Node { next: P::U32::new(0), prev: P::U32::new(0), granted: P::U32::new(0) }
    }
}

#[cfg(feature = "native")]
impl Node<crate::platform::Native> {
    /// A node for a static.
    pub(crate) const fn new() -> Self {
        use core::sync::atomic::AtomicU32;
        Node { next: AtomicU32::new(0), prev: AtomicU32::new(0), granted: AtomicU32::new(0) }
    }
}

const TAIL: u32 = 0xffff;
const COUNT_ONE: u32 = 1 << 16;

/// The queue. Zero bytes = empty.
#[repr(transparent)]
pub struct Osq<P: Platform> {
    tail: P::U32,
}

impl Osq<crate::platform::DefaultPlatform> {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Osq { tail: core::sync::atomic::AtomicU32::new(0) }
    }
}

impl Default for Osq<crate::platform::DefaultPlatform> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Osq<P> {
    /// An empty queue on any platform.
    pub fn new_in() -> Self {
        Osq { tail: P::U32::new(0) }
    }

    /// Whether nobody is in the queue.
    pub fn is_empty(&self) -> bool {
        self.tail.load(Relaxed) & TAIL == 0
    }

    /// The lock's count.
    pub fn count(&self) -> u32 {
        self.tail.load(Relaxed) / COUNT_ONE
    }

    /// Adds one to the lock's count.
    pub fn count_up(&self) {
        self.tail.fetch_add(COUNT_ONE, Relaxed);
    }

    /// Takes one from the lock's count.
    pub fn count_down(&self) {
        self.tail.fetch_sub(COUNT_ONE, Relaxed);
    }

    /// Makes `new` the tail if `current` is; returns the tail found.
    fn replace_tail(&self, current: u32, new: u32) -> Result<(), u32> {
        let mut word = self.tail.load(Relaxed);
        loop {
            if word & TAIL != current {
                return Err(word & TAIL);
            }
            // ORDERING osq.leave: Release pairs with the Acquire in `join`: who comes next sees our node settled.
            match self.tail.compare_exchange(word, word & !TAIL | new, Release, Relaxed) {
                Ok(_) => return Ok(()),
                Err(found) => word = found,
            }
        }
    }

    /// Puts `token` at the end; returns the thread before it, if any.
    fn join(&self, token: u32) -> Option<Token> {
        let mut word = self.tail.load(Relaxed);
        loop {
            // ORDERING osq.join: Release shows our cleared node to the one that follows; Acquire pairs with
            // osq.leave and with the predecessor's osq.join: its node is settled before we link to it.
            match self.tail.compare_exchange(word, word & !TAIL | token, AcqRel, Relaxed) {
                Ok(_) => return Token::new(word & TAIL),
                Err(found) => word = found,
            }
        }
    }

    /// Waits in the queue until first; `false` if the wait was given up at `until` or since the thread before is off
    /// the CPU. After `true`, [`Osq::unlock`] must follow.
    ///
    /// `me` must be the calling thread and in no queue.
    pub fn lock(&self, me: Me<P>, until: Option<u64>) -> bool {
        let node = &me.slot.node;
        node.next.store(0, Relaxed);
        node.granted.store(0, Relaxed);
        let Some(prev) = self.join(me.token.get()) else { return true };
        node.prev.store(prev.get(), Relaxed);
        // ORDERING osq.link: Release shows `prev` and the cleared node to the predecessor, which acquires `next`.
        P::slot(prev).node.next.store(me.token.get(), Release);
        if P::spin_until(&node.granted, |g| g != 0, SpinLimit { until, owner: Some(prev) }).is_ok() {
            // ORDERING osq.grant: pairs with the Release in `grant`; the critical section of being first.
            node.granted.load(Acquire);
            return true;
        }
        self.cancel(me)
    }

    /// Leaves the queue from its middle or end. `true` if we were made first meanwhile.
    #[cold]
    fn cancel(&self, me: Me<P>) -> bool {
        let node = &me.slot.node;
        // Step A: take our place back from the predecessor, so that it cannot make us first (invariant 2).
        let prev = loop {
            let prev = Token::new(node.prev.load(Relaxed)).expect("a linked node has a predecessor");
            // ORDERING osq.unlink: Acquire and Release as in osq.link: what we leave behind is settled.
            if P::slot(prev).node.next.compare_exchange(me.token.get(), 0, AcqRel, Relaxed).is_ok() {
                break prev;
            }
            // ORDERING osq.grant: as above.
            if node.granted.load(Acquire) != 0 {
                return true;
            }
            P::relax(); // the predecessor leaves too, and is about to change our `prev` (step C)
        };
        // Step B: find out who follows; if nobody does, the predecessor is the end again.
        let Some(next) = self.wait_next(me, prev.get()) else { return false };
        // Step C: join the two.
        let next_node = &P::slot(next).node;
        next_node.prev.store(prev.get(), Relaxed);
        // ORDERING osq.link: as in `lock`, on behalf of `next`.
        P::slot(prev).node.next.store(next.get(), Release);
        false
    }

    /// The thread after us, taken out of `next`; `None` if we were the end, which `new_tail` now is.
    fn wait_next(&self, me: Me<P>, new_tail: u32) -> Option<Token> {
        let next = &me.slot.node.next;
        loop {
            if self.replace_tail(me.token.get(), new_tail).is_ok() {
                return None;
            }
            if next.load(Relaxed) != 0 {
                // ORDERING osq.link: Acquire pairs with the Release of the successor.
                if let Some(token) = Token::new(next.swap(0, Acquire)) {
                    return Some(token);
                }
            }
            // The successor joined but has not linked itself yet, or left again: either changes what we look at.
            P::relax();
        }
    }

    /// Leaves the queue from its head; the next thread becomes first.
    pub fn unlock(&self, me: Me<P>) {
        if let Some(next) = self.wait_next(me, 0) {
            // ORDERING osq.grant: Release pairs with the Acquire in `lock`.
            P::slot(next).node.granted.store(1, Release);
        }
    }
}
