//! A lock and a count side by side.

use super::{Count, DEAD, Put};
use crate::ticket::KernelTicketLock;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, IntWord, Pause, Platform, Word};
use turnwise::raw::{GuardNoSend, RawLock};

/// A lock and a count side by side; with `BY_EXCHANGE`, a count above 1 changes without the lock.
#[repr(C)]
pub struct TwoWords<const BY_EXCHANGE: bool, P: Platform = DefaultPlatform> {
    d_lock: KernelTicketLock<P>,
    count: P::U32,
}

lock_basics!(TwoWords [const BY_EXCHANGE: bool], |lock| count: lock.count());

// SAFETY: `d_lock` is a ticket lock; guards stay on their thread, whose preemption is off.
unsafe impl<const BY_EXCHANGE: bool, P: Platform> RawLock for TwoWords<BY_EXCHANGE, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::with_references(0)
    }

    #[inline]
    fn lock(&self) {
        self.d_lock.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.d_lock.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `RawLock::unlock`, which is the caller's, too: it has the lock.
        unsafe { self.d_lock.unlock() };
    }

    fn is_locked(&self) -> bool {
        self.d_lock.is_locked()
    }
}

impl<const BY_EXCHANGE: bool, P: Platform> Count for TwoWords<BY_EXCHANGE, P> {
    fn with_references(count: u32) -> Self {
        TwoWords { d_lock: KernelTicketLock::new_in(), count: P::U32::new(count) }
    }

    #[inline]
    fn get(&self) -> bool {
        if self.get_above_one() {
            return false;
        }
        self.d_lock.with(|| self.add_locked());
        true
    }

    /// Adds a reference unless the count is dead. In the paper's kernel, too, a thread that finds a dentry without a
    /// reference takes the lock: a walk without references could avoid it only later (commit 15570086, with the
    /// lockref).
    #[inline]
    fn get_live(&self) -> bool {
        self.d_lock.with(|| {
            let live = self.count.load(Relaxed) != DEAD; // set only under the lock
            if live {
                self.add_locked();
            }
            live
        })
    }

    #[inline]
    fn get_above_one(&self) -> bool {
        BY_EXCHANGE && self.add_by_exchange()
    }

    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        self.d_lock.with(|| {
            let unused = self.count.load(Relaxed) == 0; // and stays so: invariant 2
            if unused {
                at_kill();
                self.count.store(DEAD, Relaxed);
            }
            unused
        })
    }

    #[inline]
    fn put_with(&self, at_last: impl FnOnce()) -> Put {
        if BY_EXCHANGE && self.take_by_exchange() {
            return Put { last: false, locked: false };
        }
        let last = self.d_lock.with(|| self.take_locked(at_last));
        Put { last, locked: true }
    }

    fn count(&self) -> u32 {
        self.count.load(Relaxed) & !DEAD
    }
}

impl<const BY_EXCHANGE: bool, P: Platform> TwoWords<BY_EXCHANGE, P> {
    /// Adds one while the count is above 1; returns whether it did. From 1 as from 0 a get takes the lock: a thread
    /// that has the lock and finds 1 is then alone (invariant 2).
    #[inline]
    fn add_by_exchange(&self) -> bool {
        let mut count = self.count.load(Relaxed);
        while (2..DEAD).contains(&count) {
            // ORDERING d_count.get: pairs with d_count.last; shows what was done when the count last fell to 0.
            match self.count.compare_exchange(count, count + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => count = found,
            }
            P::pause(Pause::Relax);
        }
        false
    }

    /// Takes one away while the count is above 1; returns whether it did.
    #[inline]
    fn take_by_exchange(&self) -> bool {
        let mut count = self.count.load(Relaxed);
        while count > 1 {
            // ORDERING d_count.put: pairs with d_count.last: what we did with the reference comes before the last put.
            match self.count.compare_exchange(count, count - 1, Release, Relaxed) {
                Ok(_) => return true,
                Err(found) => count = found,
            }
            P::pause(Pause::Relax);
        }
        false
    }

    fn add_locked(&self) {
        if BY_EXCHANGE {
            self.count.fetch_add(1, Relaxed);
        } else {
            self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        }
    }

    /// Takes one away, as the owner of the lock; returns whether it was the last.
    fn take_locked(&self, at_last: impl FnOnce()) -> bool {
        if !BY_EXCHANGE {
            let count = self.count.load(Relaxed);
            if count == 1 {
                at_last();
            }
            self.count.store(count - 1, Relaxed);
            return count == 1;
        }
        if self.take_by_exchange() {
            return false;
        }
        // ORDERING d_count.last: pairs with d_count.put: shows what others did before they dropped theirs.
        self.count.load(Acquire);
        at_last();
        // ORDERING d_count.last: Release pairs with d_count.get, for one that gets by exchange when others have come.
        self.count.fetch_sub(1, Release);
        true
    }
}
