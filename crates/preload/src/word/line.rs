//! A spin lock with a queue of waiters in its word, which a forked child rebuilds. It is generic over the platform, so
//! that the models run it.
//!
//! In a forked child the waiters do not exist. A lock with the queue of another process is rebuilt, held or free as it
//! was, before any thread reads it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::RawLock;
use turnwise::platform::{Platform, Word, YieldThenSleep};

/// Set in [`QueueWord::line`], alongside this process's generation, while a thread of this process rebuilds the lock.
pub(crate) const RENEWING: u32 = 1 << 31;

/// A lock that consists of one word of the platform, and the process that its queue belongs to.
#[repr(C, align(8))]
pub(crate) struct QueueWord<P: Platform> {
    pub(crate) spin: P::U32,
    /// The generation of processes ([`Platform::generation`]) that its waiters belong to, and [`RENEWING`].
    pub(crate) line: P::U32,
}

/// Views a word as a spin lock.
fn spin_lock<P: Platform, R: RawLock<Platform = P>>(word: &P::U32) -> &R {
    const { assert!(size_of::<R>() <= size_of::<P::U32>() && align_of::<R>() <= align_of::<P::U32>()) };
    // SAFETY: these locks consist of words of their platform, valid with any bytes, and fit. A lock's type never
    // changes while it lives, so no lock of another type has written here.
    unsafe { &*core::ptr::from_ref(word).cast() }
}

impl<P: Platform> QueueWord<P> {
    /// Views the word as a spin lock, whichever process its queue belongs to.
    pub(crate) fn view<R: RawLock<Platform = P>>(&self) -> &R {
        spin_lock(&self.spin)
    }

    /// Views the word as a spin lock whose queue belongs to this process.
    #[inline]
    pub(crate) fn with_queue<R: RawLock<Platform = P>>(&self) -> &R {
        if !self.has_own_queue::<R>() {
            self.await_own_queue::<R>();
        }
        self.view()
    }

    /// Waits for the thread that rebuilds the lock.
    #[cold]
    fn await_own_queue<R: RawLock<Platform = P>>(&self) {
        let mut yielder = YieldThenSleep::new();
        while !self.has_own_queue::<R>() {
            yielder.wait::<P>();
        }
    }

    /// Makes the queue this process's if it is not; returns `false` while another thread does so.
    #[inline]
    pub(crate) fn has_own_queue<R: RawLock<Platform = P>>(&self) -> bool {
        let own = P::generation();
        // ORDERING word.queue: pairs with the Release in `renew`: our uses of the lock come after.
        let seen = self.line.load(Acquire);
        seen == own || self.renew::<R>(seen, own)
    }

    /// Rebuilds the lock in a forked child, held or free as it was, without waiters. The first thread to arrive does
    /// so, alone: all others read `line` before they touch the lock. A fork meanwhile leaves a `line` that is not the
    /// new child's, which starts over; so one store must suffice, or the child of an owner might find its lock free.
    #[cold]
    fn renew<R: RawLock<Platform = P>>(&self, seen: u32, own: u32) -> bool {
        if seen == own | RENEWING || self.line.compare_exchange(seen, own | RENEWING, Relaxed, Relaxed).is_err() {
            return false;
        }
        let new = P::U32::new(0);
        if self.view::<R>().is_locked() {
            spin_lock::<P, R>(&new).try_lock();
        }
        self.spin.store(new.load(Relaxed), Relaxed);
        // ORDERING word.queue: pairs with the Acquire in `has_own_queue`.
        self.line.store(own, Release);
        true
    }
}
