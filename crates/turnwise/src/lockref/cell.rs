//! A [`LockRef`] with data that its lock protects.

use super::{LockRef, LockRefGuard};
use crate::platform::{ConstPlatform, Deadline, DefaultPlatform, Platform};
use core::cell::UnsafeCell;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

/// A reference count with a lock that protects `T`.
///
/// The count is that of the object that contains the cell; see the example at [`super`]. It dereferences to its
/// [`LockRef`] for all operations that need no data; those that may end with the lock held are also here, and give
/// access to the data.
///
/// ```
/// use turnwise::{LockRefCell, LockRefCellGuard};
///
/// static NAME: LockRefCell<&str> = LockRefCell::new(1, "old");
/// NAME.get();
/// *NAME.lock() = "new";
/// assert!(NAME.put_or_lock().is_none(), "there was another reference");
/// let last = NAME.put_or_lock().expect("the last one");
/// assert_eq!(*last, "new");
/// assert_eq!(LockRefCellGuard::refs(&last).put(), 0);
/// ```
pub struct LockRefCell<T: ?Sized, P: Platform = DefaultPlatform> {
    refs: LockRef<P>,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, so sharing the cell only moves `T` between threads.
unsafe impl<T: ?Sized + Send, P: Platform> Sync for LockRefCell<T, P> {}
// SAFETY: the cell owns its data, and its word is `Send`.
unsafe impl<T: ?Sized + Send, P: Platform> Send for LockRefCell<T, P> {}

impl<T> LockRefCell<T> {
    /// Creates an unlocked cell with `count` references.
    ///
    /// # Panics
    /// If `count` exceeds [`super::COUNT_MAX`].
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn new(count: u32, value: T) -> Self {
        Self::const_new_in(count, value)
    }
}

impl<T, P: ConstPlatform> LockRefCell<T, P> {
    /// Creates an unlocked cell with `count` references, on any platform that uses core's atomics; usable in constants
    /// and statics.
    ///
    /// # Panics
    /// If `count` exceeds [`super::COUNT_MAX`].
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn const_new_in(count: u32, value: T) -> Self {
        LockRefCell { refs: LockRef::const_new_in(count), data: UnsafeCell::new(value) }
    }
}

impl<T, P: Platform> LockRefCell<T, P> {
    /// Creates an unlocked cell with `count` references, on any platform.
    ///
    /// # Panics
    /// If `count` exceeds [`super::COUNT_MAX`].
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(count: u32, value: T) -> Self {
        LockRefCell { refs: LockRef::new_in(count), data: UnsafeCell::new(value) }
    }

    /// Returns the data, without locking: no other thread can have access to them.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized, P: Platform> LockRefCell<T, P> {
    #[inline]
    fn with<'a>(&'a self, held: LockRefGuard<'a, P>) -> LockRefCellGuard<'a, T, P> {
        LockRefCellGuard { held, cell: self }
    }

    /// Acquires the lock, as [`LockRef::lock`] does.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn lock(&self) -> LockRefCellGuard<'_, T, P> {
        self.with(self.refs.lock())
    }

    /// Acquires the lock if it is free, as [`LockRef::try_lock`] does.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock(&self) -> Option<LockRefCellGuard<'_, T, P>> {
        self.refs.try_lock().map(|held| self.with(held))
    }

    /// Acquires the lock, or gives up after `timeout`, as [`LockRef::try_lock_for`] does.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<LockRefCellGuard<'_, T, P>> {
        self.refs.try_lock_for(timeout).map(|held| self.with(held))
    }

    /// Acquires the lock, or gives up at `deadline`, as [`LockRef::try_lock_until`] does.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_until(&self, deadline: Deadline) -> Option<LockRefCellGuard<'_, T, P>> {
        self.refs.try_lock_until(deadline).map(|held| self.with(held))
    }

    /// Adds a reference, or acquires the lock, as [`LockRef::get_or_lock`] does.
    ///
    /// # Panics
    /// If there are [`super::COUNT_MAX`] references.
    #[inline]
    #[must_use = "the lock, if it was taken, is released at once"]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn get_or_lock(&self) -> Option<LockRefCellGuard<'_, T, P>> {
        self.refs.get_or_lock().map(|held| self.with(held))
    }

    /// Drops a reference, or acquires the lock, as [`LockRef::put_or_lock`] does.
    ///
    /// # Panics
    /// If there is no reference.
    #[inline]
    #[must_use = "the lock, if it was taken, is released at once"]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn put_or_lock(&self) -> Option<LockRefCellGuard<'_, T, P>> {
        self.refs.put_or_lock().map(|held| self.with(held))
    }

    /// Returns the data, without locking: the exclusive borrow proves that no other thread has access to them.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

/// Gives access to the count, and to the lock without the data. A guard obtained from here excludes those of the cell.
impl<T: ?Sized, P: Platform> Deref for LockRefCell<T, P> {
    type Target = LockRef<P>;
    #[inline]
    fn deref(&self) -> &LockRef<P> {
        &self.refs
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform> fmt::Debug for LockRefCell<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("LockRefCell");
        out.field("refs", &self.refs);
        match self.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish()
    }
}

/// A guard of the lock of a [`LockRefCell`], which is held until the guard is dropped.
///
/// ```
/// use turnwise::{LockRefCell, LockRefCellGuard};
///
/// let name = LockRefCell::new(1, "old");
/// let mut guard = name.lock();
/// *guard = "new";
/// assert_eq!(LockRefCellGuard::refs(&guard).count(), 1);
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct LockRefCellGuard<'a, T: ?Sized, P: Platform = DefaultPlatform> {
    held: LockRefGuard<'a, P>,
    cell: &'a LockRefCell<T, P>,
}

impl<'a, T: ?Sized, P: Platform> LockRefCellGuard<'a, T, P> {
    /// Returns the count, under the lock.
    #[inline]
    pub fn refs(this: &Self) -> &LockRefGuard<'a, P> {
        // Not `&mut`: swapping two guards would give access to data whose lock is free.
        &this.held
    }
}

impl<T: ?Sized, P: Platform> Deref for LockRefCellGuard<'_, T, P> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: invariant 1 of `raw`: the guard has the lock, so no other guard gives access to the data.
        unsafe { &*self.cell.data.get() }
    }
}

impl<T: ?Sized, P: Platform> DerefMut for LockRefCellGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: invariant 1 of `raw`: the guard has the lock, and is borrowed exclusively.
        unsafe { &mut *self.cell.data.get() }
    }
}

shows_data!([T: ?Sized, P: Platform] LockRefCellGuard<'_, T, P>);
