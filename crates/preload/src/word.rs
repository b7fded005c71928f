//! The lock itself, by policy, in the first 8 bytes of a mutex.

use crate::policy::{self, Policy};
use core::sync::atomic::AtomicU64;
use turnwise::RawMutex;
use turnwise::platform::Deadline;

/// Eight bytes that hold the lock of the process's policy. Zero: unlocked, under every policy.
#[repr(C, align(8))]
pub(crate) struct LockWord(AtomicU64);

const _: () = assert!(size_of::<RawMutex>() <= size_of::<LockWord>());

impl LockWord {
    /// The word as the default policy's lock.
    #[inline(always)]
    pub(crate) fn adaptive(&self) -> &RawMutex {
        // SAFETY: `RawMutex` consists of atomic words, valid with any bytes, and fits; the policy never changes while
        // the process runs, so no other lock has written here.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    pub(crate) fn lock(&self) {
        match policy::current() {
            Policy::Adaptive => self.adaptive().lock(),
        }
    }

    pub(crate) fn try_lock(&self) -> bool {
        match policy::current() {
            Policy::Adaptive => self.adaptive().try_lock(),
        }
    }

    pub(crate) fn lock_until(&self, deadline: Deadline) -> bool {
        match policy::current() {
            Policy::Adaptive => self.adaptive().lock_until(deadline),
        }
    }

    /// # Safety
    /// The lock is held, and its owner (or whoever acts for it) calls.
    pub(crate) unsafe fn unlock(&self) {
        match policy::current() {
            // SAFETY: the caller's promise.
            Policy::Adaptive => unsafe { self.adaptive().unlock() },
        }
    }

    pub(crate) fn is_locked(&self) -> bool {
        match policy::current() {
            Policy::Adaptive => self.adaptive().is_locked(),
        }
    }
}
