//! The guard of the lock of a [`LockRef`].

use super::raw::{COUNT_MAX, DEAD, LockRef, ONE, count, no_reference, too_many};
use crate::order::released;
use crate::platform::{DefaultPlatform, IntWord, Platform};
use crate::raw::RawLock;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;

/// A guard of the lock of a [`LockRef`], which is held until the guard is dropped. Meanwhile only this guard changes
/// the count.
///
/// ```
/// let refs = turnwise::LockRef::new(1);
/// let guard = refs.put_or_lock().expect("the last reference is dropped under the lock");
/// guard.mark_dead();
/// assert_eq!(guard.put(), 0);
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct LockRefGuard<'a, P: Platform = DefaultPlatform> {
    of: &'a LockRef<P>,
    /// Not `Send`: waiters query whether the thread that locked it runs. Not `Sync`: two threads that first read the
    /// count and then change it would break invariant 3.
    one_thread: PhantomData<*mut ()>,
}

impl<'a, P: Platform> LockRefGuard<'a, P> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The calling thread has the lock; one guard of it is in use at a time, and one at most is dropped.
    #[inline]
    pub(super) unsafe fn new(of: &'a LockRef<P>) -> Self {
        LockRefGuard { of, one_thread: PhantomData }
    }

    /// Returns the number of references, which no other thread can change.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.of.count()
    }

    /// Returns whether the object has been marked dead.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.of.is_dead()
    }

    /// Adds a reference, even if there is none; returns the previous number.
    ///
    /// # Panics
    /// If there are [`COUNT_MAX`].
    #[inline]
    #[expect(clippy::must_use_candidate, reason = "most callers want the reference, not the number")]
    pub fn get(&self) -> u32 {
        if self.count() == COUNT_MAX {
            too_many();
        }
        count(self.of.word.fetch_add(ONE, Relaxed))
    }

    /// Drops a reference; returns the number that remain.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[expect(clippy::must_use_candidate, reason = "dropped is dropped, however many are left")]
    pub fn put(&self) -> u32 {
        if self.count() == 0 {
            no_reference();
        }
        count(self.of.word.fetch_sub(ONE, Relaxed)) - 1
    }

    /// Marks the object dead, as [`LockRef::mark_dead`] does.
    pub fn mark_dead(&self) {
        self.of.word.fetch_or(DEAD, Relaxed);
    }
}

impl<P: Platform> Drop for LockRefGuard<'_, P> {
    #[inline]
    fn drop(&mut self) {
        released(self.of.class().1);
        // SAFETY: contract of `RawLock::unlock`: the guard has the lock, and is gone.
        unsafe { self.of.unlock() }
    }
}

shows!([P: Platform] LockRefGuard<'_, P>, |guard| count: guard.count(), dead: guard.is_dead());
