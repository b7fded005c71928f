//! What a semaphore offers beside a lock of one permit.

pub mod broken;

use crate::lock::OnePermit;
use turnwise::platform::Deadline;

/// Permits that are taken and given back by number.
pub trait Permits: Sync {
    /// Waits for `n` permits.
    fn take(&self, n: u32);

    /// Takes `n` permits if they can be had at once; says whether it did.
    fn try_take(&self, n: u32) -> bool;

    /// Waits for `n` permits until `deadline` at most; says whether it has them.
    fn take_until(&self, n: u32, deadline: Deadline) -> bool;

    /// Gives `n` permits back, or adds them.
    fn give(&self, n: u32);
}

impl<const FAIR: bool> Permits for OnePermit<FAIR> {
    fn take(&self, n: u32) {
        self.semaphore().acquire_many(n).forget();
    }

    fn try_take(&self, n: u32) -> bool {
        self.semaphore().try_acquire_many(n).map(|permits| permits.forget()).is_some()
    }

    fn take_until(&self, n: u32, deadline: Deadline) -> bool {
        self.semaphore().try_acquire_until(n, deadline).map(|permits| permits.forget()).is_some()
    }

    fn give(&self, n: u32) {
        self.semaphore().release(n);
    }
}
