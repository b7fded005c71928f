//! The big-reader lock: for data that many CPUs read all the time and that is hardly ever written.

mod inner;
mod raw;
mod spreading;

pub use raw::RawBigReaderLock;
pub use spreading::{SPREAD_AFTER, Slot, Spreading};

use crate::lock::LockGuard;
use crate::platform::{DefaultPlatform, Platform};
use crate::rwlock::{RwLock, RwLockReadGuard};

/// A lock that protects `T` and admits any number of readers, or one writer; readers on different CPUs do not disturb
/// each other.
///
/// It takes two cache lines for each of its `N` slots (8 KiB for the default of 64; `N` is a power of two up to 256),
/// and a writer visits them all. It is for a lock that every CPU reads hundreds of times between two writes; an
/// [`RwSem`](crate::RwSem) takes twelve bytes, and is better for any other use.
///
/// Until readers have met other readers [`SPREAD_AFTER`] times for each slot without a writer it behaves like an
/// `RwSem`, and again after each write. The order and length of waits are the same, and so is the rule that a thread
/// must not acquire it again. It does not poison.
///
/// **Fork.** In a forked child the lock can be used if no other thread held it, for writing or reading.
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
pub type BigReaderLock<T, const N: usize = 64, P = DefaultPlatform> = RwLock<RawBigReaderLock<N, P>, T>;

/// A guard that gives `&T` as long as it lives, alongside other readers.
///
/// ```
/// let routes: turnwise::BigReaderLock<u32> = turnwise::BigReaderLock::new(7);
/// assert_eq!(*routes.read() + *routes.try_read().expect("readers share it"), 14);
/// ```
pub type BigReaderReadGuard<'a, T, const N: usize = 64, P = DefaultPlatform> =
    RwLockReadGuard<'a, RawBigReaderLock<N, P>, T>;

/// A guard that gives `&mut T` as long as it lives.
///
/// ```
/// let routes: turnwise::BigReaderLock<u32> = turnwise::BigReaderLock::new(7);
/// *routes.write() = 10;
/// ```
pub type BigReaderWriteGuard<'a, T, const N: usize = 64, P = DefaultPlatform> =
    LockGuard<'a, RawBigReaderLock<N, P>, T, true>;

data_constructors!(RwLock, RawBigReaderLock [const N: usize,] [N,], "an unlocked lock");

impl<T: ?Sized, const N: usize, P: Platform> RwLock<RawBigReaderLock<N, P>, T> {
    /// Returns whether a writer currently holds the lock.
    pub fn is_write_locked(&self) -> bool {
        self.raw().is_write_locked()
    }
}
