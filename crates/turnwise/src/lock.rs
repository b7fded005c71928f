//! Data behind a lock, and its guards.

use crate::order::{Class, How, suspend};
use crate::raw::{RawLock, RawRwLock, RawTimedLock};
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
/// use turnwise::{Lock, RawLock, RawSpinLock};
///
/// /// Adds one, behind any kind of lock.
/// fn add<R: RawLock>(counter: &Lock<R, u64>) {
///     *counter.lock() += 1;
/// }
/// add(&Lock::<RawSpinLock, u64>::new(7));
/// ```
///
/// With `SHARED` it is a [`RwLock`](crate::rwlock::RwLock), whose readers share the data.
pub struct Lock<R: RawLock, T: ?Sized, const SHARED: bool = false> {
    raw: R,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: contract of `RawLock` (1 and 2): one thread at a time has the data, and sees what earlier owners wrote, so
// sharing the lock only moves `T` between threads.
unsafe impl<R: RawLock, T: ?Sized + Send> Sync for Lock<R, T> {}
// SAFETY: contract of `RawRwLock` (1 and 2): the lock gives `&mut T` to one thread at a time, and `&T` to many only
// while no thread has `&mut T`.
unsafe impl<R: RawRwLock, T: ?Sized + Send + Sync> Sync for Lock<R, T, true> {}
// SAFETY: the lock owns its data, and `R` is `Send`.
unsafe impl<R: RawLock, T: ?Sized + Send, const SHARED: bool> Send for Lock<R, T, SHARED> {}

impl<R: RawLock, T> Lock<R, T> {
    /// Wraps `value` in the lock `raw`, which must be unlocked.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn from_raw(raw: R, value: T) -> Self {
        Lock::of(raw, value)
    }
}

impl<R: RawLock, T, const SHARED: bool> Lock<R, T, SHARED> {
    /// Wraps `value` in the lock `raw`, which must be unlocked.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub(crate) const fn of(raw: R, value: T) -> Self {
        Lock { raw, class: Class::new(), data: UnsafeCell::new(value) }
    }

    /// Wraps `value` in an unlocked lock, on any platform.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(value: T) -> Self {
        Lock::of(R::new_in(), value)
    }

    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<R: RawLock, T: ?Sized> Lock<R, T> {
    acquisitions! {
        Self::HOW, |lock, deadline| LockGuard::new[lock] -> LockGuard<'_, R, T>, R::Platform where RawTimedLock;

        /// Acquires the lock. A thread that already holds it deadlocks, unless the lock is re-entrant.
        lock: lock.raw.lock();
        /// Acquires the lock if it is free.
        try_lock: lock.raw.try_lock();
        /// The raw lock's documentation states how this affects the order of waiters. (Deadlines are
        /// [`Deadline`](crate::platform::Deadline)s: a `std::time::Instant` cannot name a point on another platform's
        /// clock.)
        try_lock_for, try_lock_until: lock.raw.lock_until(deadline);
    }
}

impl<R: RawLock, T: ?Sized, const SHARED: bool> Lock<R, T, SHARED> {
    const EXCLUDES_ITS_OWNER: () =
        assert!(!R::REENTRANT, "its owner may lock it twice, and would have two `&mut` to the data");
    pub(crate) const HOW: How = if R::REENTRANT { How::Again } else { How::Write };

    /// Returns the order checker's name for this lock.
    #[inline]
    pub(crate) fn name(&self) -> usize {
        core::ptr::from_ref(&self.raw).addr()
    }

    /// Returns the order checker's class of this lock, and its name.
    #[inline]
    pub(crate) fn class(&self) -> (&Class, usize) {
        (&self.class, self.name())
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

impl<R: RawLock + Default, T: Default, const SHARED: bool> Default for Lock<R, T, SHARED> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<R: RawLock + Default, T, const SHARED: bool> From<T> for Lock<R, T, SHARED> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn from(value: T) -> Self {
        Lock::of(R::default(), value)
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
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct LockGuard<'a, R: RawLock, T: ?Sized, const SHARED: bool = false> {
    lock: &'a Lock<R, T, SHARED>,
    /// Decides whether the guard is `Send`; it is `Sync` if `T` is.
    marker: PhantomData<(&'a mut T, R::GuardMarker)>,
}

// SAFETY: contract of `RawLock` (3): with such a marker any thread may release it; the rest of the guard is a shared
// `Lock` and a `&mut T`. (The fields decide the same, but rustdoc does not see that.)
unsafe impl<R: RawLock, T: ?Sized + Send, const SHARED: bool> Send for LockGuard<'_, R, T, SHARED>
where
    Lock<R, T, SHARED>: Sync,
    R::GuardMarker: Send,
{
}

guard_traits!(
    [R: RawLock, T: ?Sized, const SHARED: bool] LockGuard<'_, R, T, SHARED>,
    |this| this.lock.raw(),
    this.lock.data_ptr(),
    unlock
);

impl<'a, R: RawLock, T: ?Sized, const SHARED: bool> LockGuard<'a, R, T, SHARED> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The lock was acquired, and there is no other guard for that acquisition.
    #[inline]
    pub(crate) unsafe fn new(lock: &'a Lock<R, T, SHARED>) -> Self {
        LockGuard { lock, marker: PhantomData }
    }

    /// Returns the lock, which stays acquired: the caller must release it.
    pub(crate) fn forget(this: Self) -> &'a Lock<R, T, SHARED> {
        let lock = this.lock;
        mem::forget(this);
        lock
    }

    pub(crate) fn raw(this: &Self) -> &'a R {
        &this.lock.raw
    }

    /// Returns the lock of this guard, for as long as the guard is borrowed: the guard may be shared with a thread that
    /// must not have the data alone.
    #[must_use]
    pub fn mutex(this: &Self) -> &Lock<R, T, SHARED> {
        this.lock
    }

    /// Releases the lock while `f` runs, then acquires it again. (A re-entrant lock that the thread has acquired
    /// elsewhere, too, stays locked.)
    pub fn unlocked<O>(this: &mut Self, f: impl FnOnce() -> O) -> O {
        let _suspended = suspend(this.lock.name());
        let relock = Relock { raw: &this.lock.raw, lock: R::lock };
        // SAFETY: contract of `RawLock::unlock`: the guard has the lock; `relock` acquires it before the guard can be
        // used again, panic or not.
        unsafe { relock.raw.unlock() };
        f()
    }
}

/// Acquires a lock again when dropped.
pub(crate) struct Relock<'a, R> {
    pub(crate) raw: &'a R,
    pub(crate) lock: fn(&R),
}

impl<R> Drop for Relock<'_, R> {
    fn drop(&mut self) {
        (self.lock)(self.raw);
    }
}

guard_of_part!(RawLock, LockGuard [, const SHARED: bool] [, SHARED] => MappedLockGuard, mut);

impl<R: RawLock, T: ?Sized, const SHARED: bool> DerefMut for LockGuard<'_, R, T, SHARED> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        let () = Lock::<R, T, SHARED>::EXCLUDES_ITS_OWNER;
        // SAFETY: contract of `RawLock` (1): the guard has the lock, and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

/// A guard of part of the data of a [`Lock`], which is held until the guard is dropped.
///
/// ```
/// let pair = turnwise::Mutex::new((1, "one"));
/// *turnwise::LockGuard::map(pair.lock(), |pair| &mut pair.0) += 1;
/// assert_eq!(pair.into_inner(), (2, "one"));
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct MappedLockGuard<'a, R: RawLock, T: ?Sized> {
    raw: &'a R,
    data: NonNull<T>,
    owns: PhantomData<&'a mut T>,
}

guard_traits!([R: RawLock, T: ?Sized] MappedLockGuard<'_, R, T>, |this| this.raw, this.data.as_ptr(), unlock);

guard_of_part!(RawLock, MappedLockGuard [] [] => MappedLockGuard, mut);

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
