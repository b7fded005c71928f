//! A spin lock with a line of waiters in its word, which a forked child makes anew: on every platform, so that the
//! models run it.
//!
//! In a forked child the waiters do not exist. A lock with a line of another process is made anew, held or not as it
//! was, before anybody looks at it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::RawLock;
use turnwise::platform::{Patience, Platform, Word};

/// In [`Lined::line`], with the own generation: a thread of this process makes the lock anew.
pub(crate) const RENEWING: u32 = 1 << 31;

/// The lock, as one that consists of one word of the platform, and of which process its line is.
#[repr(C, align(8))]
pub(crate) struct Lined<P: Platform> {
    pub(crate) spin: P::U32,
    /// The generation of processes ([`Platform::generation`]) that its waiters are of, and [`RENEWING`].
    pub(crate) line: P::U32,
}

/// A word as a spin lock.
fn spin_lock<P: Platform, R: RawLock<Platform = P>>(word: &P::U32) -> &R {
    const { assert!(size_of::<R>() <= size_of::<P::U32>() && align_of::<R>() <= align_of::<P::U32>()) };
    // SAFETY: these locks consist of words of their platform, valid with any bytes, and fit. A lock's type never
    // changes while it lives, so no lock of another type has written here.
    unsafe { &*core::ptr::from_ref(word).cast() }
}

impl<P: Platform> Lined<P> {
    /// The word as a spin lock, whoever its line is of.
    pub(crate) fn view<R: RawLock<Platform = P>>(&self) -> &R {
        spin_lock(&self.spin)
    }

    /// The word as a spin lock whose line is of this process.
    #[inline]
    pub(crate) fn with_line<R: RawLock<Platform = P>>(&self) -> &R {
        if !self.has_own_line::<R>() {
            self.await_own_line::<R>();
        }
        self.view()
    }

    /// Waits for the thread that makes the lock anew.
    #[cold]
    fn await_own_line<R: RawLock<Platform = P>>(&self) {
        let mut patience = Patience::new();
        while !self.has_own_line::<R>() {
            patience.wait::<P>();
        }
    }

    /// Whether all who wait are of this process, if need be from now on; `false`: another thread makes it so.
    #[inline]
    pub(crate) fn has_own_line<R: RawLock<Platform = P>>(&self) -> bool {
        let own = P::generation();
        // ORDERING word.line: pairs with the Release in `renew`: what we do with the lock comes after.
        let seen = self.line.load(Acquire);
        seen == own || self.renew::<R>(seen, own)
    }

    /// In a forked child: makes the lock anew, held or not as it was, without waiters. The first to come does it,
    /// alone: all others look at `line` before they touch the lock. A fork meanwhile leaves a line that is not of the
    /// new child, which begins again; so one store must do, or the child of an owner might find its lock free.
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
        // ORDERING word.line: pairs with the Acquire in `has_own_line`.
        self.line.store(own, Release);
        true
    }
}
