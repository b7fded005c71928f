//! Data behind a spin lock, and the guard.

use super::RawSpin;
use crate::order::{Class, How, released};
use crate::platform::Deadline;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

/// `T` behind the spin lock `R`. Use it by the names [`SpinLock`](super::SpinLock), [`TicketLock`](super::TicketLock)
/// and [`QueuedSpinLock`](super::QueuedSpinLock).
///
/// It does not poison: a panic while the lock is held releases it.
pub struct Lock<R: RawSpin, T: ?Sized> {
    raw: R,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, so sharing it only moves `T` between threads.
unsafe impl<R: RawSpin, T: ?Sized + Send> Sync for Lock<R, T> {}
// SAFETY: the lock owns its data, and `R` is `Send`.
unsafe impl<R: RawSpin, T: ?Sized + Send> Send for Lock<R, T> {}

impl<R: RawSpin, T> Lock<R, T> {
    /// `value` behind a lock that nobody has, as `raw` must be.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(super) const fn from_raw(raw: R, value: T) -> Self {
        Lock { raw, class: Class::new(), data: UnsafeCell::new(value) }
    }

    /// The value, without locking: nobody else can have it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<R: RawSpin, T: ?Sized> Lock<R, T> {
    /// Acquires the lock. A thread that locks what it already has spins for ever.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn lock(&self) -> SpinGuard<'_, R, T> {
        self.class.before(self.name(), How::Write);
        self.raw.lock();
        // SAFETY: just acquired.
        unsafe { self.guard() }
    }

    /// Acquires the lock if it is free.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, R, T>> {
        if !self.raw.try_lock() {
            return None;
        }
        // SAFETY: just acquired.
        Some(unsafe { self.guard() })
    }

    /// Acquires the lock, or gives up after `timeout`. What this does to the order of waiters is for the raw lock to
    /// say.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<SpinGuard<'_, R, T>> {
        if let Some(guard) = self.try_lock() {
            return Some(guard);
        }
        self.try_lock_until(Deadline::after::<R::Platform>(timeout))
    }

    /// Acquires the lock, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_until(&self, deadline: Deadline) -> Option<SpinGuard<'_, R, T>> {
        self.class.before(self.name(), How::Write);
        if !self.raw.lock_until(deadline) {
            return None;
        }
        // SAFETY: just acquired.
        Some(unsafe { self.guard() })
    }

    /// # Safety
    /// The calling thread has just acquired the lock.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    unsafe fn guard(&self) -> SpinGuard<'_, R, T> {
        self.class.acquired(self.name(), How::Write);
        // SAFETY: just acquired.
        unsafe { SpinGuard::new(self) }
    }

    /// What the order checker calls this lock.
    #[inline]
    fn name(&self) -> usize {
        core::ptr::from_ref(&self.raw).addr()
    }

    /// Whether somebody has the lock at this moment.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// The value, without locking: the exclusive borrow proves that nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// What has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }

    /// The lock without the data.
    pub fn raw(&self) -> &R {
        &self.raw
    }

    /// A pointer to the data; reading it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.get()
    }
}

impl<R: RawSpin, T: ?Sized + fmt::Debug> fmt::Debug for Lock<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Lock");
        match self.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}

/// The lock, held; released when dropped.
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct SpinGuard<'a, R: RawSpin, T: ?Sized> {
    lock: &'a Lock<R, T>,
    /// The reference above would make the guard `Send` and `Sync` whenever the lock is `Sync`.
    not_auto: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives `&T` only.
unsafe impl<R: RawSpin, T: ?Sized + Sync> Sync for SpinGuard<'_, R, T> {}
// SAFETY: a moved guard gives `&mut T` to its new thread; `RawSpin::unlock` does not ask which thread calls it.
unsafe impl<R: RawSpin, T: ?Sized + Send> Send for SpinGuard<'_, R, T> {}

impl<'a, R: RawSpin, T: ?Sized> SpinGuard<'a, R, T> {
    /// # Safety
    /// The lock was acquired, and no other guard stands for that.
    #[inline]
    unsafe fn new(lock: &'a Lock<R, T>) -> Self {
        SpinGuard { lock, not_auto: PhantomData }
    }
}

impl<R: RawSpin, T: ?Sized> Deref for SpinGuard<'_, R, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<R: RawSpin, T: ?Sized> DerefMut for SpinGuard<'_, R, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock, and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<R: RawSpin, T: ?Sized> Drop for SpinGuard<'_, R, T> {
    #[inline]
    fn drop(&mut self) {
        released(self.lock.name());
        // SAFETY: the guard has the lock, and is gone.
        unsafe { self.lock.raw.unlock() }
    }
}

impl<R: RawSpin, T: ?Sized + fmt::Debug> fmt::Debug for SpinGuard<'_, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<R: RawSpin, T: ?Sized + fmt::Display> fmt::Display for SpinGuard<'_, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
