//! A mutex that its owner may lock again. (Owner and depth next to a mutex, as in POSIX's recursive mutexes.) Example:
//! [`ReentrantMutex`].
//!
//! ```text
//! lock    the mutex is free: take it, owner = me, depth = 1; owner is me: depth + 1; else wait for the mutex
//! try     owner is me: depth + 1; the mutex is free: as lock; else fail
//! unlock  depth - 1; it is 0: owner = 0, release the mutex
//! ```
//!
//! In addition to the [`RawMutex`], which does all the waiting, it stores the owner and the number of its acquisitions:
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | mutex | the adaptive mutex, held while `depth` > 0 | |
//! | `owner` | [`Threads::thread`] of the owner, 0: none | the owner |
//! | `depth` | acquisitions not yet released | the owner |
//!
//! A platform token cannot identify the owner: all threads without a slot share one.
//!
//! Invariants:
//! 1. `owner` names a thread only while that thread holds the mutex. So a thread that reads its own number there holds
//!    the lock, however old the value: it stored it itself, and has not stored 0 since.
//! 2. Only the thread that holds the mutex touches `depth`.
//! 3. The last release stores 0 to `owner` before it releases the mutex, and touches nothing after that.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. Other threads are excluded until the last release, in whatever order guards are dropped (invariants 1 and 2);
//!   owners see what earlier ones wrote, and the last release is the last access (invariant 3), as in the mutex.
//! - A2. An acquisition too deep to be counted is a panic that changes nothing.
//! - P1. The owner never waits. Other waits are the mutex's, with its P1 to P5.

use crate::events::Event;
use crate::lock::show_data;
use crate::mutex::RawMutex;
use crate::order::{Class, How, released};
use crate::platform::{Deadline, DefaultPlatform, Platform, Word};
use crate::raw::{GuardNoSend, RawLock, RawTimedLock};
use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::num::NonZeroU64;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

/// A platform that can distinguish its threads, including those without a slot.
///
/// # Safety
/// No two live threads get the same number, and a thread always gets the same one.
///
/// ```
/// use turnwise::platform::DefaultPlatform;
/// use turnwise::reentrant::Threads;
///
/// let this = DefaultPlatform::thread();
/// let other = std::thread::spawn(DefaultPlatform::thread).join().unwrap();
/// assert_eq!(this, DefaultPlatform::thread());
/// # let _ = other; // its number may be used again when it has ended
/// ```
pub unsafe trait Threads: Platform {
    /// Returns the calling thread's number.
    fn thread() -> NonZeroU64;
}

#[cfg(feature = "native")]
// SAFETY: the number is the address of memory that belongs to the thread as long as it lives.
unsafe impl Threads for crate::platform::Native {
    #[inline]
    fn thread() -> NonZeroU64 {
        NonZeroU64::new(crate::platform::native::thread_address() as u64).expect("memory is not at address 0")
    }
}

/// A re-entrant mutex without data. All-zero bytes are an unlocked mutex.
///
/// ```
/// use turnwise::{RawLock, RawReentrantMutex};
///
/// let lock = RawReentrantMutex::new();
/// lock.lock();
/// assert!(lock.try_lock(), "its owner may have it again");
/// for _ in 0..2 {
///     // SAFETY: this thread has acquired it twice.
///     unsafe { lock.unlock() };
/// }
/// ```
#[repr(C)]
pub struct RawReentrantMutex<P: Platform = DefaultPlatform> {
    mutex: RawMutex<P>,
    owner: P::U64,
    depth: Cell<u32>,
}

// SAFETY: only the thread that holds the mutex touches `depth` (invariant 2); the rest is made of shared words.
unsafe impl<P: Platform> Sync for RawReentrantMutex<P> {}

raw_constructors!(default RawReentrantMutex, "an unlocked mutex", {
    mutex: [RawMutex<P>],
    owner: U64,
    depth: (Cell::new(0)),
});

impl<P: Platform> RawReentrantMutex<P> {
    /// Releases one acquisition; the last one releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.leave() {
            // SAFETY: contract of `RawLock::unlock`: the caller has the mutex, and `leave` was its last release.
            unsafe { self.mutex.unlock() }
        }
    }

    /// Releases one acquisition; the last one releases the lock and hands it to the longest-sleeping waiter.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    pub unsafe fn unlock_fair(&self) {
        if self.leave() {
            // SAFETY: contract of `RawMutex::unlock_fair`: the caller has the mutex, and `leave` was its last release.
            unsafe { self.mutex.unlock_fair() }
        }
    }

    /// Returns the order checker's name for this lock.
    #[inline]
    fn name(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Decrements the depth; returns whether this was the last acquisition.
    #[inline]
    fn leave(&self) -> bool {
        let depth = self.depth.get() - 1;
        self.depth.set(depth);
        if depth == 0 {
            self.owner.store(0, Relaxed);
        }
        depth == 0
    }

    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        self.mutex.is_locked()
    }

    /// Returns what has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.mutex.stats()
    }
}

impl<P: Threads> RawReentrantMutex<P> {
    /// Acquires the lock, again if this thread already holds it.
    ///
    /// # Panics
    /// If this thread has acquired it `u32::MAX` times.
    #[inline]
    pub fn lock(&self) {
        let me = P::thread();
        // Not the owner first: a load before the exchange would fetch the cache line twice under contention.
        if self.mutex.lock_fast() {
            self.entered(me);
        } else if !self.enter_again(me) {
            self.mutex.lock_contended();
            self.entered(me);
        }
    }

    /// Acquires the lock if it is free or this thread holds it.
    ///
    /// # Panics
    /// If this thread has acquired it `u32::MAX` times.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let me = P::thread();
        self.enter_again(me) || self.mutex.try_lock() && self.entered(me)
    }

    /// Acquires the lock, or gives up at `deadline`; returns whether it acquired it.
    ///
    /// # Panics
    /// If this thread has acquired it `u32::MAX` times.
    pub fn lock_until(&self, deadline: Deadline) -> bool {
        let me = P::thread();
        self.enter_again(me) || self.mutex.lock_until(deadline) && self.entered(me)
    }

    /// Returns whether the calling thread holds the lock.
    pub fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == P::thread().get()
    }

    /// Counts one more acquisition if `me` holds the lock (invariant 1).
    #[inline]
    fn enter_again(&self, me: NonZeroU64) -> bool {
        let mine = self.owner.load(Relaxed) == me.get();
        if mine {
            let Some(depth) = self.depth.get().checked_add(1) else { too_deep() };
            self.depth.set(depth);
            self.mutex.counters.count(Event::Recursed);
        }
        mine
    }

    /// Stores the owner after the mutex has been acquired; always returns `true`.
    #[inline]
    fn entered(&self, me: NonZeroU64) -> bool {
        self.owner.store(me.get(), Relaxed);
        self.depth.set(1);
        true
    }
}

// SAFETY: contract of `RawLock`: the mutex inside admits one thread, and orders the owners.
unsafe impl<P: Threads> RawLock for RawReentrantMutex<P> {
    const REENTRANT: bool = true;
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    #[inline]
    fn lock(&self) {
        self.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `RawLock::unlock`: the calling thread has the lock.
        unsafe { self.unlock() }
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.stats()
    }
}

#[cold]
fn too_deep() -> ! {
    panic!("a thread acquired a re-entrant mutex u32::MAX times")
}

impl<P: Platform> fmt::Debug for RawReentrantMutex<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawReentrantMutex").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}

/// A mutex that its owner may lock again; since several guards may be alive at a time, each gives only `&T`. Put a
/// `Cell` or `RefCell` inside to change data.
///
/// It waits as [`crate::Mutex`] does, and does not poison.
///
/// ```
/// use std::cell::Cell;
/// use turnwise::ReentrantMutex;
///
/// static DEPTH: ReentrantMutex<Cell<u32>> = ReentrantMutex::new(Cell::new(0));
///
/// fn descend(levels: u32) {
///     let depth = DEPTH.lock();
///     depth.set(depth.get() + 1);
///     if levels > 1 {
///         descend(levels - 1);
///     }
/// }
/// descend(3);
/// assert_eq!(DEPTH.lock().get(), 3);
/// ```
pub struct ReentrantMutex<T: ?Sized, P: Platform = DefaultPlatform> {
    raw: RawReentrantMutex<P>,
    class: Class,
    data: UnsafeCell<T>,
}

// SAFETY: one thread at a time gets `&T`, so sharing the mutex only moves `T` between threads.
unsafe impl<T: ?Sized + Send, P: Platform> Sync for ReentrantMutex<T, P> {}
// SAFETY: the mutex owns its data, and its words are `Send`.
unsafe impl<T: ?Sized + Send, P: Platform> Send for ReentrantMutex<T, P> {}

own_constructors!(ReentrantMutex<T>, RawReentrantMutex, data: UnsafeCell, "an unlocked mutex");

impl<T, P: Platform> ReentrantMutex<T, P> {
    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized, P: Threads> ReentrantMutex<T, P> {
    /// Acquires the lock, again if this thread already holds it.
    ///
    /// # Panics
    /// If this thread has acquired it `u32::MAX` times.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T, P> {
        self.before();
        self.raw.lock();
        self.guard()
    }

    /// Acquires the lock if it is free or this thread holds it.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T, P>> {
        if self.raw.try_lock() { Some(self.guard()) } else { None }
    }

    /// Acquires the lock, or gives up after `timeout`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<ReentrantMutexGuard<'_, T, P>> {
        self.try_lock_until(Deadline::after::<P>(timeout))
    }

    /// Acquires the lock, or gives up at `deadline`.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn try_lock_until(&self, deadline: Deadline) -> Option<ReentrantMutexGuard<'_, T, P>> {
        self.before();
        if self.raw.lock_until(deadline) { Some(self.guard()) } else { None }
    }

    /// Has the order checker check an acquisition. An owner does not wait: only its first acquisition is checked.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn before(&self) {
        if cfg!(feature = "order-check") && !self.raw.is_mine() {
            self.class.before(self.raw.name(), How::Write);
        }
    }

    /// Returns whether the calling thread holds the lock.
    pub fn is_mine(&self) -> bool {
        self.raw.is_mine()
    }

    /// Creates a guard of the lock, which this thread has just acquired.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn guard(&self) -> ReentrantMutexGuard<'_, T, P> {
        if self.raw.depth.get() == 1 {
            self.class.acquired(self.raw.name(), How::Write);
        }
        // SAFETY: the pointer of a cell is not null.
        let data = unsafe { NonNull::new_unchecked(self.data.get()) };
        ReentrantMutexGuard { raw: &self.raw, data, shares: PhantomData }
    }
}

impl<T: ?Sized, P: Platform> ReentrantMutex<T, P> {
    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns the value, without locking: the exclusive borrow proves that no other thread has access to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns the lock without the data.
    pub fn raw(&self) -> &RawReentrantMutex<P> {
        &self.raw
    }

    /// Returns a pointer to the data; reading it without the lock is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.get()
    }

    /// Returns what has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }
}

impl<T: ?Sized + fmt::Debug, P: Threads> fmt::Debug for ReentrantMutex<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_data(f.debug_struct("ReentrantMutex"), self.try_lock())
    }
}

/// One acquisition of a [`ReentrantMutex`], giving access to all or part of the data; released when dropped.
///
/// ```
/// use turnwise::{ReentrantMutex, ReentrantMutexGuard};
///
/// let lock = ReentrantMutex::new(7);
/// let first = lock.lock();
/// let second = lock.lock();
/// assert_eq!((*first, ReentrantMutexGuard::depth(&second)), (7, 2));
/// ```
#[must_use = "the lock is released at once if the guard is dropped"]
pub struct ReentrantMutexGuard<'a, T: ?Sized, P: Platform = DefaultPlatform> {
    raw: &'a RawReentrantMutex<P>,
    data: NonNull<T>,
    /// Data that the guard shares. (The pointer keeps the guard from being `Send`: the thread owns the acquisition.)
    shares: PhantomData<&'a T>,
}

// SAFETY: a shared guard gives only `&T`.
unsafe impl<T: ?Sized + Sync, P: Platform> Sync for ReentrantMutexGuard<'_, T, P> {}

impl<'a, T: ?Sized, P: Platform> ReentrantMutexGuard<'a, T, P> {
    /// Turns the guard into one of a part of the data.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> ReentrantMutexGuard<'a, U, P> {
        // SAFETY: contract of `RawLock` (1): the guard has the lock, and the new one has it after this.
        let data = NonNull::from(part(unsafe { this.data.as_ref() }));
        let raw = this.raw;
        mem::forget(this);
        ReentrantMutexGuard { raw, data, shares: PhantomData }
    }

    /// Returns the number of acquisitions by this thread that are not yet released, including this one.
    #[must_use]
    pub fn depth(this: &Self) -> u32 {
        this.raw.depth.get()
    }

    /// Releases this acquisition; if it was the last, hands the lock to the longest-sleeping waiter.
    pub fn unlock_fair(this: Self) {
        let raw = this.raw;
        mem::forget(this);
        released_by_last(raw);
        // SAFETY: contract of `RawReentrantMutex::unlock_fair`: the forgotten guard had the lock.
        unsafe { raw.unlock_fair() }
    }
}

/// Notifies the order checker if the lock is about to be released.
#[inline]
fn released_by_last<P: Platform>(raw: &RawReentrantMutex<P>) {
    if raw.depth.get() == 1 {
        released(raw.name());
    }
}

impl<T: ?Sized, P: Platform> Deref for ReentrantMutexGuard<'_, T, P> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: contract of `RawLock` (1): the guard has the lock, and no guard gives `&mut T`.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized, P: Platform> Drop for ReentrantMutexGuard<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        released_by_last(self.raw);
        // SAFETY: contract of `RawReentrantMutex::unlock`: the guard has the lock, on this thread, since it cannot be
        // sent to another.
        unsafe { self.raw.unlock() }
    }
}

shows_data!([T: ?Sized, P: Platform] ReentrantMutexGuard<'_, T, P>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "u32::MAX times")]
    fn a_lock_that_is_too_deep_panics_and_changes_nothing() {
        let lock = RawReentrantMutex::new();
        lock.lock();
        lock.depth.set(u32::MAX);
        lock.lock();
    }
}
