//! The traits of locks without data: [`RawLock`], [`RawTimedLock`], [`RawRwLock`] and [`RawTimedRwLock`]. A lock
//! implements them once, in its own file; [`crate::lock::Lock`] and [`crate::rwlock::RwLock`] add data and guards, and
//! code that handles many kinds of locks uses them through these traits.
//!
//! | trait | implemented by |
//! |---|---|
//! | [`RawLock`], [`RawTimedLock`] | `RawMutex`, `RawReentrantMutex`, `LockRef`, the spin locks except `RawMcsLock`, writers of the next row's locks |
//! | [`RawRwLock`], [`RawTimedRwLock`] | `RawRwSem`, `RawBigReaderLock`, `RawSeqRwLock` (its blocking readers) |
//!
//! Two locks do not implement them: `RawMcsLock`, which is released with the node that acquired it, and `Semaphore`,
//! which any thread may release.

use crate::platform::{Deadline, Platform};
use core::marker::PhantomData;

/// The [`RawLock::GuardMarker`] of a lock that any thread may release.
///
/// ```
/// fn any_thread(_: &impl turnwise::RawLock<GuardMarker = turnwise::raw::GuardSend>) {}
/// any_thread(&turnwise::RawSpinLock::new());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GuardSend(());

/// The [`RawLock::GuardMarker`] of a lock that must be released by the thread that acquired it.
///
/// ```
/// fn own_thread(_: &impl turnwise::RawLock<GuardMarker = turnwise::raw::GuardNoSend>) {}
/// own_thread(&turnwise::RawMutex::new());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GuardNoSend(PhantomData<*mut ()>);

/// A lock without data, for one owner at a time.
///
/// # Safety
/// 1. At most one acquisition is in force: between `lock`, or a `try_lock` that returned `true`, and the `unlock` after
///    it no other acquisition succeeds, not even by the same thread unless the lock is [`RawLock::REENTRANT`]. No safe
///    function ends it.
/// 2. A thread that acquires the lock sees what earlier owners wrote until they released it.
/// 3. If [`RawLock::GuardMarker`] is `Send`, `unlock` may be called by any thread.
///
/// ```
/// use turnwise::{RawLock, RawSpinLock};
///
/// let lock = RawSpinLock::new();
/// lock.lock();
/// // SAFETY: this thread has just acquired it.
/// unsafe { lock.unlock() };
/// ```
pub unsafe trait RawLock: Sized + Send + Sync + 'static {
    /// The name of a [`crate::lock::Lock`] of this kind in `Debug`.
    const NAME: &'static str = "Lock";

    /// Whether the owner may acquire the lock again, and then releases it the same number of times. The guards of such
    /// a lock give `&`, but no `&mut`:
    ///
    /// ```compile_fail,E0080
    /// *turnwise::ReentrantMutex::new(0).lock() += 1;
    /// ```
    ///
    /// ```compile_fail,E0080
    /// use turnwise::{ReentrantMutex, ReentrantMutexGuard};
    /// *ReentrantMutexGuard::map_shared(ReentrantMutex::new([0]).lock(), |all| &all[0]) += 1;
    /// ```
    const REENTRANT: bool = false;

    /// The platform that the lock runs on.
    type Platform: Platform;

    /// Whether a guard may be sent to another thread: [`GuardSend`] or [`GuardNoSend`].
    type GuardMarker;

    /// Creates an unlocked lock.
    fn new_in() -> Self;

    /// Acquires the lock.
    fn lock(&self);

    /// Acquires the lock if it is free.
    fn try_lock(&self) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The lock is held, and this acquisition is released only once. Unless [`RawLock::GuardMarker`] is `Send`, the
    /// calling thread acquired it.
    unsafe fn unlock(&self);

    /// Returns whether the lock is currently held, for reading or writing.
    fn is_locked(&self) -> bool;

    /// Returns what has happened to this lock so far; all counts are 0 for a lock that does not count.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        crate::events::Stats::ZERO
    }
}

/// A [`RawLock`] with a wait that can time out.
///
/// # Safety
/// What [`RawLock`] says of `try_lock` holds for `lock_until`.
///
/// ```
/// use turnwise::platform::{Clock, Deadline};
/// use turnwise::{RawMutex, RawTimedLock};
///
/// let passed = Deadline { clock: Clock::Monotonic, at: 1 };
/// let lock = RawMutex::new();
/// assert!(lock.lock_until(passed) && !lock.lock_until(passed), "free, then held");
/// ```
pub unsafe trait RawTimedLock: RawLock {
    /// Acquires the lock, or gives up at `deadline`; returns whether it acquired it.
    fn lock_until(&self, deadline: Deadline) -> bool;
}

/// A lock for many readers or one writer. As a [`RawLock`] it is the writers' lock.
///
/// # Safety
/// 1. While an acquisition as a [`RawLock`] is in force, none for reading is, and vice versa. An acquisition for
///    reading is in force from `read`, or a `try_read` that returned `true`, until its `unlock_read`; no safe function
///    ends it.
/// 2. A reader sees what earlier writers wrote until they released the lock; what a writer does happens after the reads
///    of earlier readers.
///
/// ```
/// use turnwise::{RawRwLock, RawRwSem};
///
/// let lock = RawRwSem::new();
/// assert!(lock.try_read() && lock.try_read(), "readers share it");
/// ```
pub unsafe trait RawRwLock: RawLock {
    /// Acquires the lock for reading.
    fn read(&self);

    /// Acquires the lock for reading if that is possible at once.
    fn try_read(&self) -> bool;

    /// Releases a read lock.
    ///
    /// # Safety
    /// The calling thread holds one.
    unsafe fn unlock_read(&self);
}

/// A [`RawRwLock`] with waits that can time out.
///
/// # Safety
/// What [`RawRwLock`] says of `try_read` holds for `read_until`.
///
/// ```
/// use turnwise::platform::{Clock, Deadline};
/// use turnwise::{RawRwSem, RawTimedLock, RawTimedRwLock};
///
/// let passed = Deadline { clock: Clock::Monotonic, at: 1 };
/// let lock = RawRwSem::new();
/// assert!(lock.lock_until(passed) && !lock.read_until(passed), "free, then held");
/// ```
pub unsafe trait RawTimedRwLock: RawRwLock + RawTimedLock {
    /// Acquires the lock for reading, or gives up at `deadline`; returns whether it acquired it.
    fn read_until(&self, deadline: Deadline) -> bool;
}
