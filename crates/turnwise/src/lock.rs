//! Data behind a lock, and its guards.

use crate::order::{Class, How, suspend};
use crate::raw::{RawLock, RawTimedLock};
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// Data of type `T` behind the lock `R`. Use it under the names [`Mutex`](crate::Mutex), [`SpinLock`](crate::SpinLock),
/// [`TicketLock`](crate::TicketLock), [`QueuedSpinLock`](crate::QueuedSpinLock),
/// [`ReentrantMutex`](crate::ReentrantMutex) and [`LockRefCell`](crate::LockRefCell), or with your own [`RawLock`].
///
/// It does not poison: a panic while the lock is held releases it.
///
/// ```
/// use turnwise::{Lock, RawLock, RawMutex, RawSpinLock};
///
/// /// Adds one, behind any kind of lock.
/// fn add<R: RawLock>(counter: &Lock<R, u64>) {
///     *counter.lock() += 1;
/// }
///
/// let (sleeping, spinning) = (Lock::<RawMutex, u64>::new(0), Lock::<RawSpinLock, u64>::new(0));
/// add(&sleeping);
/// add(&spinning);
/// assert_eq!((*sleeping.lock(), *spinning.lock()), (1, 1));
/// ```
pub struct Lock<R: RawLock, T: ?Sized> {
    raw: R,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: contract of `RawLock` (1 and 2): one thread at a time has the data, and sees what earlier owners wrote, so
// sharing the lock only moves `T` between threads.
unsafe impl<R: RawLock, T: ?Sized + Send> Sync for Lock<R, T> {}
// SAFETY: the lock owns its data, and `R` is `Send`.
unsafe impl<R: RawLock, T: ?Sized + Send> Send for Lock<R, T> {}

impl<R: RawLock, T> Lock<R, T> {
    /// Wraps `value` in the lock `raw`, which must be unlocked.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn from_raw(raw: R, value: T) -> Self {
        Lock { raw, class: Class::new(), data: UnsafeCell::new(value) }
    }

    /// Wraps `value` in an unlocked lock, on any platform.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(value: T) -> Self {
        Lock::from_raw(R::new_in(), value)
    }

    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<R: RawLock, T: ?Sized> Lock<R, T> {
    const EXCLUDES_ITS_OWNER: () =
        assert!(!R::REENTRANT, "its owner may lock it twice, and would have two `&mut` to the data");
    const HOW: How = if R::REENTRANT { How::Again } else { How::Write };

    acquisitions! {
        |lock, deadline| lock.class.before(lock.name(), Self::HOW), guard -> LockGuard<'_, R, T>,
            R::Platform where RawTimedLock;

        /// Acquires the lock. A thread that already holds it deadlocks, unless the lock is re-entrant.
        lock: lock.raw.lock();
        /// Acquires the lock if it is free.
        try_lock: lock.raw.try_lock();
        /// Acquires the lock, or gives up after `timeout`. The raw lock's documentation states how this affects the
        /// order of waiters.
        try_lock_for;
        /// Acquires the lock, or gives up at `deadline`. (It takes [`Deadline`](crate::platform::Deadline) rather than
        /// `std::time::Instant`, which cannot name a point on another platform's clock.)
        try_lock_until: lock.raw.lock_until(deadline);
    }

    /// Creates a guard, and records the acquisition for the order checker.
    ///
    /// # Safety
    /// The calling thread has just acquired the lock.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    unsafe fn guard(&self) -> LockGuard<'_, R, T> {
        self.class.acquired(self.name(), Self::HOW);
        // SAFETY: contract of `LockGuard::new`: the calling thread has just acquired the lock.
        unsafe { LockGuard::new(self) }
    }

    /// Returns the order checker's name for this lock.
    #[inline]
    pub(crate) fn name(&self) -> usize {
        core::ptr::from_ref(&self.raw).addr()
    }

    /// Returns the order checker's class of this lock.
    #[inline]
    pub(crate) fn class(&self) -> &Class {
        &self.class
    }

    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns the value, without locking: the exclusive borrow proves that no other thread has access to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns what has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }

    /// Returns the raw lock, without the data, for condition variables and adapters.
    pub fn raw(&self) -> &R {
        &self.raw
    }

    /// Returns a pointer to the data; reading it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.get()
    }
}

impl<R: RawLock + Default, T: Default> Default for Lock<R, T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<R: RawLock + Default, T> From<T> for Lock<R, T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn from(value: T) -> Self {
        Lock::from_raw(R::default(), value)
    }
}

impl<R: RawLock, T: ?Sized + fmt::Debug> fmt::Debug for Lock<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_data(f.debug_struct(R::NAME), self.try_lock())
    }
}

/// Shows a lock by its data, or that they are locked.
pub(crate) fn show_data<T: fmt::Debug + ?Sized>(
    mut out: fmt::DebugStruct<'_, '_>,
    data: Option<impl Deref<Target = T>>,
) -> fmt::Result {
    match data {
        Some(data) => out.field("data", &&*data),
        None => out.field("data", &format_args!("<locked>")),
    };
    out.finish_non_exhaustive()
}

/// A guard of a [`Lock`], which is held until the guard is dropped. It is `Send` if [`RawLock::GuardMarker`] is.
///
/// ```
/// use turnwise::{LockGuard, RawTicketLock, TicketLock};
///
/// let lock = TicketLock::new(7);
/// let mut guard: LockGuard<'_, RawTicketLock, u32> = lock.lock();
/// *guard += 1;
/// assert!(lock.try_lock().is_none());
/// drop(guard);
/// assert_eq!(lock.into_inner(), 8);
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct LockGuard<'a, R: RawLock, T: ?Sized> {
    lock: &'a Lock<R, T>,
    /// Decides whether the guard is `Send`; it is `Sync` if `T` is.
    marker: PhantomData<(&'a mut T, R::GuardMarker)>,
}

guard_traits!([R: RawLock, T: ?Sized] LockGuard<'_, R, T>, |this| this.lock.raw(), this.lock.data_ptr(), unlock);

impl<'a, R: RawLock, T: ?Sized> LockGuard<'a, R, T> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The lock was acquired, and there is no other guard for that acquisition.
    #[inline]
    pub(crate) unsafe fn new(lock: &'a Lock<R, T>) -> Self {
        LockGuard { lock, marker: PhantomData }
    }

    /// Returns the lock, which stays acquired: the caller must release it.
    pub(crate) fn forget(this: Self) -> &'a Lock<R, T> {
        let lock = this.lock;
        mem::forget(this);
        lock
    }

    pub(crate) fn raw(this: &Self) -> &'a R {
        &this.lock.raw
    }

    /// Returns the lock of this guard.
    #[must_use]
    pub fn mutex(this: &Self) -> &'a Lock<R, T> {
        this.lock
    }

    /// Releases the lock while `f` runs, then acquires it again. (A re-entrant lock that the thread has acquired
    /// elsewhere, too, stays locked.)
    pub fn unlocked<O>(this: &mut Self, f: impl FnOnce() -> O) -> O {
        struct Relock<'a, R: RawLock>(&'a R);
        impl<R: RawLock> Drop for Relock<'_, R> {
            fn drop(&mut self) {
                self.0.lock();
            }
        }
        let _suspended = suspend(this.lock.name());
        // SAFETY: contract of `RawLock::unlock`: the guard has the lock; `Relock` acquires it before the guard can be
        // used again, panic or not.
        unsafe { this.lock.raw.unlock() };
        let _relock = Relock(&this.lock.raw);
        f()
    }
}

guard_of_part!(RawLock, LockGuard => MappedLockGuard, mut);

impl<R: RawLock, T: ?Sized> DerefMut for LockGuard<'_, R, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        let () = Lock::<R, T>::EXCLUDES_ITS_OWNER;
        // SAFETY: contract of `RawLock` (1): the guard has the lock, and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

/// A guard of part of the data of a [`Lock`], which is held until the guard is dropped.
///
/// ```
/// use turnwise::{LockGuard, Mutex};
///
/// let pair = Mutex::new((1, "one"));
/// let mut number = LockGuard::map(pair.lock(), |pair| &mut pair.0);
/// *number += 1;
/// drop(number);
/// assert_eq!(pair.into_inner(), (2, "one"));
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct MappedLockGuard<'a, R: RawLock, T: ?Sized> {
    raw: &'a R,
    data: NonNull<T>,
    owns: PhantomData<&'a mut T>,
}

guard_traits!([R: RawLock, T: ?Sized] MappedLockGuard<'_, R, T>, |this| this.raw, this.data.as_ptr(), unlock);

guard_of_part!(RawLock, MappedLockGuard => MappedLockGuard, mut);

impl<'a, R: RawLock, T: ?Sized> MappedLockGuard<'a, R, T> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The lock was acquired, there is no other guard for that acquisition, and it protects `data`.
    pub(crate) unsafe fn new(raw: &'a R, data: NonNull<T>) -> Self {
        MappedLockGuard { raw, data, owns: PhantomData }
    }

    pub(crate) fn raw(this: &Self) -> &'a R {
        this.raw
    }
}

impl<R: RawLock, T: ?Sized> DerefMut for MappedLockGuard<'_, R, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        let () = Lock::<R, ()>::EXCLUDES_ITS_OWNER;
        // SAFETY: contract of `RawLock` (1): the guard has the lock, and is borrowed exclusively.
        unsafe { self.data.as_mut() }
    }
}
