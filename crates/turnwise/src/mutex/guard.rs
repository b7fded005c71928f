//! Guards of the mutex.

use super::Mutex;
use crate::mutex::RawMutex;
use crate::order::{released, suspend};
use crate::platform::{DefaultPlatform, Platform};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// The lock, held; released when dropped.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized, P: Platform = DefaultPlatform> {
    lock: &'a Mutex<T, P>,
    /// Not `Send`: the owner's token is the thread's. `Sync` if `T` is.
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives `&T` only.
unsafe impl<T: ?Sized + Sync, P: Platform> Sync for MutexGuard<'_, T, P> {}

impl<'a, T: ?Sized, P: Platform> MutexGuard<'a, T, P> {
    /// # Safety
    /// The calling thread has the lock, and no other guard of it exists.
    #[inline]
    pub(super) unsafe fn new(lock: &'a Mutex<T, P>) -> Self {
        MutexGuard { lock, not_send: PhantomData }
    }

    /// The mutex of this guard.
    pub fn mutex(this: &Self) -> &'a Mutex<T, P> {
        this.lock
    }

    /// Releases the lock to the thread that has slept longest for it, if any does.
    pub fn unlock_fair(this: Self) {
        let lock = this.lock;
        mem::forget(this);
        released(lock.name());
        // SAFETY: the forgotten guard had the lock.
        unsafe { lock.raw.unlock_fair() }
    }

    /// A guard of a part of the data.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U, P> {
        let lock = this.lock;
        // SAFETY: the guard has the lock, and is used for nothing else from here on.
        let data = NonNull::from(part(unsafe { &mut *lock.data.get() }));
        mem::forget(this);
        MappedMutexGuard { raw: &lock.raw, data, owns: PhantomData }
    }

    /// A guard of a part of the data, if there is such a part.
    ///
    /// # Errors
    /// The guard itself, when `part` returns `None`.
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U, P>, Self> {
        let lock = this.lock;
        // SAFETY: as in `map`.
        let Some(data) = part(unsafe { &mut *lock.data.get() }) else { return Err(this) };
        let data = NonNull::from(data);
        mem::forget(this);
        Ok(MappedMutexGuard { raw: &lock.raw, data, owns: PhantomData })
    }

    /// Releases the lock while `f` runs, and acquires it again.
    pub fn unlocked<R>(this: &mut Self, f: impl FnOnce() -> R) -> R {
        struct Relock<'a, P: Platform>(&'a RawMutex<P>);
        impl<P: Platform> Drop for Relock<'_, P> {
            fn drop(&mut self) {
                self.0.lock();
            }
        }
        let _suspended = suspend(this.lock.name());
        // SAFETY: the guard has the lock; `Relock` acquires it before the guard can be used again, panic or not.
        unsafe { this.lock.raw.unlock() };
        let _relock = Relock(&this.lock.raw);
        f()
    }
}

impl<T: ?Sized, P: Platform> Deref for MutexGuard<'_, T, P> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized, P: Platform> DerefMut for MutexGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock, and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized, P: Platform> Drop for MutexGuard<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        released(self.lock.name());
        // SAFETY: the guard has the lock.
        unsafe { self.lock.raw.unlock() }
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform> fmt::Debug for MutexGuard<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, P: Platform> fmt::Display for MutexGuard<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The lock, held, with a part of the data in view.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct MappedMutexGuard<'a, T: ?Sized, P: Platform = DefaultPlatform> {
    raw: &'a RawMutex<P>,
    data: NonNull<T>,
    owns: PhantomData<&'a mut T>,
}

// SAFETY: a shared guard gives `&T` only.
unsafe impl<T: ?Sized + Sync, P: Platform> Sync for MappedMutexGuard<'_, T, P> {}

impl<'a, T: ?Sized, P: Platform> MappedMutexGuard<'a, T, P> {
    /// A guard of a part of the part.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U, P> {
        let raw = this.raw;
        // SAFETY: the guard has the lock, and is used for nothing else from here on.
        let data = NonNull::from(part(unsafe { &mut *this.data.as_ptr() }));
        mem::forget(this);
        MappedMutexGuard { raw, data, owns: PhantomData }
    }
}

impl<T: ?Sized, P: Platform> Deref for MappedMutexGuard<'_, T, P> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized, P: Platform> DerefMut for MappedMutexGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock, and is borrowed exclusively.
        unsafe { self.data.as_mut() }
    }
}

impl<T: ?Sized, P: Platform> Drop for MappedMutexGuard<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        released(core::ptr::from_ref(self.raw).addr());
        // SAFETY: the guard has the lock.
        unsafe { self.raw.unlock() }
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform> fmt::Debug for MappedMutexGuard<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
