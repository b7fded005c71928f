//! The queue of spinners of patch 2: an MCS lock whose nodes are on the spinners' stacks.
//! (J. Mellor-Crummey and M. Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors", 1991.)
//!
//! The word points to the last node; null: no thread spins. A place cannot be given up, and a thread that waits there
//! checks neither whether the mutex's owner runs nor whether its own slice is over; in user space it yields every 10
//! us. The queue is used with preemption off.
//!
//! Invariants:
//! 1. A node is in the queue from the exchange of the tail until its owner passed the turn on, or emptied the queue.
//! 2. `next` is written once, by the successor; `locked` once, by the predecessor, as its last access.

use crate::wait;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise::platform::{Platform, Word};

/// A spinner's place in the queue, on a cache line of its own, wherever the compiler puts it in a stack frame.
#[repr(align(64))]
struct Node<P: Platform> {
    next: P::Ptr<Node<P>>,
    locked: P::U32,
}

/// The queue. Zero bytes are an empty queue.
#[repr(transparent)]
pub struct SpinnerQueue<P: Platform> {
    tail: P::Ptr<Node<P>>,
}

impl<P: Platform> SpinnerQueue<P> {
    /// Creates an empty queue on any platform.
    pub fn new_in() -> Self {
        SpinnerQueue { tail: P::Ptr::new(ptr::null_mut()) }
    }

    /// Runs `turn` when all earlier threads have had theirs: one thread at a time, and each sees what the last did.
    pub fn take_turn<R>(&self, turn: impl FnOnce() -> R) -> R {
        let node = Node { next: P::Ptr::new(ptr::null_mut()), locked: P::U32::new(0) };
        self.enter(&node);
        let pass_on = PassOn { queue: self, node: &node };
        let result = turn();
        drop(pass_on);
        result
    }

    fn enter(&self, node: &Node<P>) {
        let me = ptr::from_ref(node).cast_mut();
        // ORDERING mspin.join: Release shows the fresh node to the next exchange, whose thread writes to it; Acquire
        // pairs with that of the thread before, and with mspin.empty.
        let prev = self.tail.swap(me, AcqRel);
        // SAFETY: invariants 1 and 2: `prev` stays until its owner has seen our link.
        let Some(prev) = (unsafe { prev.as_ref() }) else { return };
        // ORDERING mspin.link: Release shows the fresh node to the predecessor, which acquires `next`.
        prev.next.store(me, Release);
        wait::spin_until::<P, _>(&node.locked, |locked| locked != 0);
        // ORDERING mspin.pass: pairs with the Release in `leave`; shows what the predecessor did.
        node.locked.load(Acquire);
    }

    fn leave(&self, node: &Node<P>) {
        let me = ptr::from_ref(node).cast_mut();
        // ORDERING mspin.link: Acquire pairs with the Release in `enter`.
        let mut next = node.next.load(Acquire);
        if next.is_null() {
            // ORDERING mspin.empty: Release pairs with mspin.join; shows what we did.
            if self.tail.compare_exchange(me, ptr::null_mut(), Release, Relaxed).is_ok() {
                return;
            }
            wait::spin_until::<P, _>(&node.next, |next| !next.is_null());
            // ORDERING mspin.link: Acquire pairs with the Release in `enter`.
            next = node.next.load(Acquire);
        }
        // SAFETY: the successor waits in `enter` until this store (invariants 1 and 2), our last access.
        // ORDERING mspin.pass: pairs with the Acquire in `enter`: shows what we did.
        unsafe { &(*next).locked }.store(1, Release);
    }
}

/// Passes the turn on when dropped: the node may not go away before, even if the turn panics.
struct PassOn<'a, P: Platform> {
    queue: &'a SpinnerQueue<P>,
    node: &'a Node<P>,
}

impl<P: Platform> Drop for PassOn<'_, P> {
    fn drop(&mut self) {
        self.queue.leave(self.node);
    }
}
