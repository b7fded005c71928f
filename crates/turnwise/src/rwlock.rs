//! Data behind a readers-writer lock, and the guards of readers. A writer's guard is the same as for any other lock:
//! [`LockGuard`].

use crate::lock::{Lock, LockGuard, show_data};
use crate::order::{How, suspend};
use crate::platform::Deadline;
use crate::raw::{RawRwLock, RawTimedRwLock};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::time::Duration;

/// Data of type `T` behind the readers-writer lock `R`. Use it under the names [`RwSem`](crate::RwSem) and
/// [`BigReaderLock`](crate::BigReaderLock), or with your own [`RawRwLock`].
///
/// It does not poison: a panic while the lock is held releases it.
///
/// ```
/// use turnwise::raw::{RawRwLock, RawTimedRwLock};
/// use turnwise::rwlock::RwLock;
/// use turnwise::{RawBigReaderLock, RawRwSem};
///
/// /// Adds one unless that is the limit, behind any kind of lock.
/// fn add<R: RawTimedRwLock>(counter: &RwLock<R, u64>, limit: u64) {
///     if *counter.read() < limit {
///         *counter.write() += 1;
///     }
/// }
///
/// let (small, spread) = (RwLock::<RawRwSem, u64>::new_in(0), RwLock::<RawBigReaderLock<4>, u64>::new_in(7));
/// add(&small, 7);
/// add(&spread, 7);
/// assert_eq!((*small.read(), *spread.read()), (1, 7));
/// ```
///
/// Readers on several threads share `T`, which must therefore be `Sync`:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<turnwise::RwSem<std::cell::Cell<u32>>>();
/// ```
pub struct RwLock<R: RawRwLock, T: ?Sized> {
    lock: Lock<R, T>,
}

// SAFETY: contract of `RawRwLock` (1 and 2): the lock gives `&mut T` to one thread at a time, and `&T` to many only
// while no thread has `&mut T`.
unsafe impl<R: RawRwLock, T: ?Sized + Send + Sync> Sync for RwLock<R, T> {}

impl<R: RawRwLock, T> RwLock<R, T> {
    /// Wraps `value` in the lock `raw`, which must be unlocked.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) const fn from_raw(raw: R, value: T) -> Self {
        RwLock { lock: Lock::from_raw(raw, value) }
    }

    /// Wraps `value` in an unlocked lock, on any platform.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(value: T) -> Self {
        RwLock::from_raw(R::new_in(), value)
    }

    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.lock.into_inner()
    }
}

/// Reading.
impl<R: RawRwLock, T: ?Sized> RwLock<R, T> {
    acquisitions! {
        |lock, deadline| lock.before(How::Read), reader -> RwLockReadGuard<'_, R, T>,
            R::Platform where RawTimedRwLock;

        /// Acquires the lock for reading.
        read: lock.raw().read();
        /// Acquires the lock for reading, unless a writer holds it or waits.
        try_read: lock.raw().try_read();
        /// Acquires the lock for reading, or gives up after `timeout`.
        try_read_for;
        /// Acquires the lock for reading, or gives up at `deadline`.
        try_read_until: lock.raw().read_until(deadline);
    }

    /// Reports an acquisition that may wait to the order checker.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) fn before(&self, how: How) {
        self.lock.class().before(self.lock.name(), how);
    }

    /// Reports to the order checker that the lock was acquired, and returns it for a guard.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) fn acquired(&self, how: How) -> &Lock<R, T> {
        self.lock.class().acquired(self.lock.name(), how);
        &self.lock
    }

    /// Creates a guard, and records the acquisition for the order checker.
    ///
    /// # Safety
    /// The calling thread has just acquired the lock for reading.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) unsafe fn reader(&self) -> RwLockReadGuard<'_, R, T> {
        // SAFETY: contract of `new`: that of `reader`.
        unsafe { RwLockReadGuard::new(self.acquired(How::Read)) }
    }
}

impl<R: RawTimedRwLock, T: ?Sized> RwLock<R, T> {
    /// Acquires the lock for writing, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write_for(&self, timeout: Duration) -> Option<LockGuard<'_, R, T>> {
        self.lock.try_lock_for(timeout)
    }

    /// Acquires the lock for writing, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write_until(&self, deadline: Deadline) -> Option<LockGuard<'_, R, T>> {
        self.lock.try_lock_until(deadline)
    }
}

impl<R: RawRwLock, T: ?Sized> RwLock<R, T> {
    /// Acquires the lock for writing.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn write(&self) -> LockGuard<'_, R, T> {
        self.lock.lock()
    }

    /// Acquires the lock for writing if it is free. May fail on a free lock while a reader finds itself barred.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write(&self) -> Option<LockGuard<'_, R, T>> {
        self.lock.try_lock()
    }

    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Returns what has happened to this lock so far, as far as the lock counts it.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.lock.stats()
    }

    /// Returns the value, without locking: the exclusive borrow proves that no other thread has access to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.lock.get_mut()
    }

    /// Returns the lock without the data, for adapters.
    pub fn raw(&self) -> &R {
        self.lock.raw()
    }

    /// Returns a pointer to the data; using it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.lock.data_ptr()
    }
}

impl<R: RawRwLock + Default, T: Default> Default for RwLock<R, T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<R: RawRwLock + Default, T> From<T> for RwLock<R, T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn from(value: T) -> Self {
        RwLock::from_raw(R::default(), value)
    }
}

impl<R: RawRwLock, T: ?Sized + fmt::Debug> fmt::Debug for RwLock<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_data(f.debug_struct(R::NAME), self.try_read())
    }
}

/// A guard of a read lock, which is held until the guard is dropped. It is not `Send`.
///
/// ```
/// use turnwise::RwSem;
///
/// let lock = RwSem::new(7);
/// let (one, other) = (lock.read(), lock.try_read().expect("readers share it"));
/// assert_eq!(*one + *other, 14);
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct RwLockReadGuard<'a, R: RawRwLock, T: ?Sized> {
    lock: &'a Lock<R, T>,
    not_send: PhantomData<*mut ()>,
}

guard_traits!(
    [R: RawRwLock, T: ?Sized] RwLockReadGuard<'_, R, T>,
    |this| this.lock.raw(),
    this.lock.data_ptr(),
    unlock_read
);

impl<'a, R: RawRwLock, T: ?Sized> RwLockReadGuard<'a, R, T> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The calling thread has acquired the lock for reading, and there is no other guard for that.
    #[inline]
    pub(crate) unsafe fn new(lock: &'a Lock<R, T>) -> Self {
        RwLockReadGuard { lock, not_send: PhantomData }
    }

    fn raw(this: &Self) -> &'a R {
        this.lock.raw()
    }

    /// Releases the lock while `f` runs, then acquires it again.
    pub fn unlocked<O>(this: &mut Self, f: impl FnOnce() -> O) -> O {
        struct Relock<'a, R: RawRwLock>(&'a R);
        impl<R: RawRwLock> Drop for Relock<'_, R> {
            fn drop(&mut self) {
                self.0.read();
            }
        }
        let _suspended = suspend(this.lock.name());
        // SAFETY: contract of `RawRwLock::unlock_read`: the guard has the lock; `Relock` acquires it before the guard
        // can be used again, panic or not.
        unsafe { this.lock.raw().unlock_read() };
        let _relock = Relock(this.lock.raw());
        f()
    }
}

guard_of_part!(RawRwLock, RwLockReadGuard => MappedRwLockReadGuard,);

/// A guard of a read lock, for part of the data.
///
/// ```
/// use turnwise::{RwSem, RwSemReadGuard};
///
/// let pair = RwSem::new((1, "one"));
/// let name = RwSemReadGuard::map(pair.read(), |pair| &pair.1);
/// assert_eq!(*name, "one");
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct MappedRwLockReadGuard<'a, R: RawRwLock, T: ?Sized> {
    raw: &'a R,
    data: NonNull<T>,
    owns: PhantomData<&'a T>,
}

guard_traits!(
    [R: RawRwLock, T: ?Sized] MappedRwLockReadGuard<'_, R, T>,
    |this| this.raw,
    this.data.as_ptr(),
    unlock_read
);

guard_of_part!(RawRwLock, MappedRwLockReadGuard => MappedRwLockReadGuard,);

impl<'a, R: RawRwLock, T: ?Sized> MappedRwLockReadGuard<'a, R, T> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The lock was acquired for reading, there is no other guard for that acquisition, and it protects `data`.
    unsafe fn new(raw: &'a R, data: NonNull<T>) -> Self {
        MappedRwLockReadGuard { raw, data, owns: PhantomData }
    }

    fn raw(this: &Self) -> &'a R {
        this.raw
    }
}
