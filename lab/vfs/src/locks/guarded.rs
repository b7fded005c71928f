//! Data behind a lock that readers share.

use core::marker::PhantomData;
use core::ops::Deref;
use turnwise::raw::RawRwLock;
use turnwise::{Lock, LockGuard};

/// Data behind a [`RawRwLock`].
pub struct Shared<L: RawRwLock, T>(Lock<L, T>);

impl<L: RawRwLock, T: Sync> Shared<L, T> {
    /// Creates an unlocked lock around `data`.
    pub fn new(data: T) -> Self {
        Shared(Lock::new_in(data))
    }

    /// Acquires the lock for reading, which shuts writers out.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, L, T> {
        self.0.raw().read();
        ReadGuard { of: &self.0, one_thread: PhantomData }
    }

    /// Acquires the lock for writing, which excludes all other threads.
    #[inline]
    pub fn write(&self) -> LockGuard<'_, L, T> {
        self.0.lock()
    }

    /// Returns the data, when no other thread can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// The lock, held for reading.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct ReadGuard<'a, L: RawRwLock, T> {
    of: &'a Lock<L, T>,
    one_thread: PhantomData<*mut ()>,
}

impl<L: RawRwLock, T> Deref for ReadGuard<'_, L, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: held for reading, and `Shared` lets no thread write meanwhile.
        unsafe { &*self.of.data_ptr() }
    }
}

impl<L: RawRwLock, T> Drop for ReadGuard<'_, L, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked when the guard was made.
        unsafe { self.of.raw().unlock_read() };
    }
}
