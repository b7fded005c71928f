//! The types of [parking_lot](https://docs.rs/parking_lot) 0.12 on Turnwise's locks, for programs that change one line:
//! `parking_lot = { package = "turnwise-parking-lot" }`.
//!
//! ```
//! use turnwise_parking_lot::{Condvar, Mutex};
//!
//! static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static FILLED: Condvar = Condvar::new();
//!
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         QUEUE.lock().push(1);
//!         FILLED.notify_one()
//!     });
//!     let mut queue = QUEUE.lock();
//!     FILLED.wait_while(&mut queue, |queue| queue.is_empty());
//!     assert_eq!(queue.pop(), Some(1));
//! });
//! ```
//!
//! Guards do not move between threads, and there is no detection of deadlocks.

/// Forwards methods for any thread.
macro_rules! any_thread {
    ($($name:ident($($timeout:ident: $of:ty)?) $(-> $out:ty)? = |$lock:ident| $call:expr;)*) => {$(
        #[inline]
        fn $name(&self $(, $timeout: $of)?) $(-> $out)? {
            let $lock = &self.0;
            $call
        }
    )*};
}

/// Forwards methods for the thread that has the lock.
macro_rules! owner {
    ($($name:ident($($timeout:ident: $of:ty)?) $(-> $out:ty)? = $to:ident($($until:expr)?);)*) => {$(
        #[inline]
        unsafe fn $name(&self $(, $timeout: $of)?) $(-> $out)? {
            // SAFETY: contract of lock_api's method of this name: the caller has the lock in the mode that ours asks
            // for. They differ in their names alone.
            unsafe { self.0.$to($($until)?) }
        }
    )*};
}

mod condvar;
mod mutex;
mod once;
mod remutex;
mod rwlock;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use lock_api;
#[cfg(feature = "arc_lock")]
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard,
};
pub use mutex::{
    FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, Mutex, MutexGuard, RawFairMutex, RawMutex,
    const_fair_mutex, const_mutex,
};
pub use once::{Once, OnceState};
pub use remutex::{MappedReentrantMutexGuard, RawThreadId, ReentrantMutex, ReentrantMutexGuard, const_reentrant_mutex};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, const_rwlock,
};
