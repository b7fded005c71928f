//! The queue of optimistic spinners: a cancellable MCS queue in four bytes.
//!
//! Spinners of a sleeping lock wait in line here, each looking at its own node, so that one thread at a time
//! competes for the lock. Unlike in a plain MCS queue a waiter may leave at any time: when its budget is spent or
//! when the thread before it is off the CPU. (J. Mellor-Crummey and M. Scott, 1991; cancellable with static nodes
//! as in the Linux kernel's optimistic spin queue of 2014.)
//!
//! The word is the token of the last thread in the queue, 0: empty.
//!
//! Invariants:
//! 1. A node is reachable (by `tail`, or by a neighbour's `next` or `prev`) only between `lock` and the return of
//!    `unlock` or of a cancelled `lock`; nodes are static, so a stale look at one is a wrong value, never a wild
//!    pointer.
//! 2. A node's `next` is written by its successor (to itself) and taken back to 0 by whoever wins it with an exchange:
//!    the node's owner, who then decides for the successor, or the successor, who then leaves. One of the two gets it.
//! 3. `granted` is set once per stay, by the predecessor, after it won `next`.

use crate::platform::{Me, Platform, SpinEnd, SpinLimit, Token, Word};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// After so many looks at a neighbour that should be done in some instructions, it has probably been preempted there.
const LOOKS: u32 = 256;

/// Waits for a neighbour in the middle of a step, which may have to run on this very CPU.
struct Patience(u32);

impl Patience {
    #[track_caller]
    fn wait<P: Platform>(&mut self) {
        self.0 += 1;
        if self.0 < LOOKS {
            return P::relax();
        }
        self.0 = 0;
        P::yield_now();
    }
}

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
        self.tail.load(Relaxed) == 0
    }

    /// Makes `new` the tail if `current` is; says whether it was.
    fn replace_tail(&self, current: Token, new: u32) -> bool {
        // ORDERING osq.leave: Release pairs with osq.join: who comes next sees our node settled.
        self.tail.compare_exchange(current.get(), new, Release, Relaxed).is_ok()
    }

    /// Puts `token` at the end; returns the thread before it, if any.
    fn join(&self, token: Token) -> Option<Token> {
        // ORDERING osq.join: Release shows our cleared node to the one that follows; Acquire pairs with osq.leave and
        // with the predecessor's osq.join: its node is settled before we link to it.
        Token::new(self.tail.swap(token.get(), AcqRel))
    }

    /// Waits in the queue until first. After `Ok`, [`Osq::unlock`] must follow.
    ///
    /// `me` must be the calling thread and in no queue.
    ///
    /// # Errors
    /// Why the wait was given up: at `until`, or since the thread before is off the CPU.
    pub fn lock(&self, me: Me<P>, until: Option<u64>) -> Result<(), SpinEnd> {
        let node = &me.slot.node;
        node.next.store(0, Relaxed);
        node.granted.store(0, Relaxed);
        let Some(prev) = self.join(me.token) else { return Ok(()) };
        node.prev.store(prev.get(), Relaxed);
        // ORDERING osq.link: Release shows `prev` and the cleared node to the predecessor, which acquires `next`.
        P::slot(prev).node.next.store(me.token.get(), Release);
        let limit = SpinLimit { until, owner: Some(prev), ..SpinLimit::NONE };
        match P::spin_until(&node.granted, |g| g != 0, limit) {
            Err(end) if !self.cancel(me) => Err(end),
            Err(_) => Ok(()),
            Ok(_) => {
                // ORDERING osq.grant: pairs with the Release in `unlock`; shows what the predecessor did as first.
                node.granted.load(Acquire);
                Ok(())
            }
        }
    }

    /// Leaves the queue from its middle or end. `true` if we were made first meanwhile.
    #[cold]
    fn cancel(&self, me: Me<P>) -> bool {
        let node = &me.slot.node;
        let mut patience = Patience(0);
        // Step A: take our place back from the predecessor, so that it cannot make us first (invariant 2).
        let prev = loop {
            let prev = Token::new(node.prev.load(Relaxed)).expect("a linked node has a predecessor");
            // Relaxed: the exchange alone decides who gets the link.
            if P::slot(prev).node.next.compare_exchange(me.token.get(), 0, Relaxed, Relaxed).is_ok() {
                break prev;
            }
            // ORDERING osq.grant: as above.
            if node.granted.load(Acquire) != 0 {
                return true;
            }
            patience.wait::<P>(); // the predecessor leaves too, and is about to change our `prev` (step C)
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
        let (mut likely_last, mut patience) = (true, Patience(0));
        loop {
            // Our own node first: with a successor there, the tail's exchange would fail, and move the busiest line.
            if next.load(Relaxed) != 0 {
                // ORDERING osq.link: Acquire pairs with the Release of the successor.
                if let Some(token) = Token::new(next.swap(0, Acquire)) {
                    return Some(token);
                }
            }
            let last = likely_last || self.tail.load(Relaxed) == me.token.get();
            if last && self.replace_tail(me.token, new_tail) {
                return None;
            }
            likely_last = false;
            // The successor joined but has not linked itself yet, or left again: either changes what we look at.
            patience.wait::<P>();
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
