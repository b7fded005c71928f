//! The adaptive mutex: the lock for general use.

mod raw;
mod wait;

pub use raw::{Owed, RawMutex};

use crate::lock::{Lock, LockGuard, MappedLockGuard};
use crate::order::released;
use crate::platform::{DefaultPlatform, Platform};

/// A mutual exclusion lock that protects `T`.
///
/// It takes eight bytes plus the data (four without feature `spin`). A waiter spins briefly, then in a queue while the
/// owner may be running, then sleeps. Newcomers may overtake sleepers, but a waiter overtaken for
/// [`Policy::handoff_after_ns`](crate::wait::Policy::handoff_after_ns) is handed the lock next. It does not poison.
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
pub type Mutex<T, P = DefaultPlatform> = Lock<RawMutex<P>, T>;

/// A guard of a [`Mutex`]. The lock is held until the guard is dropped; the guard is not `Send`.
///
/// ```
/// use turnwise::{Mutex, MutexGuard};
///
/// let queue = Mutex::new(vec![1]);
/// let mut guard: MutexGuard<'_, Vec<u32>> = queue.lock();
/// guard.push(2);
/// MutexGuard::unlock_fair(guard); // to the thread that has slept longest for it
/// assert_eq!(queue.into_inner(), [1, 2]);
/// ```
pub type MutexGuard<'a, T, P = DefaultPlatform> = LockGuard<'a, RawMutex<P>, T>;

/// A guard of part of a [`Mutex`]'s data.
///
/// ```
/// use turnwise::{MappedMutexGuard, Mutex, MutexGuard};
///
/// let queue = Mutex::new(vec![1, 2]);
/// let last = MutexGuard::try_map(queue.lock(), |queue| queue.last_mut());
/// let mut last: MappedMutexGuard<'_, u32> = last.expect("it is not empty");
/// *last = 3;
/// ```
pub type MappedMutexGuard<'a, T, P = DefaultPlatform> = MappedLockGuard<'a, RawMutex<P>, T>;

data_constructors!(Lock, RawMutex [] [], "an unlocked mutex");

impl<T: ?Sized, P: Platform> LockGuard<'_, RawMutex<P>, T> {
    /// Releases the lock and hands it to the longest-sleeping waiter, if there is one.
    pub fn unlock_fair(this: Self) {
        let lock = LockGuard::forget(this);
        released(lock.name());
        // SAFETY: contract of `RawMutex::unlock_fair`: the forgotten guard had the lock.
        unsafe { lock.raw().unlock_fair() }
    }
}
