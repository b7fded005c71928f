//! The adaptive readers-writer lock: many readers at a time, or one writer.

mod either;
mod guard;
mod prefer;
mod raw;
mod wait;
mod wake;

pub use guard::RwSemUpgradableGuard;
pub use prefer::Prefer;
pub use raw::RawRwSem;
pub(crate) use raw::{HANDOFF, WRITERS};

use crate::lock::{LockGuard, MappedLockGuard};
use crate::order::How;
use crate::platform::{DefaultPlatform, Platform};
use crate::rwlock::{MappedRwLockReadGuard, RwLock as SharedLock, RwLockReadGuard};

/// The usual name of [`RwSem`] in other libraries.
///
/// ```
/// static LIMIT: turnwise::RwLock<u32> = turnwise::RwLock::new(7);
/// assert_eq!(*LIMIT.read(), 7);
/// ```
pub type RwLock<T, P = DefaultPlatform> = RwSem<T, P>;

/// A lock that protects `T` and admits any number of readers, or one writer.
///
/// It takes twelve bytes plus the data (four without feature `spin`). A reader enters by one addition and leaves by one
/// subtraction. A waiter spins briefly, then sleeps; writers spin in a queue, and only while the current writer may be
/// running. It does not poison.
///
/// **Order.** Newcomers may take a free lock before sleepers. Once a writer sleeps, no more readers are admitted
/// alongside the current ones; after the writer, all waiting readers enter together. A thread, reader or writer, that
/// was overtaken for [`Policy::handoff_after_ns`](crate::wait::Policy::handoff_after_ns) is handed the lock next.
///
/// **Recursion.** A thread that holds the lock in any mode must not acquire it again: not for writing, since it would
/// wait for itself; nor for reading, since a writer that came in between waits for the first read lock to be released,
/// and the second read waits for that writer. In such cases only the `try_` forms return, and [`RwSem::read_recursive`]
/// in a thread that already reads.
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
pub type RwSem<T, P = DefaultPlatform> = SharedLock<RawRwSem<P>, T>;

/// A guard of a read lock, which is held until the guard is dropped.
///
/// ```
/// let names = turnwise::RwSem::new(vec!["a"]);
/// let guard: turnwise::RwSemReadGuard<'_, Vec<&str>> = names.read();
/// ```
pub type RwSemReadGuard<'a, T, P = DefaultPlatform> = RwLockReadGuard<'a, RawRwSem<P>, T>;

/// A guard of the write lock, which is held until the guard is dropped.
///
/// ```
/// let lock = turnwise::RwSem::new(7);
/// let guard = turnwise::RwSemWriteGuard::downgrade(lock.write());
/// assert_eq!((*guard, lock.try_read().is_some()), (7, true));
/// ```
pub type RwSemWriteGuard<'a, T, P = DefaultPlatform> = LockGuard<'a, RawRwSem<P>, T, true>;

/// A guard of a read lock, for part of the data.
///
/// ```
/// let names = turnwise::RwSem::new(vec!["a"]);
/// let first = turnwise::RwSemReadGuard::try_map(names.read(), |names| names.first());
/// assert_eq!(*first.expect("it is not empty"), "a");
/// ```
pub type MappedRwSemReadGuard<'a, T, P = DefaultPlatform> = MappedRwLockReadGuard<'a, RawRwSem<P>, T>;

/// A guard of the write lock, for part of the data.
///
/// ```
/// let pair = turnwise::RwSem::new((1, "one"));
/// *turnwise::RwSemWriteGuard::map(pair.write(), |pair| &mut pair.0) = 2;
/// ```
pub type MappedRwSemWriteGuard<'a, T, P = DefaultPlatform> = MappedLockGuard<'a, RawRwSem<P>, T>;

data_constructors!(SharedLock, RawRwSem [] [], "an unlocked lock");

/// Recursive and upgradable reading.
impl<T: ?Sized, P: Platform> SharedLock<RawRwSem<P>, T> {
    acquisitions! {
        How::ReadRecursive, |lock, deadline| RwLockReadGuard::new[lock] -> RwSemReadGuard<'_, T, P>, P;

        /// Acquires the lock for reading, past waiting writers: a thread that already reads gets it at once. Others may
        /// use it, too, but an unbroken succession of readers can starve writers, and a thread that upgrades.
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
        read_recursive: lock.raw().read_with(Prefer::Readers, None);
        /// Acquires the lock for reading like [`RwSem::read_recursive`], unless a writer holds it.
        try_read_recursive: lock.raw().try_read_with(Prefer::Readers);
        try_read_recursive_for, try_read_recursive_until: lock.raw().read_with(Prefer::Readers, Some(deadline));
    }

    acquisitions! {
        How::Upgradable, |lock, deadline| RwSemUpgradableGuard::new[lock] -> RwSemUpgradableGuard<'_, T, P>, P;

        /// Acquires the lock for reading, with the right to become the writer: alongside readers, but not alongside
        /// another upgradable reader. While one waits for its turn, no more readers are admitted, as for a writer.
        upgradable_read: lock.raw().upgradable_read();
        /// Acquires the lock for upgradable reading if no writer and no other upgradable reader holds it.
        try_upgradable_read: lock.raw().try_upgradable_read();
        try_upgradable_read_for, try_upgradable_read_until: lock.raw().upgradable_read_until(deadline);
    }

    /// Returns whether a writer currently holds the lock.
    pub fn is_write_locked(&self) -> bool {
        self.raw().is_write_locked()
    }
}
