//! The queue of optimistic spinners: a cancellable MCS queue in four bytes. Spinners of a sleeping lock queue here,
//! each polling its own node, so that one thread at a time competes for the lock. (J. Mellor-Crummey and M. Scott,
//! 1991; cancellable with static nodes as in the Linux kernel's optimistic spin queue of 2014.) Example: [`Osq`].
//!
//! ```text
//! lock    clear my node; swap the tail for me; no predecessor, or one that is gone or another process's: first
//!         prev.next = me; poll granted until it is set (first), prev is off its CPU, or the time is up: cancel
//! cancel  prev.next me -> 0, or granted is set: first; or prev leaves, too, and changes my prev: again
//!         take my next out: next.prev = prev, prev.next = next; none: tail me -> prev
//! unlock  take my next out: next.granted = message + 1; none: tail me -> the spin hint
//! ```
//!
//! The word is the token of the last thread in the queue, with the generation of its process ([`Platform::generation`],
//! low bits) from bit 16 on. Token 0: the queue is empty, and those bits are a hint for any reader: a
//! thread that joins overwrites it, and a child inherits it.
//!
//! Invariants:
//! 1. A node is reachable (by `tail`, or by a neighbour's `next` or `prev`) only between `lock` and the return of
//!    `unlock` or of a cancelled `lock`; nodes are static, so a stale read of one yields a wrong value, never a wild
//!    pointer.
//! 2. A node's `next` is written by its successor (to itself) and reset to 0 by the thread that wins it with an
//!    exchange: the node's owner, which then decides for the successor, or the successor, which then leaves. Exactly
//!    one of the two wins it.
//! 3. `granted` is set once per stay, by the predecessor, after it won `next`; its value carries the predecessor's
//!    message.
//! 4. A node that is in a queue bears the generation of the process whose thread put it there, and so does the tail.
//!    Nodes of another generation were inherited in a `fork`: a thread with such a predecessor is the first, and no
//!    thread waits for one. A thread that joins checks the tail that it found: that node may meanwhile have joined
//!    again, behind it.
//! 5. A node that is gone (`Node::is_gone`) stays so, and its thread joins no queue with it again. The thread has left
//!    a wait in the middle, as by a jump out of a signal handler, or has given up on a neighbour that did. This may be
//!    at any instruction, so no wait for a step of a node's thread is unbounded where that can happen
//!    ([`Platform::calls_may_be_left`]). A thread with such a predecessor is the first. Others may be the first then,
//!    too: what the first does alongside others must be sound.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread at a time is first (but for invariant 5), and sees what the one before did as the first (osq.grant;
//!   osq.leave and osq.join where the queue was empty in between).
//! - A2. No node is reached after its stay (invariant 1).
//! - P1. Threads become first in the order in which they joined.
//! - P2. A waiter may leave from any place, and the queue stays whole (invariants 2 and 3); it waits only for steps of
//!   a neighbour that is joining or leaving itself.
//! - P3. No thread waits for one that a fork left out, or that has left in the middle (invariants 4 and 5).

use crate::platform::limits::{STEP_POLLS, STEP_ROUNDS};
use crate::platform::{DefaultPlatform, Me, Pause, Platform, SpinEnd, SpinLimit, Token, Word, YieldThenSleep};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Returns the word of a queue of this generation with `token` as the last thread.
fn tail(token: Token, generation: u32) -> u32 {
    token.get() | generation << Token::LIMIT.trailing_zeros()
}

/// Returns the word of an empty queue with this hint.
fn empty(spin_hint: u16) -> u32 {
    u32::from(spin_hint) << Token::LIMIT.trailing_zeros()
}

/// [`Node::generation`] of a node that is gone; no process is of this generation.
const GONE: u32 = u32::MAX;

/// A bounded wait for a neighbour that is in the middle of a step.
#[derive(Default)]
pub(crate) struct Polls {
    taken: u32,
    rounds: u32,
    yielder: YieldThenSleep,
}

impl Polls {
    /// Waits a little; returns `false` when the neighbour should no longer be waited for (invariant 5).
    #[track_caller]
    pub(crate) fn wait<P: Platform>(&mut self) -> bool {
        self.taken += 1;
        if self.taken < STEP_POLLS {
            P::pause(Pause::Relax);
            return true;
        }
        self.taken = 0;
        self.rounds += u32::from(P::calls_may_be_left());
        self.yielder.wait::<P>();
        self.rounds < STEP_ROUNDS
    }
}

/// A thread's place in the queue.
///
/// ```
/// use turnwise::osq::Node;
/// use turnwise::platform::Bare;
///
/// assert_eq!(Node::<Bare>::new_in().received(), None, "it was in no queue");
/// ```
pub struct Node<P: Platform> {
    pub(crate) next: P::U32,
    prev: P::U32,
    pub(crate) granted: P::U32,
    /// [`Platform::generation`] when its thread last joined a queue.
    generation: P::U32,
}

impl<P: Platform> Node<P> {
    /// Returns the value that the predecessor passed when it made this node's thread the first of a queue; `None` if it
    /// has been in none, or had no predecessor in the last one.
    pub fn received(&self) -> Option<u32> {
        self.granted.load(Relaxed).checked_sub(1)
    }

    /// Returns whether no thread will act on behalf of the node any longer (invariant 5).
    pub(crate) fn is_gone(&self) -> bool {
        P::calls_may_be_left() && self.generation.load(Relaxed) == GONE
    }

    /// Abandons the node where it is, for good (invariant 5).
    #[cold]
    pub(crate) fn lose(&self) {
        self.join(GONE);
    }

    /// Notes the generation of the process whose thread puts the node into a queue.
    pub(crate) fn join(&self, generation: u32) {
        self.generation.store(generation, Relaxed);
    }

    /// Returns whether a thread of this process, rather than of an ancestor, put the node where it is (invariant 4).
    fn is_of_this_process(&self) -> bool {
        self.generation.load(Relaxed) == P::generation()
    }
}

shows!([P: Platform] Node<P>, |node| received: node.received());

raw_constructors!(Node, "a node that is in no queue", { next: U32, prev: U32, granted: U32, generation: U32, });

/// A queue of spinners. All-zero bytes are an empty queue.
///
/// ```
/// use turnwise::osq::Osq;
///
/// static QUEUE: Osq<turnwise::platform::DefaultPlatform> = Osq::new();
/// assert!(QUEUE.is_empty());
/// ```
#[repr(transparent)]
pub struct Osq<P: Platform = DefaultPlatform> {
    tail: P::U32,
}

raw_constructors!(default Osq, "an empty queue", { tail: U32, });

shows!([P: Platform] Osq<P>, |queue| empty: queue.is_empty());

impl<P: Platform> Osq<P> {
    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.tail.load(Relaxed).is_multiple_of(Token::LIMIT)
    }

    /// Returns the hint that was left last, 0 if none was; `None` while a thread is in the queue, in place of the hint.
    pub fn spin_hint(&self) -> Option<u16> {
        let word = self.tail.load(Relaxed);
        word.is_multiple_of(Token::LIMIT).then_some((word / Token::LIMIT) as u16)
    }

    /// Replaces the queue's word by `new` if `me` is the tail; returns whether it was.
    fn replace_tail(&self, me: Me<P>, new: u32) -> bool {
        let generation = me.slot.node.generation.load(Relaxed);
        // ORDERING osq.leave: Release pairs with osq.join: the next thread to join sees our node in its final state.
        self.tail.compare_exchange(tail(me.token, generation), new, Release, Relaxed).is_ok()
    }

    /// Appends `token` with this generation; returns its predecessor, if any.
    fn join(&self, token: Token, generation: u32) -> Option<Token> {
        // ORDERING osq.join: Release shows our cleared node to our successor; Acquire pairs with osq.leave and with the
        // predecessor's osq.join: its node is in its final state before we link to it.
        let found = self.tail.swap(tail(token, generation), AcqRel);
        let prev = Token::new(found % Token::LIMIT)?;
        // The generation is read again: a signal handler may have forked since.
        (found == tail(prev, P::generation()) && !P::slot(prev).node.is_gone()).then_some(prev)
    }

    /// Removes, in a forked child, a node that was in the queue when a signal handler of its thread forked. All other
    /// threads then in the queue do not exist here, and those that joined since ignored the node (invariant 4).
    #[cold]
    fn abandon(&self, me: Me<P>) {
        self.replace_tail(me, empty(0));
    }

    /// Waits in the queue until the caller is first. After `Ok`, [`Osq::unlock`] must follow.
    ///
    /// `me` must be the calling thread and in no queue.
    ///
    /// # Errors
    /// The reason for giving up: `until` was reached, or the predecessor is off the CPU.
    pub fn lock(&self, me: Me<P>, until: Option<u64>) -> Result<(), SpinEnd> {
        let node = &me.slot.node;
        node.next.store(0, Relaxed);
        node.granted.store(0, Relaxed);
        let generation = P::generation();
        node.join(generation);
        let Some(prev) = self.join(me.token, generation) else { return Ok(()) };
        node.prev.store(prev.get(), Relaxed);
        // ORDERING osq.link: Release shows `prev` and the cleared node to the predecessor, which acquires `next`.
        P::slot(prev).node.next.store(me.token.get(), Release);
        match Self::wait_granted(node, until) {
            Err(end) if !self.cancel(me) => Err(end),
            Err(_) => Ok(()),
            Ok(()) => {
                // ORDERING osq.grant: pairs with the Release in `unlock`; shows what the predecessor did as first.
                node.granted.load(Acquire);
                Ok(())
            }
        }
    }

    /// Waits until the predecessor makes this node's thread the first.
    fn wait_granted(node: &Node<P>, until: Option<u64>) -> Result<(), SpinEnd> {
        loop {
            // The predecessor may change: step C of `cancel` stores the new one in `prev`.
            let prev = node.prev.load(Relaxed);
            let limit = SpinLimit { until, owner: Token::new(prev), ..SpinLimit::NONE };
            match P::spin_until(&node.granted, |g| g != 0, limit) {
                Ok(_) => return Ok(()),
                Err(SpinEnd::NotRunning) if node.prev.load(Relaxed) != prev => {}
                Err(end) => return Err(end),
            }
        }
    }

    /// Leaves the queue from its middle or end; returns `true` if we became first meanwhile. The node may be gone then.
    #[cold]
    fn cancel(&self, me: Me<P>) -> bool {
        let node = &me.slot.node;
        let mut polls = Polls::default();
        // Step A: take our link back from the predecessor, so that it cannot make us first (invariant 2).
        let prev = loop {
            let prev = Token::new(node.prev.load(Relaxed)).expect("a linked node has a predecessor");
            // Relaxed: the exchange alone decides who gets the link.
            if P::slot(prev).node.next.compare_exchange(me.token.get(), 0, Relaxed, Relaxed).is_ok() {
                break prev;
            }
            // ORDERING osq.grant: pairs with the Release in `unlock`, as in `lock`.
            if node.granted.load(Acquire) != 0 {
                return true;
            }
            if !node.is_of_this_process() {
                self.abandon(me);
                return false;
            }
            if P::slot(prev).node.is_gone() {
                return true; // invariant 5: we have no predecessor
            }
            // The predecessor leaves too, and is about to change our `prev` (step C).
            if !polls.wait::<P>() {
                node.lose();
                return false;
            }
        };
        // Step B: find the successor; if there is none, the predecessor is the end again.
        let before = tail(prev, node.generation.load(Relaxed));
        let Some(next) = self.wait_next(me, before) else { return false };
        // Step C: join the two.
        let next_node = &P::slot(next).node;
        next_node.prev.store(prev.get(), Relaxed);
        // ORDERING osq.link: as in `lock`, on behalf of `next`.
        P::slot(prev).node.next.store(next.get(), Release);
        false
    }

    /// Takes our successor out of `next`; returns `None` if we were the last, and the queue's word is now `left`.
    fn wait_next(&self, me: Me<P>, left: u32) -> Option<Token> {
        let next = &me.slot.node.next;
        let (mut likely_last, mut polls) = (true, Polls::default());
        loop {
            // Our own node first: with a successor, the tail's exchange would fail, and move the busiest cache line.
            if next.load(Relaxed) != 0 {
                // ORDERING osq.link: Acquire pairs with the Release of the successor.
                if let Some(token) = Token::new(next.swap(0, Acquire)) {
                    return Some(token);
                }
            }
            let last = likely_last || self.tail.load(Relaxed) % Token::LIMIT == me.token.get();
            if last && self.replace_tail(me, left) {
                return None;
            }
            likely_last = false;
            if !me.slot.node.is_of_this_process() {
                self.abandon(me);
                return None;
            }
            // The successor joined but has not linked itself yet, or left again: either changes a word that we poll.
            if !polls.wait::<P>() {
                me.slot.node.lose();
                return None;
            }
        }
    }

    /// Leaves the queue from its head; the successor becomes first.
    pub fn unlock(&self, me: Me<P>) {
        self.unlock_with_hint(me, 0, 0);
    }

    /// Leaves the queue from its head; the successor becomes first and receives `what`, any number but the largest. If
    /// there is none, the queue keeps the hint.
    pub fn unlock_with_hint(&self, me: Me<P>, what: u32, spin_hint: u16) {
        if let Some(next) = self.wait_next(me, empty(spin_hint)) {
            // ORDERING osq.grant: Release pairs with the Acquire in `lock`.
            P::slot(next).node.granted.store(what + 1, Release);
        }
    }
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::Native;
    extern crate std;

    fn other() -> u32 {
        Native::generation() + 1
    }

    /// Makes a node appear as if its thread had joined its queue before this process was forked.
    fn inherited(me: Me<Native>) {
        me.slot.node.generation.store(other(), Relaxed);
    }

    /// Runs `body` on a queue with two threads of this process, neither of which is in it.
    fn with_two(body: impl FnOnce(&Osq<Native>, Me<Native>, Me<Native>)) {
        let (tell, received) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            tell.send(Native::me().expect("a slot is free").token).expect("the test listens");
            ended.recv().expect_err("the test says no more");
        });
        let token = received.recv().expect("the thread tells");
        let me = Native::me().expect("a slot is free");
        body(&Osq::new(), me, Me { token, slot: Native::slot(token) });
        drop(end);
        other.join().expect("the thread does not panic");
    }

    #[test]
    fn the_last_to_leave_leaves_a_hint() {
        with_two(|queue, me, other| {
            assert_eq!(queue.spin_hint(), Some(0));
            for spin_hint in [7, u16::MAX, 0] {
                assert_eq!(queue.lock(me, Some(0)), Ok(()), "a hint is no thread");
                assert_eq!((queue.spin_hint(), queue.is_empty()), (None, false));
                queue.unlock_with_hint(me, 0, spin_hint);
                assert_eq!((queue.spin_hint(), queue.is_empty()), (Some(spin_hint), true));
            }
            assert_eq!(queue.lock(other, Some(0)), Ok(()));
            queue.unlock(other);
            assert_eq!(queue.spin_hint(), Some(0));
        });
    }

    #[test]
    fn who_finds_an_inherited_tail_is_the_first() {
        with_two(|queue, me, gone| {
            queue.tail.store(tail(gone.token, other()), Relaxed);
            inherited(gone);
            assert_eq!(queue.lock(me, Some(0)), Ok(()));
            queue.unlock(me);
            assert!(queue.is_empty());
        });
    }

    #[test]
    fn nobody_waits_for_an_inherited_predecessor_that_was_about_to_make_it_first() {
        with_two(|queue, me, gone| {
            queue.tail.store(tail(me.token, other()), Relaxed);
            me.slot.node.prev.store(gone.token.get(), Relaxed);
            inherited(me);
            assert!(!queue.cancel(me));
            assert!(queue.is_empty());
        });
    }

    #[test]
    fn nobody_waits_for_an_inherited_successor_that_was_about_to_link_itself() {
        with_two(|queue, me, gone| {
            queue.tail.store(tail(gone.token, other()), Relaxed);
            me.slot.node.next.store(0, Relaxed);
            for node in [me, gone] {
                inherited(node);
            }
            queue.unlock(me);
            assert_eq!(queue.lock(me, Some(0)), Ok(()));
            queue.unlock(me);
            assert!(queue.is_empty());
        });
    }
}
