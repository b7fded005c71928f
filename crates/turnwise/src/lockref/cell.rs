//! A [`LockRef`] with data that its lock protects.

use super::{LockRef, LockRefGuard};
use crate::lock::{Lock, LockGuard};
use crate::platform::{DefaultPlatform, Platform};
use core::mem::{ManuallyDrop, forget};
use core::ops::Deref;

/// A reference count with a lock that protects `T`.
///
/// The count is that of the object that contains the cell; see the example at [`super`]. [`Lock::raw`] gives its
/// [`LockRef`] for all operations that need no data; those that may end with the lock held are also here, and give
/// access to the data. On platforms other than the default, [`Lock::from_raw`] makes it from a count and data.
///
/// ```
/// use turnwise::LockRefCell;
///
/// static NAME: LockRefCell<&str> = LockRefCell::new(1, "old");
/// *NAME.lock() = "new";
/// assert_eq!(NAME.put_or_lock().as_deref(), Some(&"new"), "it was the last reference");
/// ```
pub type LockRefCell<T, P = DefaultPlatform> = Lock<LockRef<P>, T>;

/// A guard of the lock of a [`LockRefCell`], which is held until the guard is dropped.
///
/// ```
/// let name = turnwise::LockRefCell::new(1, "old");
/// assert_eq!(turnwise::LockRefCellGuard::refs(&mut name.lock()).count(), 1);
/// ```
pub type LockRefCellGuard<'a, T, P = DefaultPlatform> = LockGuard<'a, LockRef<P>, T>;

impl<T> Lock<LockRef, T> {
    /// Creates an unlocked cell with `count` references.
    ///
    /// # Panics
    /// If `count` exceeds [`COUNT_MAX`](super::COUNT_MAX).
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn new(count: u32, value: T) -> Self {
        Lock::from_raw(LockRef::new(count), value)
    }
}

impl<T: ?Sized, P: Platform> Lock<LockRef<P>, T> {
    /// Adds a reference, or acquires the lock, as [`LockRef::get_or_lock`] does.
    ///
    /// # Panics
    /// If there are [`COUNT_MAX`](super::COUNT_MAX) references.
    #[inline]
    #[must_use = "the lock, if it was taken, is released at once"]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn get_or_lock(&self) -> Option<LockRefCellGuard<'_, T, P>> {
        self.raw().get_or_lock().map(|held| self.with(held))
    }

    /// Drops a reference, or acquires the lock, as [`LockRef::put_or_lock`] does.
    ///
    /// # Panics
    /// If there is no reference.
    #[inline]
    #[must_use = "the lock, if it was taken, is released at once"]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn put_or_lock(&self) -> Option<LockRefCellGuard<'_, T, P>> {
        self.raw().put_or_lock().map(|held| self.with(held))
    }

    #[inline]
    fn with(&self, held: LockRefGuard<'_, P>) -> LockRefCellGuard<'_, T, P> {
        forget(held);
        // SAFETY: contract of `new`: the forgotten guard had the lock.
        unsafe { LockGuard::new(self) }
    }
}

impl<T: ?Sized, P: Platform> LockGuard<'_, LockRef<P>, T> {
    /// Returns the count, under the lock. (Exclusively: a guard may be shared with other threads, its count may not.)
    #[inline]
    pub fn refs(this: &mut Self) -> impl Deref<Target = LockRefGuard<'_, P>> {
        // SAFETY: contract of `guard_unchecked`: `this` has the lock. It alone releases it: no caller can take the
        // other guard out of what wraps it, as its type is hidden.
        ManuallyDrop::new(unsafe { LockGuard::mutex(this).raw().guard_unchecked() })
    }
}
