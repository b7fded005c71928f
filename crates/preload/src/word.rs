//! The lock itself, by policy, in the first 8 bytes of a mutex.

use crate::policy::Policy;
use core::sync::atomic::AtomicU64;
use turnwise::RawMutex;
use turnwise::platform::Deadline;
use turnwise::spin::{RawQueuedSpinLock, RawSpin, RawSpinLock, RawTicketLock};

/// Eight bytes that hold a lock of some policy. Zero: unlocked, under every policy.
#[repr(C, align(8))]
pub(crate) struct LockWord(AtomicU64);

const _: () = {
    assert!(size_of::<RawMutex>() <= size_of::<LockWord>());
    assert!(size_of::<RawQueuedSpinLock>() <= size_of::<LockWord>());
    assert!(size_of::<RawSpinLock>() <= size_of::<LockWord>());
    assert!(size_of::<RawTicketLock>() <= size_of::<LockWord>());
};

/// Runs an expression on the lock of a policy.
macro_rules! by_policy {
    ($word:expr, $policy:expr, $lock:ident => $expression:expr) => {
        match $policy {
            Policy::Adaptive => {
                let $lock = $word.adaptive();
                $expression
            }
            Policy::Mcs => {
                let $lock = $word.view::<RawQueuedSpinLock>();
                $expression
            }
            Policy::Ttas => {
                let $lock = $word.view::<RawSpinLock>();
                $expression
            }
            Policy::Ticket => {
                let $lock = $word.view::<RawTicketLock>();
                $expression
            }
        }
    };
}

impl LockWord {
    /// The word as the default policy's lock.
    #[inline(always)]
    pub(crate) fn adaptive(&self) -> &RawMutex {
        // SAFETY: as in `view`.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// The word as a spin lock.
    fn view<R: RawSpin>(&self) -> &R {
        // SAFETY: these locks consist of atomic words, valid with any bytes, and fit, as asserted above. A lock's
        // policy never changes while it lives, so no lock of another type has written here.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    pub(crate) fn lock(&self, policy: Policy) {
        by_policy!(self, policy, lock => lock.lock());
    }

    pub(crate) fn try_lock(&self, policy: Policy) -> bool {
        by_policy!(self, policy, lock => lock.try_lock())
    }

    pub(crate) fn lock_until(&self, policy: Policy, deadline: Deadline) -> bool {
        by_policy!(self, policy, lock => lock.lock_until(deadline))
    }

    /// # Safety
    /// The lock is held under this policy, and its owner (or whoever acts for it) calls.
    pub(crate) unsafe fn unlock(&self, policy: Policy) {
        // SAFETY: the caller's promise.
        by_policy!(self, policy, lock => unsafe { lock.unlock() });
    }

    pub(crate) fn is_locked(&self, policy: Policy) -> bool {
        by_policy!(self, policy, lock => lock.is_locked())
    }
}
