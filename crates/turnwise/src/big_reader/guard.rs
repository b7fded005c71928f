//! Guards of the big-reader lock. Neither is `Send`, as those of [`RwSem`](crate::RwSem).

use super::BigReaderLock;
use crate::order::released;
use crate::platform::{DefaultPlatform, Platform};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Defines a guard. `$unlock`: the raw lock's operation that ends it.
macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $unlock:ident) => {
        $(#[$doc])*
        #[must_use = "the lock is released at once if the guard is dropped"]
        pub struct $name<'a, T: ?Sized, const N: usize = 64, P: Platform = DefaultPlatform> {
            lock: &'a BigReaderLock<T, N, P>,
            not_send: PhantomData<*mut ()>,
        }

        // SAFETY: a shared guard gives only `&T`.
        unsafe impl<T: ?Sized + Sync, const N: usize, P: Platform> Sync for $name<'_, T, N, P> {}

        impl<'a, T: ?Sized, const N: usize, P: Platform> $name<'a, T, N, P> {
            /// Makes the guard of an acquired lock.
            ///
            /// # Safety
            /// The calling thread has acquired the lock in this guard's mode, and there is no other guard for that.
            #[inline]
            pub(super) unsafe fn new(lock: &'a BigReaderLock<T, N, P>) -> Self {
                $name { lock, not_send: PhantomData }
            }
        }

        impl<T: ?Sized, const N: usize, P: Platform> Deref for $name<'_, T, N, P> {
            type Target = T;
            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: contract of `RawRwLock` (1): the guard has the lock in a mode that excludes other writers.
                unsafe { &*self.lock.data.get() }
            }
        }

        impl<T: ?Sized, const N: usize, P: Platform> Drop for $name<'_, T, N, P> {
            #[inline]
            fn drop(&mut self) {
                released(self.lock.name());
                // SAFETY: contract of `RawBigReaderLock::$unlock`: the guard has the lock in this mode.
                unsafe { self.lock.raw.$unlock() }
            }
        }

        impl<T: ?Sized + fmt::Debug, const N: usize, P: Platform> fmt::Debug for $name<'_, T, N, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display, const N: usize, P: Platform> fmt::Display for $name<'_, T, N, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

guard! {
    /// Gives `&T` as long as it lives, beside other readers.
    ///
    /// ```
    /// use turnwise::BigReaderLock;
    ///
    /// static ROUTES: BigReaderLock<[u32; 2]> = BigReaderLock::new([1, 9]);
    /// let (one, other) = (ROUTES.read(), ROUTES.try_read().expect("readers share it"));
    /// assert_eq!(one[0], other[0]);
    /// ```
    BigReaderReadGuard, unlock_read
}

guard! {
    /// Gives `&mut T` as long as it lives.
    ///
    /// ```
    /// use turnwise::BigReaderLock;
    ///
    /// static ROUTES: BigReaderLock<[u32; 2]> = BigReaderLock::new([1, 9]);
    /// let mut routes = ROUTES.write();
    /// routes[1] = 10;
    /// assert!(ROUTES.try_read().is_none());
    /// ```
    BigReaderWriteGuard, unlock_write
}

impl<T: ?Sized, const N: usize, P: Platform> DerefMut for BigReaderWriteGuard<'_, T, N, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: contract of `RawRwLock` (1): the guard has the write lock, which excludes all others.
        unsafe { &mut *self.lock.data.get() }
    }
}
