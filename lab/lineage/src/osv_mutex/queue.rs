//! Who waits: many threads push, one at a time pops, the one that is responsible for the lock.
//!
//! Invariants:
//! 1. `pushlist` changes by exchanges alone, so whoever reads it with Acquire has all that its pushers did before.
//! 2. Only the responsible thread touches `poplist` and the `next` of nodes in either list.
//! 3. A waiter is in one list until popped, and on its thread's stack until woken.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, Lane, Platform, Word};

/// A waiter's word: it has been handed the lock.
const WOKEN: u32 = 0;
/// It is awake and looks now and then.
const AWAKE: u32 = 1;
/// It sleeps, or is about to.
const ASLEEP: u32 = 2;

/// A thread that waits.
///
/// On a line of its own, wherever the compiler puts it in the frame of a stack.
#[repr(align(64))]
pub(super) struct Waiter<P: Platform> {
    /// Towards older waiters in `pushlist`, towards younger ones in `poplist`.
    next: P::Ptr<Waiter<P>>,
    word: P::U32,
    /// The thread's name.
    pub(super) thread: u64,
}

impl<P: Platform> Waiter<P> {
    pub(super) fn new(thread: u64) -> Self {
        Waiter { next: P::Ptr::new(ptr::null_mut()), word: P::U32::new(AWAKE), thread }
    }

    /// Hands the lock to the waiter, which has been popped. The exchange is the last access to it: the wake-up uses the
    /// address alone.
    ///
    /// # Safety
    /// `waiter` was popped, and nobody else wakes it.
    pub(super) unsafe fn wake(waiter: *const Self) {
        // SAFETY: it stays where it is until woken (invariant 3).
        let address = unsafe { &raw const (*waiter).word };
        // ORDERING osv.wake: pairs with osv.woken; carries the lock and what its owners wrote.
        // SAFETY: as above.
        let old = unsafe { &*address }.swap(WOKEN, Release);
        if old == ASLEEP {
            P::wake(address, Lane::Waiters, 1);
        }
    }

    /// Whether the lock has been handed to us.
    pub(super) fn is_woken(&self) -> bool {
        // ORDERING osv.woken: pairs with osv.wake.
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

/// The two lists, 16 bytes. Zero bytes = empty.
#[repr(C)]
pub(super) struct Queue<P: Platform> {
    /// Youngest first.
    pushlist: P::Ptr<Waiter<P>>,
    /// Oldest first.
    poplist: P::Ptr<Waiter<P>>,
}

impl Queue<DefaultPlatform> {
    pub(super) const fn new() -> Self {
        use core::sync::atomic::AtomicPtr;
        Queue { pushlist: AtomicPtr::new(ptr::null_mut()), poplist: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<P: Platform> Queue<P> {
    pub(super) fn new_in() -> Self {
        Queue { pushlist: P::Ptr::new(ptr::null_mut()), poplist: P::Ptr::new(ptr::null_mut()) }
    }

    /// Whether nobody seems to wait: a hint for all but the responsible thread.
    pub(super) fn looks_empty(&self) -> bool {
        self.poplist.load(Relaxed).is_null() && self.pushlist.load(Relaxed).is_null()
    }

    /// Adds a waiter, which must stay in place until woken.
    pub(super) fn push(&self, waiter: &Waiter<P>) {
        let mut first = self.pushlist.load(Relaxed);
        loop {
            waiter.next.store(first, Relaxed);
            // ORDERING osv.push: Release shows the waiter to osv.pop; Acquire pairs with osv.empty: who was told that
            // nobody waits has offered the lock before, and we see the offer.
            match self.pushlist.compare_exchange(first, ptr::from_ref(waiter).cast_mut(), AcqRel, Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }

    /// For the responsible thread, which found nothing to pop and has offered the lock: whether still nobody has been
    /// pushed. If so, whoever is pushed from here on sees the offer.
    pub(super) fn is_still_empty(&self) -> bool {
        let null = ptr::null_mut();
        // ORDERING osv.empty: Release pairs with osv.push; an exchange, so that it comes before or after each push.
        self.pushlist.compare_exchange(null, null, Release, Relaxed).is_ok()
    }

    /// For the responsible thread: takes out the waiter that came first, if there is one.
    pub(super) fn pop(&self) -> Option<*const Waiter<P>> {
        let mut oldest = self.poplist.load(Relaxed);
        if oldest.is_null() {
            // ORDERING osv.pop: pairs with osv.push; shows the waiters.
            oldest = Self::reverse(self.pushlist.swap(ptr::null_mut(), Acquire));
            if oldest.is_null() {
                return None;
            }
        }
        // SAFETY: it is in the list, so it stays where it is (invariant 3).
        self.poplist.store(unsafe { &*oldest }.next.load(Relaxed), Relaxed);
        Some(oldest)
    }

    /// Turns the list round; returns its new first waiter.
    fn reverse(mut youngest: *mut Waiter<P>) -> *mut Waiter<P> {
        let mut turned = ptr::null_mut();
        while !youngest.is_null() {
            // SAFETY: it is in the list, so it stays where it is (invariant 3).
            let next = unsafe { &(*youngest).next };
            let older = next.load(Relaxed);
            next.store(turned, Relaxed);
            turned = youngest;
            youngest = older;
        }
        turned
    }
}
