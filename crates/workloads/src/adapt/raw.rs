//! Data behind locks that come without.

use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use std::cell::UnsafeCell;

/// A lock without data, for one thread at a time.
///
/// # Safety
/// At most one thread is between `lock` and `unlock`, and sees what the one before it wrote there.
pub unsafe trait RawLock: Sync + 'static {
    /// An unlocked lock.
    fn new() -> Self;
    /// Acquires.
    fn lock(&self);
    /// Releases.
    ///
    /// # Safety
    /// The calling thread acquired it.
    unsafe fn unlock(&self);
}

/// A lock without data, for many readers or one writer.
///
/// # Safety
/// While a thread is between `write` and `unlock_write`, no other is between any acquisition and its release; whoever
/// comes in sees what writers before wrote.
pub unsafe trait RawSharedLock: Sync + 'static {
    /// An unlocked lock.
    fn new() -> Self;
    /// Acquires for reading.
    fn read(&self);
    /// Releases after reading.
    ///
    /// # Safety
    /// The calling thread acquired it so.
    unsafe fn unlock_read(&self);
    /// Acquires for writing.
    fn write(&self);
    /// Releases after writing.
    ///
    /// # Safety
    /// The calling thread acquired it so.
    unsafe fn unlock_write(&self);
}

/// A raw lock and the data that it protects.
#[repr(C)]
pub struct Behind<R, T> {
    raw: R,
    data: UnsafeCell<T>,
}

// SAFETY: both traits above say that a writer is alone, and readers only read.
unsafe impl<R: Sync, T: Send + Sync> Sync for Behind<R, T> {}

impl<R: RawLock, T: Send + Sync + 'static> Lock<T> for Behind<R, T> {
    fn new(value: T) -> Self {
        Behind { raw: R::new(), data: UnsafeCell::new(value) }
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

impl<R: RawSharedLock> SharedLock for Behind<R, Record> {
    fn new(value: Record) -> Self {
        Behind { raw: R::new(), data: UnsafeCell::new(value) }
    }

    #[inline]
    fn read<O>(&self, f: impl FnOnce(&Record) -> O) -> O {
        self.raw.read();
        // SAFETY: no writer is in.
        let result = f(unsafe { &*self.data.get() });
        // SAFETY: acquired above.
        unsafe { self.raw.unlock_read() };
        result
    }

    #[inline]
    fn write<O>(&self, f: impl FnOnce(&mut Record) -> O) -> O {
        self.raw.write();
        // SAFETY: nobody else is in.
        let result = f(unsafe { &mut *self.data.get() });
        // SAFETY: acquired above.
        unsafe { self.raw.unlock_write() };
        result
    }
}
