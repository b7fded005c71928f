//! What locks without data have in common: [`RawLock`], [`RawTimedLock`] and [`RawRwLock`]. A lock implements them
//! once, in its own file; [`crate::lock::Lock`] puts data and guards on top, and whoever runs many sorts of locks takes
//! them by these traits.
//!
//! | trait | who implements it |
//! |---|---|
//! | [`RawLock`], [`RawTimedLock`] | `RawMutex`, the spin locks but `RawMcsLock`, `RawRwSem` as its writers see it |
//! | [`RawLock`] alone | `RawReentrantMutex` |
//! | [`RawRwLock`] | `RawRwSem` |
//!
//! Not among them: `RawMcsLock`, which is released with the node that acquired it; `Semaphore`, which anybody may
//! release.

use crate::platform::{Deadline, Platform};
use core::marker::PhantomData;

/// [`RawLock::GuardMarker`] of a lock that any thread may release.
pub struct GuardSend(());

/// [`RawLock::GuardMarker`] of a lock that the thread releases which acquired it.
pub struct GuardNoSend(PhantomData<*mut ()>);

/// A lock without data, for one owner at a time.
///
/// # Safety
/// 1. At most one acquisition is in force: between `lock`, or a `try_lock` that returned `true`, and the `unlock` after
///    it no other acquisition succeeds, by the same thread neither unless the lock is [`RawLock::REENTRANT`]. No safe
///    function ends it.
/// 2. Whoever acquires the lock sees what owners before wrote until they released it.
/// 3. If [`RawLock::GuardMarker`] is `Send`, `unlock` may be called by any thread.
pub unsafe trait RawLock: Sized + Send + Sync + 'static {
    /// What `Debug` calls a [`crate::lock::Lock`] of this kind.
    const NAME: &'static str = "Lock";

    /// Whether the owner may acquire it again, and then releases it as often. Such a lock gives no `&mut`, so that
    /// [`crate::lock::Lock`] does not take it:
    ///
    /// ```compile_fail,E0080
    /// turnwise::Lock::<turnwise::RawReentrantMutex, u32>::new_in(0);
    /// ```
    const REENTRANT: bool = false;

    /// The machine that it runs on.
    type Platform: Platform;

    /// [`GuardSend`] or [`GuardNoSend`]: whether a guard may go to another thread.
    type GuardMarker;

    /// An unlocked lock.
    fn new_in() -> Self;

    /// Acquires the lock.
    fn lock(&self);

    /// Acquires the lock if it is free.
    fn try_lock(&self) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The lock is held, and whoever acquired it does not release it too. Unless [`RawLock::GuardMarker`] is `Send`,
    /// the calling thread acquired it.
    unsafe fn unlock(&self);

    /// Whether somebody has the lock at this moment, to read or to write.
    fn is_locked(&self) -> bool;

    /// What has happened to this lock so far; a lock that does not count says that nothing did.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        crate::events::Stats::ZERO
    }
}

/// A [`RawLock`] that one can give up waiting for.
///
/// # Safety
/// What [`RawLock`] says of `try_lock` holds for `lock_until`.
pub unsafe trait RawTimedLock: RawLock {
    /// Acquires the lock, or gives up at `deadline`; says whether it got it.
    fn lock_until(&self, deadline: Deadline) -> bool;
}

/// A lock for many readers or one writer. As a [`RawLock`] it is what its writers see.
///
/// # Safety
/// 1. While an acquisition as a [`RawLock`] is in force, none for reading is, and the other way round. An acquisition
///    for reading is in force from `read`, or a `try_read` that returned `true`, until its `unlock_read`; no safe
///    function ends it.
/// 2. Whoever reads sees what writers before wrote until they released the lock; whoever writes comes after all that
///    readers before read.
pub unsafe trait RawRwLock: RawLock {
    /// Acquires the lock for reading.
    fn read(&self);

    /// Acquires the lock for reading if that is possible at once.
    fn try_read(&self) -> bool;

    /// Releases a read lock.
    ///
    /// # Safety
    /// The calling thread has one.
    unsafe fn unlock_read(&self);
}
