//! Guards of the readers-writer lock.
//!
//! None of them is `Send`. The lock itself would allow it for readers, which leave no name; but where holders are
//! recorded it is per thread, and a guard that may not move leaves that free to change.

use super::{RawRwSem, RwSem};
use crate::order::{released, suspend};
use crate::platform::{Deadline, DefaultPlatform, Platform};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::time::Duration;

/// Runs an operation of the raw lock when dropped.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

macro_rules! show {
    ($name:ident) => {
        impl<T: ?Sized + fmt::Debug, P: Platform> fmt::Debug for $name<'_, T, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display, P: Platform> fmt::Display for $name<'_, T, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// Defines a guard of all the data. `$unlock`: the raw lock's operation that ends it.
macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $unlock:ident) => {
        $(#[$doc])*
        #[must_use = "the lock is released at once if the guard is dropped"]
        pub struct $name<'a, T: ?Sized, P: Platform = DefaultPlatform> {
            lock: &'a RwSem<T, P>,
            not_send: PhantomData<*mut ()>,
        }

        // SAFETY: a shared guard gives only `&T`.
        unsafe impl<T: ?Sized + Sync, P: Platform> Sync for $name<'_, T, P> {}

        impl<'a, T: ?Sized, P: Platform> $name<'a, T, P> {
            /// Makes the guard of an acquired lock.
            ///
            /// # Safety
            /// The calling thread has acquired the lock in this guard's mode, and there is no other guard for that.
            #[inline]
            pub(super) unsafe fn new(lock: &'a RwSem<T, P>) -> Self {
                $name { lock, not_send: PhantomData }
            }

            /// Returns the lock of this guard.
            pub fn rwsem(this: &Self) -> &'a RwSem<T, P> {
                this.lock
            }

            /// Gives up the guard, and returns the lock, which stays acquired.
            #[inline]
            fn forget(this: Self) -> &'a RwSem<T, P> {
                ManuallyDrop::new(this).lock
            }
        }

        impl<T: ?Sized, P: Platform> Deref for $name<'_, T, P> {
            type Target = T;
            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: contract of `RawRwLock` (1): the guard has the lock in a mode that excludes other writers.
                unsafe { &*self.lock.data.get() }
            }
        }

        impl<T: ?Sized, P: Platform> Drop for $name<'_, T, P> {
            #[inline]
            fn drop(&mut self) {
                released(self.lock.name());
                // SAFETY: contract of `RawRwSem::$unlock`: the guard has the lock in this mode.
                unsafe { self.lock.raw.$unlock() }
            }
        }

        show!($name);
    };
}

/// Defines a guard of a part of the data; it does not know the rest.
macro_rules! mapped {
    ($(#[$doc:meta])* $name:ident, $unlock:ident, $variance:ty) => {
        $(#[$doc])*
        #[must_use = "the lock is released at once if the guard is dropped"]
        pub struct $name<'a, T: ?Sized, P: Platform = DefaultPlatform> {
            raw: &'a RawRwSem<P>,
            data: NonNull<T>,
            owns: PhantomData<$variance>,
        }

        // SAFETY: a shared guard gives only `&T`.
        unsafe impl<T: ?Sized + Sync, P: Platform> Sync for $name<'_, T, P> {}

        impl<T: ?Sized, P: Platform> Deref for $name<'_, T, P> {
            type Target = T;
            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: contract of `RawRwLock` (1): the guard has the lock in a mode that excludes other writers.
                unsafe { self.data.as_ref() }
            }
        }

        impl<T: ?Sized, P: Platform> Drop for $name<'_, T, P> {
            #[inline]
            fn drop(&mut self) {
                released(core::ptr::from_ref(self.raw).addr());
                // SAFETY: contract of `RawRwSem::$unlock`: the guard has the lock in this mode.
                unsafe { self.raw.$unlock() }
            }
        }

        show!($name);
    };
}

guard!(
    /// The guard of a read lock, which is held until the guard is dropped.
    ///
    /// ```
    /// use turnwise::RwSem;
    ///
    /// let lock = RwSem::new(7);
    /// let (one, other) = (lock.read(), lock.try_read().expect("readers share it"));
    /// assert_eq!(*one + *other, 14);
    /// ```
    RwSemReadGuard,
    unlock_read
);
guard!(
    /// The guard of the write lock, which is held until the guard is dropped.
    ///
    /// ```
    /// use turnwise::{RwSem, RwSemWriteGuard};
    ///
    /// let lock = RwSem::new(7);
    /// let mut guard = lock.write();
    /// *guard += 1;
    /// let guard = RwSemWriteGuard::downgrade(guard);
    /// assert_eq!((*guard, lock.try_read().is_some()), (8, true));
    /// ```
    RwSemWriteGuard,
    unlock_write
);
guard!(
    /// The guard of the upgradable read lock, which is held until the guard is dropped.
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
    RwSemUpgradableGuard,
    unlock_upgradable
);
mapped!(
    /// The guard of a read lock, for a part of the data.
    ///
    /// ```
    /// use turnwise::{RwSem, RwSemReadGuard};
    ///
    /// let pair = RwSem::new((1, "one"));
    /// let name = RwSemReadGuard::map(pair.read(), |pair| &pair.1);
    /// assert_eq!(*name, "one");
    /// ```
    MappedRwSemReadGuard,
    unlock_read,
    &'a T
);
mapped!(
    /// The guard of the write lock, for a part of the data.
    ///
    /// ```
    /// use turnwise::{RwSem, RwSemWriteGuard};
    ///
    /// let pair = RwSem::new((1, "one"));
    /// *RwSemWriteGuard::map(pair.write(), |pair| &mut pair.0) = 2;
    /// assert_eq!(pair.into_inner(), (2, "one"));
    /// ```
    MappedRwSemWriteGuard,
    unlock_write,
    &'a mut T
);

impl<'a, T: ?Sized, P: Platform> RwSemReadGuard<'a, T, P> {
    /// Turns the guard into one of a part of the data.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> MappedRwSemReadGuard<'a, U, P> {
        let data = NonNull::from(part(&*this));
        MappedRwSemReadGuard { raw: &Self::forget(this).raw, data, owns: PhantomData }
    }

    /// Turns the guard into one of a part of the data, if there is such a part.
    ///
    /// # Errors
    /// The guard itself, when `part` returns `None`.
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwSemReadGuard<'a, U, P>, Self> {
        let Some(data) = part(&*this).map(NonNull::from) else { return Err(this) };
        Ok(MappedRwSemReadGuard { raw: &Self::forget(this).raw, data, owns: PhantomData })
    }

    /// Releases the lock while `f` runs, and acquires it again.
    pub fn unlocked<R>(this: &mut Self, f: impl FnOnce() -> R) -> R {
        let raw = &this.lock.raw;
        let _suspended = suspend(this.lock.name());
        // SAFETY: contract of `RawRwSem::unlock_read`: the guard has the lock; it is acquired again before the guard
        // can be used, panic or not.
        unsafe { raw.unlock_read() };
        let _relock = Finally(|| raw.read());
        f()
    }
}

impl<'a, T: ?Sized, P: Platform> MappedRwSemReadGuard<'a, T, P> {
    /// Turns the guard into one of a part of its part.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> MappedRwSemReadGuard<'a, U, P> {
        let data = NonNull::from(part(&*this));
        MappedRwSemReadGuard { raw: ManuallyDrop::new(this).raw, data, owns: PhantomData }
    }

    /// Turns the guard into one of a part of its part, if there is such a part.
    ///
    /// # Errors
    /// The guard itself, when `part` returns `None`.
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwSemReadGuard<'a, U, P>, Self> {
        let Some(data) = part(&*this).map(NonNull::from) else { return Err(this) };
        Ok(MappedRwSemReadGuard { raw: ManuallyDrop::new(this).raw, data, owns: PhantomData })
    }
}

impl<'a, T: ?Sized, P: Platform> RwSemWriteGuard<'a, T, P> {
    /// Becomes a reader; waiting readers come in beside it, and no writer was in between.
    pub fn downgrade(this: Self) -> RwSemReadGuard<'a, T, P> {
        let lock = Self::forget(this);
        // SAFETY: contract of `RawRwSem::downgrade`: the forgotten guard had the write lock, which is a read lock from
        // here on.
        unsafe {
            lock.raw.downgrade();
            RwSemReadGuard::new(lock)
        }
    }

    /// Becomes an upgradable reader; waiting readers come in beside it, and no writer was in between.
    pub fn downgrade_to_upgradable(this: Self) -> RwSemUpgradableGuard<'a, T, P> {
        let lock = Self::forget(this);
        // SAFETY: contract of `RawRwSem::downgrade_to_upgradable`: the forgotten guard had the write lock, which is an
        // upgradable read lock from here on.
        unsafe {
            lock.raw.downgrade_to_upgradable();
            RwSemUpgradableGuard::new(lock)
        }
    }

    /// Turns the guard into one of a part of the data.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedRwSemWriteGuard<'a, U, P> {
        // SAFETY: contracts of `RawLock` (1) and `RawRwLock` (1): the guard has the write lock, and is not used from
        // here on but to end it.
        let data = NonNull::from(part(unsafe { &mut *this.lock.data.get() }));
        MappedRwSemWriteGuard { raw: &Self::forget(this).raw, data, owns: PhantomData }
    }

    /// Turns the guard into one of a part of the data, if there is such a part.
    ///
    /// # Errors
    /// The guard itself, when `part` returns `None`.
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwSemWriteGuard<'a, U, P>, Self> {
        // SAFETY: contracts of `RawLock` (1) and `RawRwLock` (1), as in `map`; without a part, nothing is left of the
        // borrow.
        let Some(data) = part(unsafe { &mut *this.lock.data.get() }).map(NonNull::from) else { return Err(this) };
        Ok(MappedRwSemWriteGuard { raw: &Self::forget(this).raw, data, owns: PhantomData })
    }

    /// Releases the lock while `f` runs, and acquires it again.
    pub fn unlocked<R>(this: &mut Self, f: impl FnOnce() -> R) -> R {
        let raw = &this.lock.raw;
        let _suspended = suspend(this.lock.name());
        // SAFETY: contract of `RawRwSem::unlock_write`: the guard has the lock; it is acquired again before the guard
        // can be used, panic or not.
        unsafe { raw.unlock_write() };
        let _relock = Finally(|| raw.write());
        f()
    }
}

impl<T: ?Sized, P: Platform> DerefMut for RwSemWriteGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: contracts of `RawLock` (1) and `RawRwLock` (1): the guard has the write lock, and is borrowed
        // exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<'a, T: ?Sized, P: Platform> MappedRwSemWriteGuard<'a, T, P> {
    /// Turns the guard into one of a part of its part.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedRwSemWriteGuard<'a, U, P> {
        // SAFETY: contracts of `RawLock` (1) and `RawRwLock` (1): the guard has the write lock, and is not used from
        // here on but to end it.
        let data = NonNull::from(part(unsafe { &mut *this.data.as_ptr() }));
        MappedRwSemWriteGuard { raw: ManuallyDrop::new(this).raw, data, owns: PhantomData }
    }

    /// Turns the guard into one of a part of its part, if there is such a part.
    ///
    /// # Errors
    /// The guard itself, when `part` returns `None`.
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwSemWriteGuard<'a, U, P>, Self> {
        // SAFETY: contracts of `RawLock` (1) and `RawRwLock` (1), as in `map`; without a part, nothing is left of the
        // borrow.
        let Some(data) = part(unsafe { &mut *this.data.as_ptr() }).map(NonNull::from) else { return Err(this) };
        Ok(MappedRwSemWriteGuard { raw: ManuallyDrop::new(this).raw, data, owns: PhantomData })
    }
}

impl<T: ?Sized, P: Platform> DerefMut for MappedRwSemWriteGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: contracts of `RawLock` (1) and `RawRwLock` (1): the guard has the write lock, and is borrowed
        // exclusively.
        unsafe { self.data.as_mut() }
    }
}

impl<'a, T: ?Sized, P: Platform> RwSemUpgradableGuard<'a, T, P> {
    /// Becomes the writer when the other readers have left; no others come in meanwhile, and no writer was in between.
    /// A thread that has a read guard of the same lock besides deadlocks: it waits for itself to leave. The forms with
    /// `try_` return there, and the feature `order-check` reports the second guard when it is made.
    pub fn upgrade(this: Self) -> RwSemWriteGuard<'a, T, P> {
        let lock = Self::forget(this);
        // SAFETY: contract of `RawRwSem::upgrade`: the forgotten guard had the upgradable read lock, which is the write
        // lock from here on.
        unsafe {
            lock.raw.upgrade();
            RwSemWriteGuard::new(lock)
        }
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
        if !upgraded(&this.lock.raw) {
            return Err(this);
        }
        // SAFETY: contract of `RwSemWriteGuard::new`: the forgotten guard had what is now the write lock.
        Ok(unsafe { RwSemWriteGuard::new(Self::forget(this)) })
    }

    /// Becomes an ordinary reader.
    pub fn downgrade(this: Self) -> RwSemReadGuard<'a, T, P> {
        let lock = Self::forget(this);
        // SAFETY: contract of `RawRwSem::downgrade_upgradable`: the forgotten guard had the upgradable read lock, which
        // is a read lock from here on.
        unsafe {
            lock.raw.downgrade_upgradable();
            RwSemReadGuard::new(lock)
        }
    }
}
