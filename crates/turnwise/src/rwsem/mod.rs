//! The adaptive readers-writer lock: many readers at a time, or one writer.

mod either;
mod guard;
mod make;
mod prefer;
mod raw;
#[cfg(feature = "spin")]
mod spin;
mod traits;
mod wait;
mod wake;

pub use guard::{MappedRwSemReadGuard, MappedRwSemWriteGuard, RwSemReadGuard, RwSemUpgradableGuard, RwSemWriteGuard};
pub use prefer::Prefer;
pub(crate) use raw::Met;
pub use raw::RawRwSem;

use crate::order::{Class, How};
use crate::platform::{ConstPlatform, Deadline, DefaultPlatform, Platform};
use core::cell::UnsafeCell;
use core::fmt;
use core::time::Duration;

/// The usual name of [`RwSem`] elsewhere.
///
/// ```
/// use turnwise::RwLock;
///
/// static LIMIT: RwLock<u32> = RwLock::new(7);
/// assert_eq!(*LIMIT.read(), 7);
/// ```
pub type RwLock<T, P = DefaultPlatform> = RwSem<T, P>;

/// A lock that protects `T` and lets any number of readers in, or one writer.
///
/// It takes twelve bytes beside the data (four without feature `spin`). A reader enters by one addition and leaves by
/// one subtraction. A waiter spins briefly, then sleeps; writers spin behind a queue, and only while the writer inside
/// may be running. It does not poison.
///
/// **Order.** Newcomers may take a free lock before sleepers. Once a writer sleeps, no more readers come in beside
/// those inside; when it has been in, all waiting readers come in together. A thread that was overtaken for
/// [`Policy::claim_after_ns`](crate::wait::Policy::claim_after_ns), reader or writer, gets the next turn.
///
/// **Recursion.** A thread that holds the lock in any mode must not acquire it again: not for writing, since it would
/// wait for itself; and not for reading either, since a writer that came in between waits for the first read lock to be
/// released, and the second read waits for that writer. Only `try_` forms return in such cases, and
/// [`RwSem::read_recursive`] to a thread that reads.
///
/// ```
/// use turnwise::RwSem;
///
/// static LIMITS: RwSem<[u32; 2]> = RwSem::new([1, 9]);
/// std::thread::scope(|s| {
///     s.spawn(|| LIMITS.write()[1] = 10);
///     s.spawn(|| assert!(LIMITS.read()[1] >= 9));
/// });
/// assert_eq!(*LIMITS.read(), [1, 10]);
/// ```
pub struct RwSem<T: ?Sized, P: Platform = DefaultPlatform> {
    raw: RawRwSem<P>,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, and `&T` to many only while no thread has `&mut T`.
unsafe impl<T: ?Sized + Send + Sync, P: Platform> Sync for RwSem<T, P> {}
// SAFETY: the lock owns its data, and its words are `Send`.
unsafe impl<T: ?Sized + Send, P: Platform> Send for RwSem<T, P> {}

impl<T> RwSem<T> {
    /// Creates an unlocked lock.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn new(value: T) -> Self {
        Self::const_new_in(value)
    }
}

impl<T, P: ConstPlatform> RwSem<T, P> {
    /// Creates an unlocked lock on any platform whose words are core's, also in constants: for statics.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn const_new_in(value: T) -> Self {
        RwSem { raw: RawRwSem::const_new_in(), class: Class::new(), data: UnsafeCell::new(value) }
    }
}

impl<T, P: Platform> RwSem<T, P> {
    /// Creates an unlocked lock on any platform.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn new_in(value: T) -> Self {
        RwSem { raw: RawRwSem::new_in(), class: Class::new(), data: UnsafeCell::new(value) }
    }

    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

/// Acquiring the lock in each of the three modes, and trying to.
impl<T: ?Sized, P: Platform> RwSem<T, P> {
    /// Acquires the lock for reading.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn read(&self) -> RwSemReadGuard<'_, T, P> {
        self.class.before(self.name(), How::Read);
        self.raw.read();
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `RwSemReadGuard::new`: the calling thread has just acquired the lock in this mode.
        unsafe { RwSemReadGuard::new(self) }
    }

    /// Acquires the lock for reading, unless a writer holds it or waits.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read(&self) -> Option<RwSemReadGuard<'_, T, P>> {
        if !self.raw.try_read() {
            return None;
        }
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `RwSemReadGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemReadGuard::new(self) })
    }

    /// Acquires the lock for reading, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_for(&self, timeout: Duration) -> Option<RwSemReadGuard<'_, T, P>> {
        if let Some(guard) = self.try_read() {
            return Some(guard);
        }
        self.try_read_until(Deadline::after::<P>(timeout))
    }

    /// Acquires the lock for reading, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_until(&self, deadline: Deadline) -> Option<RwSemReadGuard<'_, T, P>> {
        self.class.before(self.name(), How::Read);
        if !self.raw.read_until(deadline) {
            return None;
        }
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `RwSemReadGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemReadGuard::new(self) })
    }

    /// Acquires the lock for reading, past writers that wait: a thread that reads already gets it at once. Others may
    /// use it, too, but so many that readers never leave can starve writers, and a thread that upgrades.
    ///
    /// ```
    /// let lock = turnwise::RwSem::new(1);
    /// let first = lock.read();
    /// std::thread::scope(|s| {
    ///     s.spawn(|| *lock.write() = 2);
    ///     assert_eq!(*lock.read_recursive(), 1);
    ///     drop(first);
    /// });
    /// ```
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn read_recursive(&self) -> RwSemReadGuard<'_, T, P> {
        self.class.before(self.name(), How::ReadRecursive);
        self.raw.read_with(Prefer::Readers, None);
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `RwSemReadGuard::new`: the calling thread has just acquired the lock in this mode.
        unsafe { RwSemReadGuard::new(self) }
    }

    /// Acquires the lock for reading like [`RwSem::read_recursive`], unless a writer holds it.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_recursive(&self) -> Option<RwSemReadGuard<'_, T, P>> {
        if !self.raw.try_read_with(Prefer::Readers) {
            return None;
        }
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `RwSemReadGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemReadGuard::new(self) })
    }

    /// Acquires the lock for reading like [`RwSem::read_recursive`], or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_recursive_for(&self, timeout: Duration) -> Option<RwSemReadGuard<'_, T, P>> {
        if let Some(guard) = self.try_read_recursive() {
            return Some(guard);
        }
        self.try_read_recursive_until(Deadline::after::<P>(timeout))
    }

    /// Acquires the lock for reading like [`RwSem::read_recursive`], or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_read_recursive_until(&self, deadline: Deadline) -> Option<RwSemReadGuard<'_, T, P>> {
        self.class.before(self.name(), How::ReadRecursive);
        if !self.raw.read_with(Prefer::Readers, Some(deadline)) {
            return None;
        }
        self.class.acquired(self.name(), How::Read);
        // SAFETY: contract of `RwSemReadGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemReadGuard::new(self) })
    }

    /// Acquires the lock for writing.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn write(&self) -> RwSemWriteGuard<'_, T, P> {
        self.class.before(self.name(), How::Write);
        self.raw.write();
        self.class.acquired(self.name(), How::Write);
        // SAFETY: contract of `RwSemWriteGuard::new`: the calling thread has just acquired the lock in this mode.
        unsafe { RwSemWriteGuard::new(self) }
    }

    /// Acquires the lock for writing if it is free. May fail on a free lock that a reader is just finding barred.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write(&self) -> Option<RwSemWriteGuard<'_, T, P>> {
        if !self.raw.try_write() {
            return None;
        }
        self.class.acquired(self.name(), How::Write);
        // SAFETY: contract of `RwSemWriteGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemWriteGuard::new(self) })
    }

    /// Acquires the lock for writing, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write_for(&self, timeout: Duration) -> Option<RwSemWriteGuard<'_, T, P>> {
        if let Some(guard) = self.try_write() {
            return Some(guard);
        }
        self.try_write_until(Deadline::after::<P>(timeout))
    }

    /// Acquires the lock for writing, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_write_until(&self, deadline: Deadline) -> Option<RwSemWriteGuard<'_, T, P>> {
        self.class.before(self.name(), How::Write);
        if !self.raw.write_until(deadline) {
            return None;
        }
        self.class.acquired(self.name(), How::Write);
        // SAFETY: contract of `RwSemWriteGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemWriteGuard::new(self) })
    }

    /// Acquires the lock for reading, with the right to become the writer: beside readers, but not beside another
    /// upgradable reader. While one waits for its turn, no more readers come in, as for a writer.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn upgradable_read(&self) -> RwSemUpgradableGuard<'_, T, P> {
        self.class.before(self.name(), How::Upgradable);
        self.raw.upgradable_read();
        self.class.acquired(self.name(), How::Upgradable);
        // SAFETY: contract of `RwSemUpgradableGuard::new`: the calling thread has just acquired the lock in this mode.
        unsafe { RwSemUpgradableGuard::new(self) }
    }

    /// Acquires the lock for upgradable reading if no writer and no other upgradable reader holds it.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_upgradable_read(&self) -> Option<RwSemUpgradableGuard<'_, T, P>> {
        if !self.raw.try_upgradable_read() {
            return None;
        }
        self.class.acquired(self.name(), How::Upgradable);
        // SAFETY: contract of `RwSemUpgradableGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemUpgradableGuard::new(self) })
    }

    /// Acquires the lock for upgradable reading, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_upgradable_read_for(&self, timeout: Duration) -> Option<RwSemUpgradableGuard<'_, T, P>> {
        if let Some(guard) = self.try_upgradable_read() {
            return Some(guard);
        }
        self.try_upgradable_read_until(Deadline::after::<P>(timeout))
    }

    /// Acquires the lock for upgradable reading, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_upgradable_read_until(&self, deadline: Deadline) -> Option<RwSemUpgradableGuard<'_, T, P>> {
        self.class.before(self.name(), How::Upgradable);
        if !self.raw.upgradable_read_until(deadline) {
            return None;
        }
        self.class.acquired(self.name(), How::Upgradable);
        // SAFETY: contract of `RwSemUpgradableGuard::new`: the calling thread has just acquired the lock in this mode.
        Some(unsafe { RwSemUpgradableGuard::new(self) })
    }
}

impl<T: ?Sized, P: Platform> RwSem<T, P> {
    /// Whether the lock is held at this moment.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Whether a writer holds the lock at this moment.
    pub fn is_write_locked(&self) -> bool {
        self.raw.is_write_locked()
    }

    /// Returns what has happened to this lock so far. Upgrades are not counted.
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
    pub fn raw(&self) -> &RawRwSem<P> {
        &self.raw
    }

    /// Returns a pointer to the data; using it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.get()
    }
}

impl<T: Default> Default for RwSem<T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwSem<T> {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform> fmt::Debug for RwSem<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwSem");
        match self.try_read() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}
