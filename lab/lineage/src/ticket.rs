//! The ticket spin lock of Linux 3.7 on x86-64: an exchange-and-add draws a ticket, a plain addition serves the next.
//! It is the `wait_lock` of the sleeping locks here, and the `d_lock` of a dentry.
//!
//! Two words side by side, 8 bytes (zero: unlocked):
//!
//! | word | meaning | changed by |
//! |---|---|---|
//! | tail | the ticket that the next thread draws | a thread that draws: one exchange-and-add |
//! | head | the ticket that has the lock, or will have it when drawn | the owner, in `unlock`: load, add, store |
//!
//! free: head = tail. held, `n` wait: tail = head + 1 + n (modulo 2^32).
//!
//! The kernel has both as halves of one word, draws and polls by one instruction, and serves by a 16-bit addition
//! without a `lock` prefix. A word of [`Platform`] has one width, so with halves serving would be a second
//! read-modify-write, which the original avoids; two words in one cache line cost the same accesses, and 4 bytes more.
//!
//! Invariants:
//! 1. A ticket is drawn once per round of 2^32; its holder has the lock while head equals it.
//! 2. Only the owner changes head, so its own load of it is never stale.
//! 3. The store in `unlock` is the owner's last access.
//!
//! The kernel turned preemption off while it waited and while it held the lock. Where the platform cannot, the next
//! waiter may be off its CPU: a waiter yields every 10 us. Only "first come, first served" bounds a wait.

use crate::wait;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, IntWord, Platform, Preempt, Word};
use turnwise::raw::{GuardNoSend, RawLock};

/// The lock without data. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct KernelTicketLock<P: Platform = DefaultPlatform> {
    tail: P::U32,
    head: P::U32,
}

lock_basics!(KernelTicketLock, |lock| head: lock.head.load(Relaxed), tail: lock.tail.load(Relaxed));

// SAFETY: one ticket is served at a time (invariants 1 and 2); a thread that sees its turn (kernel_ticket.turn) comes
// after the last owner (kernel_ticket.serve). Guards stay on their thread, whose preemption is off.
unsafe impl<P: Platform> RawLock for KernelTicketLock<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        KernelTicketLock { tail: P::U32::new(0), head: P::U32::new(0) }
    }

    /// Acquires the lock, in the order of the tickets.
    #[inline]
    fn lock(&self) {
        P::preempt(Preempt::Off);
        let ticket = self.tail.fetch_add(1, Relaxed);
        // ORDERING kernel_ticket.turn: pairs with kernel_ticket.serve; shows what the last owner wrote.
        if self.head.load(Acquire) != ticket {
            self.wait(ticket);
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| {
            // ORDERING kernel_ticket.turn: pairs with kernel_ticket.serve, as in `lock`. If this ticket is not drawn
            // yet, head has not moved on.
            let head = self.head.load(Acquire);
            self.tail.compare_exchange(head, head.wrapping_add(1), Relaxed, Relaxed).is_ok()
        })
    }

    /// Releases the lock to the next waiter. Its store is the last access.
    #[inline]
    unsafe fn unlock(&self) {
        let served = self.head.load(Relaxed); // not stale: invariant 2
        // ORDERING kernel_ticket.serve: pairs with kernel_ticket.turn: shows what we wrote.
        self.head.store(served.wrapping_add(1), Release);
        P::preempt(Preempt::On);
    }

    fn is_locked(&self) -> bool {
        self.head.load(Relaxed) != self.tail.load(Relaxed)
    }
}

readers_are_owners!([P: Platform] KernelTicketLock<P>);

impl<P: Platform> KernelTicketLock<P> {
    /// Runs `section` with the lock held.
    #[inline]
    pub fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        self.lock();
        let result = section();
        // SAFETY: contract of `RawLock::unlock`: we have just acquired the lock; if `section` panics, it stays held.
        unsafe { self.unlock() };
        result
    }

    #[cold]
    fn wait(&self, ticket: u32) {
        wait::spin_until::<P, _>(&self.head, |head| head == ticket);
        // ORDERING kernel_ticket.turn: pairs with kernel_ticket.serve, as in `lock`.
        self.head.load(Acquire);
    }
}

const _: () = assert!(size_of::<KernelTicketLock>() == 8, "two words");
