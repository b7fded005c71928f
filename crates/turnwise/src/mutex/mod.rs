//! The adaptive mutex: what one should use.

mod guard;
mod raw;
#[cfg(feature = "spin")]
mod spin;

pub use guard::{MappedMutexGuard, MutexGuard};
pub use raw::RawMutex;

use crate::order::{Class, How};
use crate::platform::{Deadline, DefaultPlatform, Platform};
use core::cell::UnsafeCell;
use core::fmt;
use core::time::Duration;

/// A mutual exclusion lock that protects `T`.
///
/// Eight bytes beside the data (four without feature `spin`). It spins briefly, then behind a queue, and only while
/// the owner may be running, then sleeps; newcomers may overtake sleepers, but a waiter that was overtaken for
/// [`Policy::claim_after_ns`](crate::wait::Policy::claim_after_ns) gets the next turn. It does not poison.
///
/// ```
/// use turnwise::Mutex;
///
/// static HITS: Mutex<u64> = Mutex::new(0);
/// std::thread::scope(|s| {
///     for _ in 0..4 {
///         s.spawn(|| *HITS.lock() += 1);
///     }
/// });
/// assert_eq!(*HITS.lock(), 4);
/// ```
pub struct Mutex<T: ?Sized, P: Platform = DefaultPlatform> {
    raw: RawMutex<P>,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, so sharing the mutex only moves `T` between threads.
unsafe impl<T: ?Sized + Send, P: Platform> Sync for Mutex<T, P> {}
// SAFETY: the mutex owns its data, and its words are `Send`.
unsafe impl<T: ?Sized + Send, P: Platform> Send for Mutex<T, P> {}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn new(value: T) -> Self {
        Mutex { raw: RawMutex::new(), class: Class::new(), data: UnsafeCell::new(value) }
    }
}

impl<T, P: Platform> Mutex<T, P> {
    /// An unlocked mutex on any platform.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(value: T) -> Self {
        Mutex { raw: RawMutex::new_in(), class: Class::new(), data: UnsafeCell::new(value) }
    }

    /// The value, without locking: nobody else can have it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized, P: Platform> Mutex<T, P> {
    /// Acquires the lock. A thread that locks a mutex it already has waits for ever.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn lock(&self) -> MutexGuard<'_, T, P> {
        self.class.before(self.name(), How::Write);
        self.raw.lock();
        // SAFETY: just acquired.
        unsafe { self.guard() }
    }

    /// Acquires the lock if it is free.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, P>> {
        if !self.raw.try_lock() {
            return None;
        }
        // SAFETY: just acquired.
        Some(unsafe { self.guard() })
    }

    /// Acquires the lock, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<MutexGuard<'_, T, P>> {
        if let Some(guard) = self.try_lock() {
            return Some(guard);
        }
        self.try_lock_until(Deadline::after::<P>(timeout))
    }

    /// Acquires the lock, or gives up at `deadline`. ([`Deadline`] rather than `std::time::Instant`, which cannot
    /// name a point on another platform's clock.)
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_until(&self, deadline: Deadline) -> Option<MutexGuard<'_, T, P>> {
        self.class.before(self.name(), How::Write);
        if !self.raw.lock_until(deadline) {
            return None;
        }
        // SAFETY: just acquired.
        Some(unsafe { self.guard() })
    }

    /// # Safety
    /// The calling thread has just acquired the lock.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    unsafe fn guard(&self) -> MutexGuard<'_, T, P> {
        self.class.acquired(self.name(), How::Write);
        // SAFETY: just acquired.
        unsafe { MutexGuard::new(self) }
    }

    /// What the order checker calls this lock.
    #[inline]
    pub(crate) fn name(&self) -> usize {
        core::ptr::from_ref(&self.raw).addr()
    }

    /// Whether somebody has the lock at this moment.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// What has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }

    /// The value, without locking: the exclusive borrow proves that nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// The lock without the data, for condition variables and adapters.
    pub fn raw(&self) -> &RawMutex<P> {
        &self.raw
    }

    /// A pointer to the data; reading it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.get()
    }
}

impl<T: Default> Default for Mutex<T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform> fmt::Debug for Mutex<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}
