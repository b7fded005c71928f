//! The lock itself, by policy, in the first 8 bytes of a mutex.
//!
//! `queued` and `ticket` keep their line of waiters in the word. In a forked child those waiters do not exist: a lock
//! with a line of another process is made anew, held or not as it was, before anybody looks at it.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::RawMutex;
use turnwise::platform::Deadline;
use turnwise::platform::native::generation;
use turnwise::platform::{Native, Patience};
use turnwise::spin::{RawQueuedSpinLock, RawSpin, RawSpinLock, RawTicketLock};
use turnwise_preload_abi::Lock;

/// Eight bytes that hold a lock of some policy. Zero: unlocked, under every policy.
#[repr(C, align(8))]
pub(crate) struct LockWord {
    /// The spin lock. The default policy's lock has all 8 bytes.
    spin: AtomicU32,
    /// With a line: the generation of processes ([`generation`]) that its waiters are of, and [`RENEWING`].
    line: AtomicU32,
}

/// In [`LockWord::line`], with the own generation: a thread of this process makes the lock anew.
const RENEWING: u32 = 1 << 31;

const _: () = assert!(size_of::<RawMutex>() <= size_of::<LockWord>());

/// A word as a spin lock.
fn spin_lock<R: RawSpin>(word: &AtomicU32) -> &R {
    const { assert!(size_of::<R>() <= size_of::<AtomicU32>() && align_of::<R>() <= align_of::<AtomicU32>()) };
    // SAFETY: these locks consist of atomic words, valid with any bytes, and fit. A lock's policy never changes while
    // it lives, so no lock of another type has written here.
    unsafe { &*core::ptr::from_ref(word).cast() }
}

/// Runs an expression on the lock of a policy.
macro_rules! by_policy {
    ($word:expr, $policy:expr, $lock:ident => $expression:expr) => {
        match $policy {
            Lock::Adaptive => {
                let $lock = $word.adaptive();
                $expression
            }
            Lock::Queued => {
                let $lock = $word.with_line::<RawQueuedSpinLock>();
                $expression
            }
            Lock::Ttas => {
                let $lock = $word.view::<RawSpinLock>();
                $expression
            }
            Lock::Ticket => {
                let $lock = $word.with_line::<RawTicketLock>();
                $expression
            }
        }
    };
}

impl LockWord {
    /// The word as the default policy's lock.
    #[inline(always)]
    pub(crate) fn adaptive(&self) -> &RawMutex {
        // SAFETY: as in `spin_lock`, of all 8 bytes.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// The word as a spin lock.
    fn view<R: RawSpin>(&self) -> &R {
        spin_lock(&self.spin)
    }

    /// The word as a spin lock whose line is of this process.
    #[inline]
    fn with_line<R: RawSpin>(&self) -> &R {
        if !self.has_own_line::<R>() {
            self.await_own_line::<R>();
        }
        self.view()
    }

    /// Waits for the thread that makes the lock anew.
    #[cold]
    fn await_own_line<R: RawSpin>(&self) {
        let mut patience = Patience::new();
        while !self.has_own_line::<R>() {
            patience.wait::<Native>();
        }
    }

    /// Whether all who wait are of this process, if need be from now on; `false`: another thread makes it so.
    #[inline]
    fn has_own_line<R: RawSpin>(&self) -> bool {
        let own = generation();
        // ORDERING word.line: pairs with the Release in `renew`: what we do with the lock comes after.
        let seen = self.line.load(Acquire);
        seen == own || self.renew::<R>(seen, own)
    }

    /// In a forked child: makes the lock anew, held or not as it was, without waiters. The first to come does it,
    /// alone: all others look at `line` before they touch the lock. A fork meanwhile leaves a line that is not of the
    /// new child, which begins again; so one store must do, or the child of an owner might find its lock free.
    #[cold]
    fn renew<R: RawSpin>(&self, seen: u32, own: u32) -> bool {
        if seen == own | RENEWING || self.line.compare_exchange(seen, own | RENEWING, Relaxed, Relaxed).is_err() {
            return false;
        }
        let new = AtomicU32::new(0);
        if self.view::<R>().is_locked() {
            spin_lock::<R>(&new).try_lock();
        }
        self.spin.store(new.into_inner(), Relaxed);
        // ORDERING word.line: pairs with the Acquire in `has_own_line`.
        self.line.store(own, Release);
        true
    }

    pub(crate) fn lock(&self, policy: Lock) {
        by_policy!(self, policy, lock => lock.lock());
    }

    /// Waits for nobody, also not for a thread that makes the lock anew: a signal handler may have interrupted that. It
    /// is about to take the lock, or finds it held, or releases it: one may see it held.
    pub(crate) fn try_lock(&self, policy: Lock) -> bool {
        match policy {
            Lock::Adaptive => self.adaptive().try_lock(),
            Lock::Queued => self.has_own_line::<RawQueuedSpinLock>() && self.view::<RawQueuedSpinLock>().try_lock(),
            Lock::Ttas => self.view::<RawSpinLock>().try_lock(),
            Lock::Ticket => self.has_own_line::<RawTicketLock>() && self.view::<RawTicketLock>().try_lock(),
        }
    }

    pub(crate) fn lock_until(&self, policy: Lock, deadline: Deadline) -> bool {
        by_policy!(self, policy, lock => lock.lock_until(deadline))
    }

    /// # Safety
    /// The lock is held under this policy, and its owner (or whoever acts for it) calls.
    pub(crate) unsafe fn unlock(&self, policy: Lock) {
        // SAFETY: the caller's promise.
        by_policy!(self, policy, lock => unsafe { lock.unlock() });
    }

    pub(crate) fn is_locked(&self, policy: Lock) -> bool {
        by_policy!(self, policy, lock => lock.is_locked())
    }
}
