//! The guard of an upgradable reader, and conversions between guards.

use super::{RawRwSem, RwSem, RwSemReadGuard, RwSemWriteGuard};
use crate::lock::LockGuard;
use crate::platform::{Deadline, DefaultPlatform, Platform};
use crate::rwlock::RwLockReadGuard;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::time::Duration;

/// A guard of the upgradable read lock, which is held until the guard is dropped.
///
/// ```
/// use turnwise::{RwSem, RwSemUpgradableGuard};
///
/// let names = RwSem::new(vec!["a"]);
/// let guard = names.upgradable_read();
/// if !guard.contains(&"b") {
///     RwSemUpgradableGuard::upgrade(guard).push("b"); // no writer came in between
/// }
/// assert_eq!(*names.read(), ["a", "b"]);
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct RwSemUpgradableGuard<'a, T: ?Sized, P: Platform = DefaultPlatform> {
    lock: &'a RwSem<T, P>,
    not_send: PhantomData<*mut ()>,
}

guard_traits!(
    [T: ?Sized, P: Platform] RwSemUpgradableGuard<'_, T, P>,
    |this| this.lock.raw(),
    this.lock.data_ptr(),
    unlock_upgradable
);

/// Defines how a guard becomes one of another mode, by the raw lock's `$operation`.
macro_rules! becomes {
    ($($(#[$about:meta])* $name:ident by $operation:ident -> $guard:ident: $type:ty;)*) => {$(
        $(#[$about])*
        pub fn $name(this: Self) -> $type {
            let lock = Self::forget(this);
            // SAFETY: contract of the raw lock's operation: the forgotten guard had the lock in its mode, and it is
            // held in the other's from here on.
            unsafe {
                lock.raw().$operation();
                $guard::new(lock)
            }
        }
    )*};
}

impl<'a, T: ?Sized, P: Platform> RwSemWriteGuard<'a, T, P> {
    becomes! {
        /// Becomes a reader, with no writer in between; waiting readers enter alongside it.
        downgrade by downgrade -> RwLockReadGuard: RwSemReadGuard<'a, T, P>;
        /// Becomes an upgradable reader, with no writer in between; waiting readers enter alongside it.
        downgrade_to_upgradable by downgrade_to_upgradable -> RwSemUpgradableGuard: RwSemUpgradableGuard<'a, T, P>;
    }
}

impl<'a, T: ?Sized, P: Platform> RwSemUpgradableGuard<'a, T, P> {
    /// Creates the guard of an acquired lock.
    ///
    /// # Safety
    /// The calling thread has acquired the lock in this guard's mode, and there is no other guard for that.
    #[inline]
    pub(super) unsafe fn new(lock: &'a RwSem<T, P>) -> Self {
        RwSemUpgradableGuard { lock, not_send: PhantomData }
    }

    /// Consumes the guard and returns the lock, which stays acquired.
    #[inline]
    fn forget(this: Self) -> &'a RwSem<T, P> {
        ManuallyDrop::new(this).lock
    }

    becomes! {
        /// Becomes the writer when the other readers have left, with no writer in between; no others enter meanwhile. A
        /// thread that also has a read guard of the same lock deadlocks: it waits for itself to leave. The `try_` forms
        /// return there, and the feature `order-check` reports the second guard when it is made.
        upgrade by upgrade -> LockGuard: RwSemWriteGuard<'a, T, P>;
        /// Becomes an ordinary reader.
        downgrade by downgrade_upgradable -> RwLockReadGuard: RwSemReadGuard<'a, T, P>;
    }

    /// Becomes the writer if there are no other readers.
    ///
    /// # Errors
    /// The guard itself, when there are other readers.
    pub fn try_upgrade(this: Self) -> Result<RwSemWriteGuard<'a, T, P>, Self> {
        // SAFETY: contract of `RawRwSem::try_upgrade`: the guard has the upgradable read lock.
        Self::upgraded_if(this, |raw| unsafe { raw.try_upgrade() })
    }

    /// Becomes the writer, or gives up after `timeout`.
    ///
    /// # Errors
    /// The guard itself, when there are still other readers then.
    pub fn try_upgrade_for(this: Self, timeout: Duration) -> Result<RwSemWriteGuard<'a, T, P>, Self> {
        Self::try_upgrade(this).or_else(|this| Self::try_upgrade_until(this, Deadline::after::<P>(timeout)))
    }

    /// Becomes the writer, or gives up at `deadline`.
    ///
    /// # Errors
    /// The guard itself, when there are still other readers then.
    pub fn try_upgrade_until(this: Self, deadline: Deadline) -> Result<RwSemWriteGuard<'a, T, P>, Self> {
        // SAFETY: contract of `RawRwSem::upgrade_until`: the guard has the upgradable read lock.
        Self::upgraded_if(this, |raw| unsafe { raw.upgrade_until(deadline) })
    }

    fn upgraded_if(this: Self, upgraded: impl FnOnce(&RawRwSem<P>) -> bool) -> Result<RwSemWriteGuard<'a, T, P>, Self> {
        if !upgraded(this.lock.raw()) {
            return Err(this);
        }
        // SAFETY: contract of `LockGuard::new`: the forgotten guard had what is now the write lock.
        Ok(unsafe { LockGuard::new(Self::forget(this)) })
    }
}
