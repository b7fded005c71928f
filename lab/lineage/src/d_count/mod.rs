//! A dentry's reference count, the subject of `dcache`: every change under the dentry's spin lock (Linux 3.10-rc1), by
//! compare-exchange with the lock only at the edge (W. Long's first three versions, 2013), and in one word with the
//! lock (the lockref of his versions four to eight).
//!
//! | policy | words | a count above 1 changes | else |
//! |---|---|---|---|
//! | [`UnderLock`] | ticket lock, count: 12 bytes | under `d_lock` | under `d_lock` |
//! | [`CmpXchg`] | ticket lock, count: 12 bytes | by compare-exchange, even if `d_lock` is held | under `d_lock` |
//! | [`LockRef`] | both in one word: 8 bytes | by compare-exchange while the lock is free, else under it | likewise, but the last put under it |
//!
//! Invariants:
//! 1. The count falls to 0 only under `d_lock`, by a put that finds 1 there.
//! 2. While a thread has `d_lock` and the count is 1 or 0, no other changes the count.
//! 3. The release of `d_lock`, or the exchange that changes the count, is the last access of an operation.
//! 4. A count is marked dead only under `d_lock`, at 0, and never changes again.
//!
//! A dentry with a count of 0 stays in the cache: the next get makes it 1 again, unless the dentry was killed. A thread
//! that found the dentry without a reference gets one by [`DCount::get_live`].

mod lockref;
mod words;

use turnwise::platform::{DefaultPlatform, Platform};
use turnwise::raw::{GuardNoSend, RawLock};

pub use lockref::OneWord;
pub use words::TwoWords;

/// The result of a put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Put {
    /// Whether the count fell to 0.
    pub last: bool,
    /// Whether the put took `d_lock`.
    pub locked: bool,
}

/// The value of a dead count.
const DEAD: u32 = 1 << 31;

/// The words of a count, and how they change.
pub trait Words: Send + Sync + 'static {
    /// The type of `d_lock`.
    type Lock: RawLock;
    /// Creates words with this many references, unlocked.
    fn with_references(count: u32) -> Self;
    /// Returns `d_lock`: a part of the words, or all of them.
    fn d_lock(&self) -> &Self::Lock;
    /// Adds a reference; returns whether it took the lock.
    fn get(&self) -> bool;
    /// Adds a reference unless the count is dead; returns whether it did.
    fn get_live(&self) -> bool;
    /// Adds a reference without the lock if the count is above 1; returns whether it did.
    fn get_above_one(&self) -> bool {
        false
    }
    /// Marks a count of 0 dead, after `at_kill`, under the lock; returns whether it did.
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool;
    /// Drops a reference.
    fn put_with(&self, at_last: impl FnOnce()) -> Put;
    /// Returns the count at this moment.
    fn count(&self) -> u32;
}

/// A version of the count. The three types below are all there are.
pub trait Policy: crate::sealed::Sealed + Send + Sync + 'static {
    /// The type of the words.
    type Words<P: Platform>: Words;
}

versions! {
    /// The count of Linux 3.10-rc1: every change takes the lock.
    UnderLock { type Words<P: Platform> = TwoWords<false, P>; }
    /// The paper's third version: compare-exchange while the count is above 1, the lock at the edge.
    CmpXchg { type Words<P: Platform> = TwoWords<true, P>; }
    /// The lockref as it was merged into Linux 3.12: no bound on the retries.
    LockRef { type Words<P: Platform> = OneWord<P>; }
}

/// The count, with its lock, in the version `V`. Zero bytes: no references, unlocked.
#[repr(transparent)]
pub struct DCount<V: Policy, P: Platform = DefaultPlatform> {
    words: V::Words<P>,
}

lock_basics!(DCount<V>, |lock| count: lock.count());

// SAFETY: `d_lock` is a ticket lock, or a half of one word that is one; guards stay on their thread, whose preemption
// is off.
unsafe impl<V: Policy, P: Platform> RawLock for DCount<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    /// Creates an unlocked count without references, on any platform.
    fn new_in() -> Self {
        DCount::with_references_in(0)
    }

    /// Acquires the lock (`d_lock`).
    #[inline]
    fn lock(&self) {
        self.words.d_lock().lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.words.d_lock().try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `RawLock::unlock`, which is the caller's, too: it has the lock.
        unsafe { self.words.d_lock().unlock() };
    }

    fn is_locked(&self) -> bool {
        self.words.d_lock().is_locked()
    }
}

impl<V: Policy, P: Platform> DCount<V, P> {
    /// Creates an unlocked count with this many references, below 2^31, on any platform. As in the kernel
    /// (`__d_alloc`), that does not access a shared word.
    #[must_use]
    pub fn with_references_in(count: u32) -> Self {
        DCount { words: Words::with_references(count) }
    }

    /// Adds a reference (`dget`); returns whether that took the lock. The count must stay below 2^31.
    #[inline]
    pub fn get(&self) -> bool {
        self.words.get()
    }

    /// Adds a reference for a caller that has none but knows that the memory is still there; `false` if the count is
    /// dead (`lockref_get_not_dead`).
    #[inline]
    #[must_use = "without a reference the object may go away"]
    pub fn get_live(&self) -> bool {
        self.words.get_live()
    }

    /// Adds a reference for a caller that has none but knows that the memory is still there, if the count is above 1
    /// and the version needs no lock for that (`dget_parent` of the paper); returns whether it did.
    #[inline]
    #[must_use = "without a reference the object may go away"]
    pub fn get_above_one(&self) -> bool {
        self.words.get_above_one()
    }

    /// If there is no reference, runs `at_kill` with the lock held and then marks the count dead: from now on
    /// [`DCount::get_live`] returns `false`. Returns whether it did; `false` also if the count was dead before.
    #[inline]
    pub fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        self.words.kill_unused(at_kill)
    }

    /// Drops a reference (`dput`).
    #[inline]
    pub fn put(&self) -> Put {
        self.put_with(|| ())
    }

    /// Drops a reference. If it is the last, `at_last` runs first, with the lock held and the count at 1: there the
    /// kernel puts the dentry on its list of unused ones.
    #[inline]
    pub fn put_with(&self, at_last: impl FnOnce()) -> Put {
        self.words.put_with(at_last)
    }

    /// Returns the count at this moment.
    pub fn count(&self) -> u32 {
        self.words.count()
    }
}

const _: () = assert!(size_of::<DCount<UnderLock>>() == 12 && size_of::<DCount<CmpXchg>>() == 12);
const _: () = assert!(size_of::<DCount<LockRef>>() == 8, "lock and count in one word");
