//! The lock, by policy, in the first 8 bytes of a mutex.
//!
//! `queued` and `ticket` keep their queue of waiters in the word: `word/line.rs`.

mod line;

use line::QueueWord;
use turnwise::RawMutex;
use turnwise::platform::{Deadline, Native};
use turnwise::raw::{RawLock, RawTimedLock};
use turnwise::spin::{RawQueuedSpinLock, RawSpinLock, RawTicketLock};
use turnwise::wait::Tuned;
use turnwise_preload_abi::Lock;

/// The eight bytes that hold a lock of some policy. Zero bytes are an unlocked lock, under every policy.
#[repr(transparent)]
pub(crate) struct LockWord(QueueWord<Native>);

const _: () = assert!(size_of::<RawMutex>() <= size_of::<LockWord>() && size_of::<LockWord>() == 8);

/// Evaluates an expression with the lock of a policy.
macro_rules! by_policy {
    ($word:expr, $policy:expr, $lock:ident => $expression:expr) => {
        match $policy {
            Lock::Adaptive => {
                let $lock = $word.adaptive();
                $expression
            }
            Lock::Queued => {
                let $lock = $word.0.with_queue::<RawQueuedSpinLock>();
                $expression
            }
            Lock::Ttas => {
                let $lock = $word.0.view::<RawSpinLock>();
                $expression
            }
            Lock::Ticket => {
                let $lock = $word.0.with_queue::<RawTicketLock>();
                $expression
            }
        }
    };
}

impl LockWord {
    /// Views the word as the default policy's lock.
    #[inline(always)]
    pub(crate) fn adaptive(&self) -> &RawMutex {
        // SAFETY: it consists of atomic words, valid with any bytes, and fits. A lock's policy never changes while it
        // lives, so no lock of another type has written here.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// Acquires the lock if it is free and no thread waits; may fail otherwise.
    #[inline]
    pub(crate) fn lock_at_once(&self, policy: Lock) -> bool {
        match policy {
            Lock::Adaptive => self.adaptive().lock_fast() || self.adaptive().lock_flagged(),
            _ => self.try_lock(policy),
        }
    }

    pub(crate) fn lock(&self, policy: Lock, tuned: Option<Tuned>) {
        if let (Lock::Adaptive, Some(tuned)) = (policy, tuned) {
            return self.adaptive().lock_tuned(tuned);
        }
        by_policy!(self, policy, lock => lock.lock());
    }

    /// Tries to acquire the lock, without waiting for another thread, not even for one that rebuilds the lock, which a
    /// signal handler may have interrupted. That thread is about to take the lock, or finds it held, or releases it:
    /// the lock may be seen as held.
    pub(crate) fn try_lock(&self, policy: Lock) -> bool {
        match policy {
            Lock::Adaptive => self.adaptive().try_lock(),
            Lock::Queued => {
                self.0.has_own_queue::<RawQueuedSpinLock>() && self.0.view::<RawQueuedSpinLock>().try_lock()
            }
            Lock::Ttas => self.0.view::<RawSpinLock>().try_lock(),
            Lock::Ticket => self.0.has_own_queue::<RawTicketLock>() && self.0.view::<RawTicketLock>().try_lock(),
        }
    }

    pub(crate) fn lock_until(&self, policy: Lock, deadline: Deadline, tuned: Option<Tuned>) -> bool {
        if let (Lock::Adaptive, Some(tuned)) = (policy, tuned) {
            return self.adaptive().lock_tuned_until(deadline, tuned);
        }
        by_policy!(self, policy, lock => lock.lock_until(deadline))
    }

    /// Releases the lock. A ticket lock that is free remains so, as every other lock does: this release would serve a
    /// ticket that is not drawn yet, and no thread would acquire the lock again.
    ///
    /// # Safety
    /// The lock is held under this policy, and its owner (or a thread that acts for the owner) calls.
    pub(crate) unsafe fn unlock(&self, policy: Lock) {
        if policy == Lock::Ticket && !self.is_locked(policy) {
            return;
        }
        // SAFETY: contract of `unlock`, which is that of `RawLock::unlock`.
        by_policy!(self, policy, lock => unsafe { lock.unlock() });
    }

    pub(crate) fn is_locked(&self, policy: Lock) -> bool {
        by_policy!(self, policy, lock => lock.is_locked())
    }
}
