//! Data behind locks that come without, including re-entrant ones: no workload locks a lock that it has.

use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use std::cell::UnsafeCell;
use turnwise::raw::{RawLock, RawRwLock};

/// A raw lock and the data that it protects.
#[repr(C)]
pub struct RawLocked<R, T> {
    raw: R,
    data: UnsafeCell<T>,
}

// SAFETY: `RawLock` and `RawRwLock` guarantee that a writer is alone (it never locks twice), and readers only read.
unsafe impl<R: RawLock, T: Send + Sync> Sync for RawLocked<R, T> {}

impl<R: RawLock, T: Send + Sync + 'static> Lock<T> for RawLocked<R, T> {
    fn new(value: T) -> Self {
        RawLocked { raw: R::new_in(), data: UnsafeCell::new(value) }
    }

    #[inline]
    fn with<O>(&self, f: impl FnOnce(&mut T) -> O) -> O {
        self.raw.lock();
        // SAFETY: we have the lock.
        let result = f(unsafe { &mut *self.data.get() });
        // SAFETY: acquired above.
        unsafe { self.raw.unlock() };
        result
    }
}

impl<R: RawRwLock> SharedLock for RawLocked<R, Record> {
    #[inline]
    fn read<O>(&self, f: impl FnOnce(&Record) -> O) -> O {
        self.raw.read();
        // SAFETY: no writer is in.
        let result = f(unsafe { &*self.data.get() });
        // SAFETY: acquired above.
        unsafe { self.raw.unlock_read() };
        result
    }
}
