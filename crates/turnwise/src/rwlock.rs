//! Data behind a readers-writer lock, and the guards of readers. A writer's guard is the same as for any other lock:
//! [`LockGuard`].

use crate::lock::{Lock, LockGuard, Relock, show_data};
use crate::order::{How, suspend};
use crate::raw::{RawRwLock, RawTimedLock, RawTimedRwLock};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Data of type `T` behind the readers-writer lock `R`. Use it under the names [`RwSem`](crate::RwSem) and
/// [`BigReaderLock`](crate::BigReaderLock), or with your own [`RawRwLock`].
///
/// It does not poison: a panic while the lock is held releases it.
///
/// ```
/// use turnwise::rwlock::RwLock;
/// use turnwise::{RawRwLock, RawRwSem};
///
/// /// Returns the value, behind any kind of lock.
/// fn get<R: RawRwLock>(lock: &RwLock<R, u64>) -> u64 {
///     *lock.read()
/// }
/// assert_eq!(get(&RwLock::<RawRwSem, u64>::new_in(7)), 7);
/// ```
///
/// Readers on several threads share `T`, which must therefore be `Sync`:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<turnwise::RwSem<std::cell::Cell<u32>>>();
/// ```
pub type RwLock<R, T> = Lock<R, T, true>;

impl<R: RawRwLock, T: ?Sized> RwLock<R, T> {
    acquisitions! {
        How::Read, |lock, deadline| RwLockReadGuard::new[lock] -> RwLockReadGuard<'_, R, T>,
            R::Platform where RawTimedRwLock;

        /// Acquires the lock for reading.
        read: lock.raw().read();
        /// Acquires the lock for reading, unless a writer holds it or waits.
        try_read: lock.raw().try_read();
        try_read_for, try_read_until: lock.raw().read_until(deadline);
    }

    acquisitions! {
        Self::HOW, |lock, deadline| LockGuard::new[lock] -> LockGuard<'_, R, T, true>, R::Platform where RawTimedLock;

        /// Acquires the lock for writing.
        write: lock.raw().lock();
        /// Acquires the lock for writing if it is free. May fail on a free lock while a reader finds itself barred.
        try_write: lock.raw().try_lock();
        try_write_for, try_write_until: lock.raw().lock_until(deadline);
    }
}

impl<R: RawRwLock, T: ?Sized + fmt::Debug> fmt::Debug for Lock<R, T, true> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_data(f.debug_struct(R::NAME), self.try_read())
    }
}

/// A guard of a read lock, which is held until the guard is dropped. It is not `Send`.
///
/// ```
/// let lock = turnwise::RwSem::new(7);
/// let (one, other) = (lock.read(), lock.try_read().expect("readers share it"));
/// assert_eq!(*one + *other, 14);
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct RwLockReadGuard<'a, R: RawRwLock, T: ?Sized> {
    lock: &'a RwLock<R, T>,
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
    pub(crate) unsafe fn new(lock: &'a RwLock<R, T>) -> Self {
        RwLockReadGuard { lock, not_send: PhantomData }
    }

    fn raw(this: &Self) -> &'a R {
        this.lock.raw()
    }

    /// Releases the lock while `f` runs, then acquires it again.
    pub fn unlocked<O>(this: &mut Self, f: impl FnOnce() -> O) -> O {
        let _suspended = suspend(this.lock.name());
        let relock = Relock { raw: this.lock.raw(), lock: R::read };
        // SAFETY: contract of `RawRwLock::unlock_read`: the guard has the lock; `relock` acquires it before the guard
        // can be used again, panic or not.
        unsafe { relock.raw.unlock_read() };
        f()
    }
}

guard_of_part!(RawRwLock, RwLockReadGuard [] [] => MappedRwLockReadGuard,);

/// A guard of a read lock, for part of the data.
///
/// ```
/// let pair = turnwise::RwSem::new((1, "one"));
/// assert_eq!(*turnwise::RwSemReadGuard::map(pair.read(), |pair| &pair.1), "one");
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

guard_of_part!(RawRwLock, MappedRwLockReadGuard [] [] => MappedRwLockReadGuard,);

impl<'a, R: RawRwLock, T: ?Sized> MappedRwLockReadGuard<'a, R, T> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The lock was acquired for reading, there is no other guard for that acquisition, and it protects `data`.
    pub(crate) unsafe fn new(raw: &'a R, data: NonNull<T>) -> Self {
        MappedRwLockReadGuard { raw, data, owns: PhantomData }
    }

    fn raw(this: &Self) -> &'a R {
        this.raw
    }
}
