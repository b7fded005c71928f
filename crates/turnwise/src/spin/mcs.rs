//! The MCS lock: a queue of nodes that the threads supply; each waiter spins on its own. (J. Mellor-Crummey and M.
//! Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors", 1991.) Example: [`McsLock`].
//!
//! ```text
//! lock    clear my node; swap the tail for it; there was a node: its next = mine, poll my granted
//! try     clear my node; null -> my node, once
//! unlock  my next is null: tail mine -> null: done; it is not the tail: poll for next. next.granted = 1
//! ```
//!
//! The word is a pointer to the last node:
//!
//! | tail | state |
//! |---|---|
//! | null | free |
//! | the owner's node | held, no waiters |
//! | another node | held; the queue runs from the owner's node along `next` to this one |
//!
//! Invariants:
//! 1. A node is reachable from `lock` (or a successful `try_lock`) until the `unlock` of the same node returns. The
//!    caller keeps it in place until then.
//! 2. A node's `next` is written once per stay, by its successor; `granted` once per stay, by its predecessor, as its
//!    last access to the successor's node.
//! 3. `unlock` does not touch the lock once another thread may have it: the next owner may free the memory.
//!
//! The node must stay where it is while the lock is held, which a guard cannot guarantee (it may be forgotten, and its
//! stack frame left): hence [`McsLock::with`] instead of a guard, and no implementation for the lock_api crate, whose
//! guards move.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread at a time owns the lock; it sees what earlier owners wrote (mcs.join, mcs.free, mcs.grant).
//! - A2. `unlock` touches neither the lock nor the successor's node once that thread may own the lock (invariants 2,
//!   3).
//! - P1. Threads are served in the order in which they joined.
//! - P2. A place in the queue cannot be given up, and a timed wait outside the queue would overtake it; use
//!   [`QueuedSpinLock`](super::QueuedSpinLock) or [`SpinLock`](super::SpinLock) for that.
//! - P3. **Fork.** A queue that is copied into a forked child has waiters that do not exist there: the child must not
//!   use a lock that others waited for. [`SpinLock`](super::SpinLock) has no queue.

use crate::events::{Counters, Event, Kind};
use crate::order::{Class, How, released};
use crate::platform::{DefaultPlatform, Platform, SpinLimit, Word};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A thread's place in the queue. Padded to two cache lines (adjacent lines are fetched together), so that waiters do
/// not disturb each other.
///
/// ```
/// use turnwise::spin::mcs::{McsNode, RawMcsLock};
///
/// let (lock, node) = (RawMcsLock::new(), McsNode::new());
/// // SAFETY: the node stays where it is until the release, and is in no other queue.
/// unsafe { lock.lock(&node) };
/// // SAFETY: the lock was acquired through this node.
/// unsafe { lock.unlock(&node) };
/// ```
#[repr(align(128))]
pub struct McsNode<P: Platform = DefaultPlatform> {
    next: P::Ptr<McsNode<P>>,
    granted: P::U32,
}

raw_constructors!(default McsNode to McsNode<P>, "a node that is in no queue", { next: Ptr, granted: U32, });

shows!([P: Platform] McsNode<P>, |node| granted: node.granted.load(Relaxed) != 0);

/// An MCS lock without data. All-zero bytes are an unlocked lock.
///
/// ```
/// static LOCK: turnwise::RawMcsLock = turnwise::RawMcsLock::new(); // acquired as `McsNode` shows
/// assert!(!LOCK.is_locked());
/// ```
#[repr(C)]
pub struct RawMcsLock<P: Platform = DefaultPlatform> {
    tail: P::Ptr<McsNode<P>>,
    counters: Counters<{ Kind::McsLock as usize }>,
}

raw_constructors!(default RawMcsLock to McsNode<P>, "an unlocked lock", { tail: Ptr, counters: (Counters::new()), });

impl<P: Platform> RawMcsLock<P> {
    /// Acquires the lock through `node`.
    ///
    /// # Safety
    /// `node` stays in place, and in no other queue, until [`RawMcsLock::unlock`] with it returns; that call must come
    /// before `node` or the lock goes away.
    #[inline]
    pub unsafe fn lock(&self, node: &McsNode<P>) {
        node.next.store(ptr::null_mut(), Relaxed);
        node.granted.store(0, Relaxed);
        // ORDERING mcs.join: Release shows the cleared node to the next swap; Acquire pairs with that of our
        // predecessor, whose node is cleared before we link to it, and with mcs.free.
        let prev = self.tail.swap(ptr::from_ref(node).cast_mut(), AcqRel);
        let wait = || {
            // SAFETY: invariants 1 and 2: `prev` was reachable, and stays until its owner has seen our link.
            unsafe { Self::wait(prev, node) };
            true
        };
        self.counters.acquisition(prev.is_null(), wait, Event::SpunQueued);
    }

    /// Acquires the lock through `node` if it is free; returns whether it did.
    ///
    /// # Safety
    /// After `true`, as for [`RawMcsLock::lock`].
    #[inline]
    pub unsafe fn try_lock(&self, node: &McsNode<P>) -> bool {
        node.next.store(ptr::null_mut(), Relaxed);
        node.granted.store(0, Relaxed);
        let me = ptr::from_ref(node).cast_mut();
        // ORDERING mcs.join: Release and Acquire pair with the next and the last swap, as in `lock`.
        self.counters.attempt(self.tail.compare_exchange(ptr::null_mut(), me, AcqRel, Relaxed).is_ok())
    }

    /// Releases the lock that was acquired through `node`.
    ///
    /// # Safety
    /// The lock was acquired through `node` and not released since.
    #[inline]
    pub unsafe fn unlock(&self, node: &McsNode<P>) {
        // ORDERING mcs.link: Acquire pairs with the Release in `wait`: the successor's node is cleared before we grant.
        let mut next = node.next.load(Acquire);
        if next.is_null() {
            let me = ptr::from_ref(node).cast_mut();
            // ORDERING mcs.free: Release pairs with the Acquire of mcs.join; shows what we wrote.
            if self.tail.compare_exchange(me, ptr::null_mut(), Release, Relaxed).is_ok() {
                return;
            }
            next = Self::wait_for_link(node);
        }
        // SAFETY: the successor waits on its node until this store (invariants 1 and 2), our last access.
        // ORDERING mcs.grant: pairs with the Acquire in `wait`; shows what we wrote.
        unsafe { &(*next).granted }.store(1, Release);
    }

    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        !self.tail.load(Relaxed).is_null()
    }

    /// Returns what has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }

    /// Waits in the queue until the lock is held.
    ///
    /// # Safety
    /// `prev` is alive until the store to its `next`. (A pointer, since it may be gone before this function returns.)
    #[cold]
    unsafe fn wait(prev: *const McsNode<P>, node: &McsNode<P>) {
        // SAFETY: contract of `wait`: `prev` is alive until this store, our only access.
        // ORDERING mcs.link: pairs with the Acquire loads of `next` in `unlock`.
        unsafe { &(*prev).next }.store(ptr::from_ref(node).cast_mut(), Release);
        let _ = P::spin_until(&node.granted, |granted| granted != 0, SpinLimit::NONE);
        // ORDERING mcs.grant: pairs with the Release in `unlock`; shows what the last owner wrote.
        node.granted.load(Acquire);
    }

    /// Waits for the successor, which has joined and is about to link itself.
    #[cold]
    fn wait_for_link(node: &McsNode<P>) -> *mut McsNode<P> {
        let _ = P::spin_until(&node.next, |next| !next.is_null(), SpinLimit::NONE);
        // ORDERING mcs.link: pairs with the Release in `wait`, as in `unlock`.
        node.next.load(Acquire)
    }
}

shows!([P: Platform] RawMcsLock<P>, |lock| tail: lock.tail.load(Relaxed));

/// Data of type `T` behind an MCS lock: first come, first served, each waiter spinning on its own node.
///
/// It does not poison: a panic in a section releases the lock.
///
/// ```
/// use turnwise::McsLock;
///
/// static LOCK: McsLock<u64> = McsLock::new(1);
/// LOCK.with(|n| *n += 1);
/// assert_eq!(LOCK.with(|n| *n), 2);
/// assert_eq!(LOCK.try_with(|n| *n), Some(2));
/// ```
pub struct McsLock<T: ?Sized, P: Platform = DefaultPlatform> {
    raw: RawMcsLock<P>,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, so sharing it only moves `T` between threads.
unsafe impl<T: ?Sized + Send, P: Platform> Sync for McsLock<T, P> {}
// SAFETY: the lock owns its data; outside of `with` its pointer is null.
unsafe impl<T: ?Sized + Send, P: Platform> Send for McsLock<T, P> {}

own_constructors!(McsLock<T> to McsNode<P>, RawMcsLock, data: UnsafeCell, "an unlocked lock");

impl<T, P: Platform> McsLock<T, P> {
    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized, P: Platform> McsLock<T, P> {
    /// Runs `section` with the lock held. A section that acquires the same lock again deadlocks.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let node = McsNode::new_in();
        self.class.before(ptr::from_ref(&self.raw).addr(), How::Write);
        // SAFETY: contract of `RawMcsLock::lock`: `node` stays until `run` has released, before this frame is left.
        unsafe {
            self.raw.lock(&node);
            self.run(&node, section)
        }
    }

    /// Runs `section` with the lock held if it is free; otherwise returns `None`.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_with<R>(&self, section: impl FnOnce(&mut T) -> R) -> Option<R> {
        let node = McsNode::new_in();
        // SAFETY: contract of `RawMcsLock::try_lock`: `node` stays until `run` has released, as in `with`.
        unsafe { if self.raw.try_lock(&node) { Some(self.run(&node, section)) } else { None } }
    }

    /// Runs `section`, then releases the lock, panic or not.
    ///
    /// # Safety
    /// The calling thread has just acquired the lock through `node`.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    unsafe fn run<R>(&self, node: &McsNode<P>, section: impl FnOnce(&mut T) -> R) -> R {
        self.class.acquired(ptr::from_ref(&self.raw).addr(), How::Write);
        let _held = Held { raw: &self.raw, node };
        // SAFETY: `_held` has the lock, which one thread has at a time.
        section(unsafe { &mut *self.data.get() })
    }

    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns the lock without the data.
    pub fn raw(&self) -> &RawMcsLock<P> {
        &self.raw
    }

    /// Returns the value, without locking: the exclusive borrow proves that no other thread has access to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: ?Sized + core::fmt::Debug, P: Platform> core::fmt::Debug for McsLock<T, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut out = f.debug_struct("McsLock");
        if self.try_with(|data| _ = out.field("data", &data)).is_none() {
            out.field("data", &format_args!("<locked>"));
        }
        out.finish_non_exhaustive()
    }
}

/// An acquisition through a node in the frame of [`McsLock::with`]; it never leaves that frame.
struct Held<'a, P: Platform> {
    raw: &'a RawMcsLock<P>,
    node: &'a McsNode<P>,
}

impl<P: Platform> Drop for Held<'_, P> {
    #[inline]
    fn drop(&mut self) {
        released(ptr::from_ref(self.raw).addr());
        // SAFETY: contract of `RawMcsLock::unlock`: acquired through this node, and released only here.
        unsafe { self.raw.unlock(self.node) }
    }
}

const _: () = assert!(size_of::<McsNode>() == 128, "a node has its cache lines to itself");
