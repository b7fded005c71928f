//! The big-reader lock: for data that many CPUs read all the time, and hardly any thread writes.

mod guard;
mod raw;

pub use guard::{BigReaderReadGuard, BigReaderWriteGuard};
pub use raw::RawBigReaderLock;

use crate::order::{Class, How};
use crate::platform::{ConstPlatform, Deadline, DefaultPlatform, Platform};
use core::cell::UnsafeCell;
use core::fmt;
use core::time::Duration;

/// A lock that protects `T` and lets any number of readers in, or one writer; readers on different CPUs do not disturb
/// each other.
///
/// It takes two cache lines for each of its `N` slots (8 KiB with the 64 that are the default, a power of two up to
/// 256), and a writer visits them all. It is for a lock that every CPU reads hundreds of times between two writes; an
/// [`RwSem`](crate::RwSem) takes twelve bytes, and is the better one for any other.
///
/// Until a CPU's readers have met other readers [`Policy::spread_after`](crate::wait::Policy::spread_after) times
/// without a writer it behaves like an `RwSem`, and again after each write. Who waits for whom, for how long, and that
/// a thread must not acquire the lock again are as there. It does not poison.
///
/// **Fork.** In a forked child the lock can be used if no other thread held it, for writing or reading, or waited for
/// readers to leave.
///
/// ```
/// use turnwise::BigReaderLock;
///
/// static ROUTES: BigReaderLock<[u32; 2]> = BigReaderLock::new([1, 9]);
/// std::thread::scope(|s| {
///     s.spawn(|| ROUTES.write()[1] = 10);
///     s.spawn(|| assert!(ROUTES.read()[1] >= 9));
/// });
/// assert_eq!(*ROUTES.read(), [1, 10]);
/// ```
pub struct BigReaderLock<T: ?Sized, const N: usize = 64, P: Platform = DefaultPlatform> {
    raw: RawBigReaderLock<N, P>,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, and `&T` to many only while no thread has `&mut T`.
unsafe impl<T: ?Sized + Send + Sync, const N: usize, P: Platform> Sync for BigReaderLock<T, N, P> {}
// SAFETY: the lock owns its data, and its words are `Send`.
unsafe impl<T: ?Sized + Send, const N: usize, P: Platform> Send for BigReaderLock<T, N, P> {}

impl<T, const N: usize> BigReaderLock<T, N> {
    /// Creates an unlocked lock.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn new(value: T) -> Self {
        Self::const_new_in(value)
    }
}

impl<T, const N: usize, P: ConstPlatform> BigReaderLock<T, N, P> {
    /// Creates an unlocked lock on any platform whose words are core's, also in constants: for statics.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn const_new_in(value: T) -> Self {
        BigReaderLock { raw: RawBigReaderLock::const_new_in(), class: Class::new(), data: UnsafeCell::new(value) }
    }
}

impl<T, const N: usize, P: Platform> BigReaderLock<T, N, P> {
    /// Creates an unlocked lock on any platform.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(value: T) -> Self {
        BigReaderLock { raw: RawBigReaderLock::new_in(), class: Class::new(), data: UnsafeCell::new(value) }
    }

    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

/// Reading.
impl<T: ?Sized, const N: usize, P: Platform> BigReaderLock<T, N, P> {
    /// Acquires the lock for reading.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn read(&self) -> BigReaderReadGuard<'_, T, N, P> {
        self.class.before(self.name(), How::Read);
        self.raw.read();
        // SAFETY: contract of `reader`: just acquired.
        unsafe { self.reader() }
    }

    /// Acquires the lock for reading, unless a writer holds it or waits.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read(&self) -> Option<BigReaderReadGuard<'_, T, N, P>> {
        // SAFETY: contract of `reader`: just acquired.
        self.raw.try_read().then(|| unsafe { self.reader() })
    }

    /// Acquires the lock for reading, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_for(&self, timeout: Duration) -> Option<BigReaderReadGuard<'_, T, N, P>> {
        self.try_read().or_else(|| self.try_read_until(Deadline::after::<P>(timeout)))
    }

    /// Acquires the lock for reading, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_until(&self, deadline: Deadline) -> Option<BigReaderReadGuard<'_, T, N, P>> {
        self.class.before(self.name(), How::Read);
        // SAFETY: contract of `reader`: just acquired.
        self.raw.read_until(deadline).then(|| unsafe { self.reader() })
    }

    /// Makes a guard, and notes the acquisition for the order checker.
    ///
    /// # Safety
    /// The calling thread has just acquired the lock for reading.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    unsafe fn reader(&self) -> BigReaderReadGuard<'_, T, N, P> {
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `new`: that of `reader`.
        unsafe { BigReaderReadGuard::new(self) }
    }
}

/// Writing.
impl<T: ?Sized, const N: usize, P: Platform> BigReaderLock<T, N, P> {
    /// Acquires the lock for writing.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn write(&self) -> BigReaderWriteGuard<'_, T, N, P> {
        self.class.before(self.name(), How::Write);
        self.raw.write();
        // SAFETY: contract of `writer`: just acquired.
        unsafe { self.writer() }
    }

    /// Acquires the lock for writing if it is free. May fail on a free lock that a reader is just finding barred.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write(&self) -> Option<BigReaderWriteGuard<'_, T, N, P>> {
        // SAFETY: contract of `writer`: just acquired.
        self.raw.try_write().then(|| unsafe { self.writer() })
    }

    /// Acquires the lock for writing, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write_for(&self, timeout: Duration) -> Option<BigReaderWriteGuard<'_, T, N, P>> {
        self.try_write().or_else(|| self.try_write_until(Deadline::after::<P>(timeout)))
    }

    /// Acquires the lock for writing, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write_until(&self, deadline: Deadline) -> Option<BigReaderWriteGuard<'_, T, N, P>> {
        self.class.before(self.name(), How::Write);
        // SAFETY: contract of `writer`: just acquired.
        self.raw.write_until(deadline).then(|| unsafe { self.writer() })
    }

    /// Makes a guard, and notes the acquisition for the order checker.
    ///
    /// # Safety
    /// The calling thread has just acquired the lock for writing.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    unsafe fn writer(&self) -> BigReaderWriteGuard<'_, T, N, P> {
        self.class.acquired(self.name(), How::Write);
        // SAFETY: contract of `new`: that of `writer`.
        unsafe { BigReaderWriteGuard::new(self) }
    }
}

impl<T: ?Sized, const N: usize, P: Platform> BigReaderLock<T, N, P> {
    /// Whether the lock is held at this moment.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Whether a writer holds the lock at this moment, or waits for readers to leave.
    pub fn is_write_locked(&self) -> bool {
        self.raw.is_write_locked()
    }

    /// Returns what has happened so far to this lock, but for reads on the fast path.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }

    /// Returns the order checker's name for this lock.
    #[inline]
    fn name(&self) -> usize {
        core::ptr::from_ref(&self.raw).addr()
    }

    /// Returns the value, without locking: the exclusive borrow proves that no other thread has access to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns the lock without the data, for adapters.
    pub fn raw(&self) -> &RawBigReaderLock<N, P> {
        &self.raw
    }

    /// Returns a pointer to the data; using it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.get()
    }
}

impl<T: Default, const N: usize> Default for BigReaderLock<T, N> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T, const N: usize> From<T> for BigReaderLock<T, N> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, const N: usize, P: Platform> fmt::Debug for BigReaderLock<T, N, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("BigReaderLock");
        match self.try_read() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}
