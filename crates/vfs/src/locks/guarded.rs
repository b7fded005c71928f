//! Data behind the locks of a set.

use super::{Exclusive, Shared};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Data behind an [`Exclusive`].
pub struct Guarded<L: Exclusive, T> {
    lock: L,
    data: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time at the data, so that they are as good as sent to it.
unsafe impl<L: Exclusive, T: Send> Sync for Guarded<L, T> {}

impl<L: Exclusive, T> Guarded<L, T> {
    /// Unlocked.
    pub fn new(data: T) -> Self {
        Guarded { lock: L::new_in(), data: UnsafeCell::new(data) }
    }

    /// Acquires the lock.
    #[inline]
    pub fn lock(&self) -> GuardedGuard<'_, L, T> {
        self.lock.lock();
        GuardedGuard { of: self, one_thread: PhantomData }
    }

    /// Acquires the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<GuardedGuard<'_, L, T>> {
        self.lock.try_lock().then(|| GuardedGuard { of: self, one_thread: PhantomData })
    }

    /// The data, when nobody else can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

/// The lock, held.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct GuardedGuard<'a, L: Exclusive, T> {
    of: &'a Guarded<L, T>,
    /// Not `Send`: who acquired a lock releases it.
    one_thread: PhantomData<*mut ()>,
}

impl<L: Exclusive, T> Deref for GuardedGuard<'_, L, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.of.data.get() }
    }
}

impl<L: Exclusive, T> DerefMut for GuardedGuard<'_, L, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock, and is borrowed for as long as the data.
        unsafe { &mut *self.of.data.get() }
    }
}

impl<L: Exclusive, T> Drop for GuardedGuard<'_, L, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked when the guard was made.
        unsafe { self.of.lock.unlock() };
    }
}

/// Data behind a [`Shared`].
pub struct ShGuarded<L: Shared, T> {
    lock: L,
    data: UnsafeCell<T>,
}

// SAFETY: the lock lets one writer or many readers at the data.
unsafe impl<L: Shared, T: Send + Sync> Sync for ShGuarded<L, T> {}

impl<L: Shared, T> ShGuarded<L, T> {
    /// Unlocked.
    pub fn new(data: T) -> Self {
        ShGuarded { lock: L::new_in(), data: UnsafeCell::new(data) }
    }

    /// Shuts writers out.
    #[inline]
    pub fn read(&self) -> ShReadGuard<'_, L, T> {
        self.lock.read();
        ShReadGuard { of: self, one_thread: PhantomData }
    }

    /// Shuts everybody out.
    #[inline]
    pub fn write(&self) -> ShWriteGuard<'_, L, T> {
        self.lock.write();
        ShWriteGuard { of: self, one_thread: PhantomData }
    }

    /// The data, when nobody else can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

/// The lock, held for reading.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct ShReadGuard<'a, L: Shared, T> {
    of: &'a ShGuarded<L, T>,
    one_thread: PhantomData<*mut ()>,
}

impl<L: Shared, T> Deref for ShReadGuard<'_, L, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: held for reading.
        unsafe { &*self.of.data.get() }
    }
}

impl<L: Shared, T> Drop for ShReadGuard<'_, L, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked when the guard was made.
        unsafe { self.of.lock.unlock_read() };
    }
}

/// The lock, held for writing.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct ShWriteGuard<'a, L: Shared, T> {
    of: &'a ShGuarded<L, T>,
    one_thread: PhantomData<*mut ()>,
}

impl<L: Shared, T> Deref for ShWriteGuard<'_, L, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: held for writing.
        unsafe { &*self.of.data.get() }
    }
}

impl<L: Shared, T> DerefMut for ShWriteGuard<'_, L, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: held for writing, and borrowed for as long as the data.
        unsafe { &mut *self.of.data.get() }
    }
}

impl<L: Shared, T> Drop for ShWriteGuard<'_, L, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked when the guard was made.
        unsafe { self.of.lock.unlock_write() };
    }
}
