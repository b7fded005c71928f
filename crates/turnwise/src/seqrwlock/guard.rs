//! Guards of the sequence read/write lock.

use super::{RawSeqRwLock, SeqRwLock};
use crate::order::released;
use crate::platform::{DefaultPlatform, Platform};
use crate::raw::RawLock;
use crate::rwlock::MappedRwLockReadGuard;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A guard of a blocking read: writers wait until it is dropped.
///
/// ```
/// let bounds = turnwise::SeqRwLock::new((0, 10));
/// assert_eq!(*bounds.blocking_read(), (0, 10));
/// ```
pub type SeqReadGuard<'a, T, P = DefaultPlatform> = MappedRwLockReadGuard<'a, RawSeqRwLock<P>, T>;

/// A guard of the write lock, with a copy of the value, which is published when the guard is dropped.
///
/// ```
/// let bounds = turnwise::SeqRwLock::new((0, 10));
/// let mut guard = bounds.write();
/// *guard = (5, 15);
/// assert_eq!(bounds.read(), (0, 10), "not yet");
/// turnwise::SeqWriteGuard::publish(&mut guard);
/// assert_eq!(bounds.read(), (5, 15));
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct SeqWriteGuard<'a, T: Copy, P: Platform = DefaultPlatform> {
    lock: &'a SeqRwLock<T, P>,
    copy: T,
    /// Keeps the guard on its thread, which alone may release the lock.
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives only `&T`.
unsafe impl<T: Copy + Sync, P: Platform> Sync for SeqWriteGuard<'_, T, P> {}

impl<'a, T: Copy, P: Platform> SeqWriteGuard<'a, T, P> {
    /// Creates the guard of the write lock, with a copy of the value.
    ///
    /// # Safety
    /// The calling thread has the lock for writing, and there is no other guard for that.
    #[inline]
    pub(super) unsafe fn new(lock: &'a SeqRwLock<T, P>) -> Self {
        P::touch(lock.value.as_ptr().cast(), size_of::<T>(), true);
        // SAFETY: invariant 2 of `raw`: only the thread that has the write lock changes the value.
        let copy = unsafe { *lock.value.as_ptr() };
        SeqWriteGuard { lock, copy, not_send: PhantomData }
    }

    /// Publishes the copy now, and continues to hold the lock.
    pub fn publish(this: &mut Self) {
        this.lock.raw.begin_change();
        // SAFETY: Invariant 2 of `raw`: the guard has the write lock, and changes the data between the two stores to
        // the sequence.
        unsafe { this.lock.value.store(this.copy) };
        this.lock.raw.end_change();
    }
}

impl<T: Copy, P: Platform> Deref for SeqWriteGuard<'_, T, P> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.copy
    }
}

impl<T: Copy, P: Platform> DerefMut for SeqWriteGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.copy
    }
}

impl<T: Copy, P: Platform> Drop for SeqWriteGuard<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        Self::publish(self);
        released(self.lock.class().1);
        // SAFETY: contract of `RawLock::unlock`: the guard has the write lock.
        unsafe { self.lock.raw.inner().unlock() }
    }
}

shows_data!([T: Copy, P: Platform] SeqWriteGuard<'_, T, P>);
