//! The queue of waiters: many threads push, one at a time pops, the one that is responsible for the lock.
//!
//! Invariants:
//! 1. `pushlist` changes only by exchanges, so a thread that reads it with Acquire has all that its pushers did before.
//! 2. Only the responsible thread touches `poplist` and the `next` of nodes in either list.
//! 3. A waiter is in one list until popped, and on its thread's stack until woken.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise::platform::{Lane, Platform, Word};

/// A waiter's word: it has been handed the lock.
const WOKEN: u32 = 0;
/// A waiter's word: it is awake and polls occasionally.
const AWAKE: u32 = 1;
/// A waiter's word: it sleeps, or is about to.
const ASLEEP: u32 = 2;

/// A waiting thread, on a cache line of its own, wherever the compiler puts it in a stack frame.
#[repr(align(64))]
pub(super) struct Waiter<P: Platform> {
    /// The next waiter: an older one in `pushlist`, a younger one in `poplist`.
    next: P::Ptr<Waiter<P>>,
    word: P::U32,
    /// The thread's name.
    pub(super) thread: u64,
}

impl<P: Platform> Waiter<P> {
    pub(super) fn new(thread: u64) -> Self {
        Waiter { next: P::Ptr::new(ptr::null_mut()), word: P::U32::new(AWAKE), thread }
    }

    /// Hands the lock to the waiter, which has been popped. The exchange is the last access to it: the wake-up uses
    /// only the address.
    ///
    /// # Safety
    /// `waiter` was popped, and no other thread wakes it.
    pub(super) unsafe fn wake(waiter: *const Self) {
        // SAFETY: invariant 3: the waiter stays where it is until woken.
        let address = unsafe { &raw const (*waiter).word };
        // ORDERING osv.wake: pairs with osv.woken; carries the lock and what its owners wrote.
        // SAFETY: invariant 3: the waiter stays where it is until this exchange wakes it.
        let old = unsafe { &*address }.swap(WOKEN, Release);
        if old == ASLEEP {
            P::wake(address, Lane::Waiters, 1);
        }
    }

    /// Returns whether the lock has been handed to us.
    pub(super) fn is_woken(&self) -> bool {
        // ORDERING osv.woken: pairs with osv.wake: shows what former owners wrote.
        self.word.load(Acquire) == WOKEN
    }

    /// Sleeps until the lock has been handed to us.
    pub(super) fn sleep(&self) {
        let _ = self.word.compare_exchange(AWAKE, ASLEEP, Relaxed, Relaxed);
        while !self.is_woken() {
            P::park(&self.word, ASLEEP, Lane::Waiters, None);
        }
    }
}

/// The two lists, 16 bytes. Zero bytes are empty lists.
#[repr(C)]
pub(super) struct Queue<P: Platform> {
    /// The list to push to, youngest first.
    pushlist: P::Ptr<Waiter<P>>,
    /// The list to pop from, oldest first.
    poplist: P::Ptr<Waiter<P>>,
}

impl<P: Platform> Queue<P> {
    pub(super) fn new_in() -> Self {
        Queue { pushlist: P::Ptr::new(ptr::null_mut()), poplist: P::Ptr::new(ptr::null_mut()) }
    }

    /// Returns whether there seem to be no waiters: a hint for all but the responsible thread.
    pub(super) fn looks_empty(&self) -> bool {
        self.poplist.load(Relaxed).is_null() && self.pushlist.load(Relaxed).is_null()
    }

    /// Adds a waiter, which must stay in place until woken.
    pub(super) fn push(&self, waiter: &Waiter<P>) {
        let mut first = self.pushlist.load(Relaxed);
        loop {
            waiter.next.store(first, Relaxed);
            // ORDERING osv.push: Release shows the waiter to osv.pop; Acquire pairs with osv.empty: a thread that found
            // no waiter has offered the lock before, and we see the offer.
            match self.pushlist.compare_exchange(first, ptr::from_ref(waiter).cast_mut(), AcqRel, Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }

    /// Returns whether still no waiter has been pushed, for the responsible thread, which found none and has offered
    /// the lock. If so, a waiter that is pushed from here on sees the offer.
    pub(super) fn is_still_empty(&self) -> bool {
        let null = ptr::null_mut();
        // ORDERING osv.empty: Release pairs with osv.push; an exchange, so that it comes before or after each push.
        self.pushlist.compare_exchange(null, null, Release, Relaxed).is_ok()
    }

    /// Takes out the waiter that came first, if there is one. Only the responsible thread calls this.
    pub(super) fn pop(&self) -> Option<*const Waiter<P>> {
        let mut oldest = self.poplist.load(Relaxed);
        if oldest.is_null() {
            // ORDERING osv.pop: pairs with osv.push; shows the waiters.
            oldest = Self::reverse(self.pushlist.swap(ptr::null_mut(), Acquire));
            if oldest.is_null() {
                return None;
            }
        }
        // SAFETY: invariant 3: it is in the list, so it stays where it is.
        self.poplist.store(unsafe { &*oldest }.next.load(Relaxed), Relaxed);
        Some(oldest)
    }

    /// Reverses the list; returns its new first waiter.
    fn reverse(mut youngest: *mut Waiter<P>) -> *mut Waiter<P> {
        let mut turned = ptr::null_mut();
        while !youngest.is_null() {
            // SAFETY: invariant 3: it is in the list, so it stays where it is.
            let next = unsafe { &(*youngest).next };
            let older = next.load(Relaxed);
            next.store(turned, Relaxed);
            turned = youngest;
            youngest = older;
        }
        turned
    }
}
