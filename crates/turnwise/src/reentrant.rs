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
use crate::lock::{Lock, LockGuard, MappedLockGuard};
use crate::mutex::RawMutex;
use crate::order::released;
use crate::platform::{Deadline, DefaultPlatform, Platform, Word};
use crate::raw::{GuardNoSend, RawLock, RawTimedLock};
use core::cell::Cell;
use core::mem::forget;
use core::num::NonZeroU64;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

/// A platform that can distinguish its threads, including those without a slot.
///
/// # Safety
/// No two live threads get the same number, and a thread always gets the same one.
///
/// ```
/// use turnwise::{platform::DefaultPlatform, reentrant::Threads};
///
/// assert_eq!(DefaultPlatform::thread(), DefaultPlatform::thread());
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
}

impl<P: Threads> RawReentrantMutex<P> {
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
    const NAME: &'static str = "ReentrantMutex";
    const REENTRANT: bool = true;
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    /// Acquires the lock, again if this thread already holds it.
    ///
    /// # Panics
    /// If this thread has acquired it `u32::MAX` times.
    #[inline]
    fn lock(&self) {
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
    fn try_lock(&self) -> bool {
        let me = P::thread();
        self.enter_again(me) || self.mutex.try_lock() && self.entered(me)
    }

    /// Releases one acquisition; the last one releases the lock.
    #[inline]
    unsafe fn unlock(&self) {
        if self.leave() {
            // SAFETY: contract of `RawLock::unlock`: the caller has the mutex, and `leave` was its last release.
            unsafe { self.mutex.unlock() }
        }
    }

    fn is_locked(&self) -> bool {
        self.mutex.is_locked()
    }

    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.mutex.stats()
    }
}

// SAFETY: it acquires as `try_lock` does, or by the mutex inside.
unsafe impl<P: Threads> RawTimedLock for RawReentrantMutex<P> {
    /// Acquires the lock, or gives up at `deadline`; returns whether it acquired it.
    ///
    /// # Panics
    /// If this thread has acquired it `u32::MAX` times.
    fn lock_until(&self, deadline: Deadline) -> bool {
        let me = P::thread();
        self.enter_again(me) || self.mutex.lock_until(deadline) && self.entered(me)
    }
}

#[cold]
fn too_deep() -> ! {
    panic!("a thread acquired a re-entrant mutex u32::MAX times")
}

shows!([P: Platform] RawReentrantMutex<P>, |lock| locked: lock.mutex.is_locked());

/// A mutex that its owner may lock again; since several guards may be alive at a time, each gives only `&T`. Put a
/// `Cell` or `RefCell` inside to change data.
///
/// It waits as [`crate::Mutex`] does, and does not poison. Its owner gets it at once, also by a try; one acquisition
/// more than `u32::MAX` is a panic that changes nothing.
///
/// ```
/// use std::cell::Cell;
/// use turnwise::ReentrantMutex;
///
/// static DEPTH: ReentrantMutex<Cell<u32>> = ReentrantMutex::new(Cell::new(0));
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
pub type ReentrantMutex<T, P = DefaultPlatform> = Lock<RawReentrantMutex<P>, T>;

#[cfg(feature = "native")]
data_constructors!(new Lock, RawReentrantMutex [] [], "an unlocked mutex");
data_constructors!(const Lock, RawReentrantMutex [] [], "an unlocked mutex", Threads);

impl<T: ?Sized, P: Threads> Lock<RawReentrantMutex<P>, T> {
    /// Returns whether the calling thread holds the lock.
    pub fn is_mine(&self) -> bool {
        self.raw().is_mine()
    }
}

/// One acquisition of a [`ReentrantMutex`]; released when dropped.
///
/// ```
/// use turnwise::{ReentrantMutex, ReentrantMutexGuard};
///
/// let lock = ReentrantMutex::new(7);
/// let (mut first, _second) = (lock.lock(), lock.lock());
/// assert_eq!(ReentrantMutexGuard::depth(&mut first), 2);
/// ```
pub type ReentrantMutexGuard<'a, T, P = DefaultPlatform> = LockGuard<'a, RawReentrantMutex<P>, T>;

/// Defines the further methods of a guard of all or part of the data. (`map` gives `&mut T`: it does not compile.)
macro_rules! reentrant_guard {
    ($guard:ident) => {
        impl<'a, T: ?Sized, P: Threads> $guard<'a, RawReentrantMutex<P>, T> {
            /// Turns the guard into one of a part of the data.
            pub fn map_shared<U: ?Sized>(
                this: Self,
                part: impl FnOnce(&T) -> &U,
            ) -> MappedLockGuard<'a, RawReentrantMutex<P>, U> {
                let (raw, data) = ($guard::raw(&this), NonNull::from(part(&*this)));
                forget(this);
                // SAFETY: contract of `new`: the forgotten guard had the lock, which protects its data.
                unsafe { MappedLockGuard::new(raw, data) }
            }

            /// Returns the number of acquisitions by this thread that are not yet released, including this one.
            /// (Exclusively: a guard may be shared with other threads, its count may not.)
            #[must_use]
            pub fn depth(this: &mut Self) -> u32 {
                $guard::raw(this).depth.get()
            }

            /// Releases this acquisition; if it was the last, hands the lock to the longest-sleeping waiter.
            pub fn unlock_fair(this: Self) {
                let raw = $guard::raw(&this);
                forget(this);
                released(core::ptr::from_ref(raw).addr());
                // SAFETY: contract of `RawReentrantMutex::unlock_fair`: the forgotten guard had the lock.
                unsafe { raw.unlock_fair() }
            }
        }
    };
}

reentrant_guard!(LockGuard);
reentrant_guard!(MappedLockGuard);

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
