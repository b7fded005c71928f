//! The condition variable.

use crate::mutex::{MutexGuard, deadline};
use core::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
pub use turnwise::WaitTimeoutResult;

/// A condition variable.
pub struct Condvar {
    inner: turnwise::Condvar,
    /// Threads that wait and were not notified: the notifications' results. Turnwise's do not report them.
    waiting: AtomicUsize,
}

impl Condvar {
    /// Creates one without waiters.
    pub const fn new() -> Condvar {
        Condvar { inner: turnwise::Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    fn leave(&self) -> bool {
        // ORDERING: none: a figure that is exact only while the mutex is held.
        self.waiting.fetch_update(Relaxed, Relaxed, |waiting| waiting.checked_sub(1)).is_ok()
    }

    /// Wakes one waiter; returns whether there was one.
    pub fn notify_one(&self) -> bool {
        let waited = self.leave();
        self.inner.notify_one();
        waited
    }

    /// Wakes all waiters; returns how many there were.
    pub fn notify_all(&self) -> usize {
        let waiting = self.waiting.swap(0, Relaxed);
        self.inner.notify_all();
        waiting
    }

    /// Waits for a notification.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_internal(guard, None);
    }

    fn wait_internal<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, until: Option<Instant>) -> WaitTimeoutResult {
        self.waiting.fetch_add(1, Relaxed);
        // SAFETY: only this wait unlocks the mutex, and locks it again.
        let mutex = unsafe { MutexGuard::mutex(guard).raw() };
        // SAFETY: the guard shows that this thread has the mutex.
        let ended = unsafe { self.inner.wait_raw(&mutex.0, until.map(deadline)) };
        if ended.timed_out() {
            self.leave();
        }
        ended
    }

    /// Waits for a notification until `timeout`.
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Instant) -> WaitTimeoutResult {
        self.wait_internal(guard, Some(timeout))
    }

    /// Waits for a notification for `timeout`.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> WaitTimeoutResult {
        self.wait_internal(guard, Instant::now().checked_add(timeout))
    }

    fn wait_while_until_internal<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        timeout: Option<Instant>,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let mut result = WaitTimeoutResult::default();
        while !result.timed_out() && condition(&mut *guard) {
            result = self.wait_internal(guard, timeout);
        }
        result
    }

    /// Waits while the condition holds.
    pub fn wait_while<T: ?Sized, F: FnMut(&mut T) -> bool>(&self, guard: &mut MutexGuard<'_, T>, condition: F) {
        self.wait_while_until_internal(guard, condition, None);
    }

    /// Waits while the condition holds, until `timeout`.
    pub fn wait_while_until<T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult {
        self.wait_while_until_internal(guard, condition, Some(timeout))
    }

    /// Waits while the condition holds, for `timeout`.
    pub fn wait_while_for<T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_while_until_internal(guard, condition, Instant::now().checked_add(timeout))
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
