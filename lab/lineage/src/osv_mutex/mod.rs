//! OSv's hand-off mutex of 2014, the subject of `handoff_spin`: recursive, first come, first served, and never free
//! while a thread waits. It comes without spinning, with the paper's, and with the other techniques of the issue behind
//! it.
//! (A. Gidenstam and M. Papatriantafilou, "LFthreads: a lock-free thread library", 2007: hand-off of responsibility.)
//!
//! | bytes | word | meaning | changed by |
//! |---|---|---|---|
//! | 4 | count | the owner and the threads that want the lock | a thread that comes: +1; one that releases: -1 |
//! | 4 | depth | how often the owner has the lock | the owner |
//! | 8 | owner | its name; 0: none, or the lock is being handed over | the owner; with [`OwnerAtWake`] also the thread that hands it over |
//! | 16 | queue | the waiters: a list to push to, a list to pop from | see `queue.rs` |
//! | 4 | handoff | 0, or a token: the lock is on offer | a thread that offers: token; one that takes it, or takes it back: 0 |
//! | 4 | sequence | the last token | the responsible thread |
//!
//! The *responsible* thread is the owner, or in `unlock` the last owner until it has handed the lock over:
//!
//! 1. It pops a waiter and wakes it: the waiter is the owner now.
//! 2. There is none, though the count shows that a thread is coming: it puts a token into `handoff`. The thread that
//!    takes it is responsible. If one was pushed meanwhile, it tries to take it out itself, and continues with 1.
//!
//! Invariants:
//! 1. One thread is responsible from the first count above 0 until the count is 0 again, except while `handoff` holds a
//!    token; each token is used once (in 2^32).
//! 2. A thread that has added to the count becomes responsible, once or twice, or is in the queue until handed the
//!    lock.
//! 3. A waiter that was woken is the owner, and the waker no longer touches it.
//!
//! **An unlock may touch the lock after another thread has it**: it checks the queue after it put down the token.
//! Before the memory is freed, all unlocks must have returned.
//!
//! **Identity.** A thread's identity matters only for recursion: [`Platform::me`] names it, for which it takes a slot
//! if it has none. A thread that cannot have a slot is anonymous: it excludes and waits like the others, and waits for
//! itself for ever if it locks a lock that it already has.

mod queue;
mod spin;

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use queue::{Queue, Waiter};
use turnwise::platform::{DefaultPlatform, IntWord, Platform, Token, Word};
use turnwise::raw::{GuardNoSend, RawLock};

pub use spin::{NoSpin, OwnerAtWake, Policy, Spin, SpinAfterPush, SpinPolling, SpinToOne, TRIES, Technique};

/// The value of the owner's word when there is no owner.
const NOBODY: u64 = 0;

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct OsvMutex<V: Policy = NoSpin, P: Platform = DefaultPlatform> {
    count: P::U32,
    depth: P::U32,
    owner: P::U64,
    queue: Queue<P>,
    handoff: P::U32,
    sequence: P::U32,
    policy: PhantomData<V>,
}

lock_basics! { OsvMutex<V>, |lock|
    count: lock.count.load(Relaxed), depth: lock.depth.load(Relaxed),
    owner: lock.owner.load(Relaxed), handoff: lock.handoff.load(Relaxed)
}

// SAFETY: one thread at a time owns it, and acquires (osv.acquire) what the owner before released (osv.release); the
// owner field names its thread, so guards stay on it.
unsafe impl<V: Policy, P: Platform> RawLock for OsvMutex<V, P> {
    const REENTRANT: bool = true;
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        let zero = || P::U32::new(0);
        OsvMutex {
            count: zero(),
            depth: zero(),
            owner: P::U64::new(NOBODY),
            queue: Queue::new_in(),
            handoff: zero(),
            sequence: zero(),
            policy: PhantomData,
        }
    }

    /// Acquires the lock, once more if the calling thread has it.
    #[inline]
    fn lock(&self) {
        let me = me::<P>();
        if V::TECHNIQUE == Technique::Polling && self.poll(me) {
            return;
        }
        // ORDERING osv.acquire: pairs with osv.release; shows what the last owner wrote.
        if self.count.fetch_add(1, Acquire) == 0 {
            self.own(me);
        } else if self.is_mine(me) {
            self.count.fetch_sub(1, Relaxed);
            self.deepen();
        } else {
            self.lock_slow(me);
        }
    }

    /// Acquires the lock if it is free, if the calling thread has it, or if it is on offer.
    #[inline]
    fn try_lock(&self) -> bool {
        self.try_lock_as(me::<P>())
    }

    /// Releases the lock, if the calling thread has released it as often as it acquired it.
    #[inline]
    unsafe fn unlock(&self) {
        let depth = self.depth.load(Relaxed) - 1;
        self.depth.store(depth, Relaxed);
        if depth > 0 {
            return;
        }
        self.owner.store(NOBODY, Relaxed);
        // ORDERING osv.release: pairs with osv.acquire: shows what we wrote.
        if self.count.fetch_sub(1, Release) != 1 {
            self.hand_over();
        }
    }

    /// Returns whether any thread has the lock at this moment, or waits for it.
    fn is_locked(&self) -> bool {
        self.count.load(Relaxed) != 0
    }
}

impl<V: Policy, P: Platform> OsvMutex<V, P> {
    /// Returns how often the calling thread has the lock. (Always 0 for a thread without a slot.)
    pub fn depth(&self) -> u32 {
        if self.is_mine(me::<P>()) { self.depth.load(Relaxed) } else { 0 }
    }

    fn try_lock_as(&self, me: Token) -> bool {
        // ORDERING osv.acquire: pairs with osv.release, as in `lock`.
        if self.count.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            self.own(me);
        } else if self.is_mine(me) {
            self.deepen();
        } else if self.take_offer() {
            self.count.fetch_add(1, Relaxed);
            self.own(me);
        } else {
            return false;
        }
        true
    }

    #[inline]
    fn own(&self, me: Token) {
        self.owner.store(u64::from(me.get()), Relaxed);
        self.depth.store(1, Relaxed);
    }

    #[inline]
    fn deepen(&self) {
        self.depth.store(self.depth.load(Relaxed) + 1, Relaxed);
    }

    /// Returns whether `me` is the owner. Relaxed: only the thread itself makes this true or false while it may ask.
    #[inline]
    fn is_mine(&self, me: Token) -> bool {
        me != Token::ANONYMOUS && self.owner.load(Relaxed) == u64::from(me.get())
    }

    /// Takes the lock if it is on offer.
    fn take_offer(&self) -> bool {
        let token = self.handoff.load(Relaxed);
        // ORDERING osv.take: pairs with osv.offer; shows what the last owner wrote, and the queue as it left it.
        token != 0 && self.handoff.compare_exchange(token, 0, Acquire, Relaxed).is_ok()
    }

    /// Acquires the lock for a thread that is in the count, and not the owner.
    #[cold]
    #[inline(never)]
    fn lock_slow(&self, me: Token) {
        if self.spin_before_push() {
            return self.own(me);
        }
        let waiter = Waiter::new(u64::from(me.get()));
        self.queue.push(&waiter);
        // If the last owner found no thread to wake, it may be up to us. Once the lock has been handed to us no other
        // thread is responsible, so an offer that we take was made before.
        if !self.queue.looks_empty() && self.take_offer() {
            let first = self.queue.pop().expect("we are in the queue, and nobody else takes anybody out");
            if core::ptr::eq(first, &waiter) {
                return self.own(me);
            }
            self.wake(first);
        }
        if !self.spin_after_push(&waiter) {
            waiter.sleep();
        }
        self.own(me);
    }

    /// Hands the lock over, after the caller has released it and while others want it.
    #[cold]
    #[inline(never)]
    fn hand_over(&self) {
        loop {
            // Step 1: hand it to a waiter.
            if let Some(first) = self.queue.pop() {
                return self.wake(first);
            }
            // Step 2: a thread is between the count and the queue. The thread that takes the token does this for us.
            let token = self.next_token();
            // ORDERING osv.offer: pairs with osv.take: shows what we wrote, and the queue as we leave it.
            self.handoff.store(token, Release);
            if self.queue.is_still_empty() {
                return;
            }
            // Step 3: a thread came meanwhile, and may not have seen the token. Relaxed: what we take back is our own
            // offer, as no token is used twice.
            if self.handoff.compare_exchange(token, 0, Relaxed, Relaxed).is_err() {
                return;
            }
        }
    }

    fn next_token(&self) -> u32 {
        let next = match self.sequence.load(Relaxed).wrapping_add(1) {
            0 => 1,
            token => token,
        };
        self.sequence.store(next, Relaxed);
        next
    }

    /// Hands the lock to `first`, which was popped.
    fn wake(&self, first: *const Waiter<P>) {
        if V::OWNER_AT_WAKE {
            // SAFETY: invariant 3 of `queue.rs`: it was popped, and not woken yet, so it is still there.
            self.owner.store(unsafe { (*first).thread }, Relaxed);
        }
        // SAFETY: contract of `Waiter::wake`: it was popped by us, the responsible thread.
        unsafe { Waiter::wake(first) };
    }
}

/// Returns the calling thread's identity for the lock. It takes a slot if one is available.
#[inline]
fn me<P: Platform>() -> Token {
    match P::current() {
        Token::ANONYMOUS => P::me().map_or(Token::ANONYMOUS, |me| me.token),
        token => token,
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<OsvMutex<Spin>>() == 40, "as the original");
