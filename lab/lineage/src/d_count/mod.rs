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
//! that found the dentry without a reference gets one by [`Count::get_live`].

mod lockref;
mod words;

use core::fmt::Debug;
use turnwise::platform::{DefaultPlatform, Platform};
use turnwise::raw::RawLock;

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

/// A dentry's lock (`d_lock`) with its reference count.
///
/// | operation | needs | count |
/// |---|---|---|
/// | [`get`](Count::get) | a reference | + 1 |
/// | [`get_live`](Count::get_live) | that the memory is there | + 1, from 0 too, unless it is dead |
/// | [`put`](Count::put) | a reference | - 1 |
/// | [`kill_unused`](Count::kill_unused) | that the memory is there | dead, if it is 0 |
///
/// Invariants, on which a dentry cache rests:
/// 1. Dead is final: after it no `get_live` succeeds, and exactly one `kill_unused` returns that it did it.
/// 2. While a thread has the lock and the count is 1 or 0, no other thread changes the count.
/// 3. A `put` that brings the count to 0 sees what all threads did before their puts.
/// 4. A `get_live` that fails has waited for the end of the `kill_unused` that made it dead, `at_kill` included.
/// 5. After a `put` has given its reference back, it does not touch the count any more, and neither does `get`,
///    `get_live` or `kill_unused` after its last change.
pub trait Count: RawLock {
    /// Creates an unlocked count of this many references, below 2^31. As in the kernel (`__d_alloc`), that does not
    /// access a shared word.
    #[must_use]
    fn with_references(count: u32) -> Self;
    /// Adds a reference to those that the caller has (`dget`); returns whether that took the lock, if it can tell. The
    /// count must stay below 2^31.
    fn get(&self) -> bool;
    /// Adds a reference for a caller that has none, unless the count is dead; returns whether it did
    /// (`lockref_get_not_dead`).
    #[must_use = "without a reference the object may go away"]
    fn get_live(&self) -> bool;
    /// Adds a reference without the lock if there are two or more (`dget_parent` of the paper); returns whether it did.
    /// Needs what `get_live` needs, and may return `false` without checking.
    #[must_use = "without a reference the object may go away"]
    fn get_above_one(&self) -> bool {
        false
    }
    /// If there is no reference and it is not dead: runs `at_kill` with the lock held, then marks it dead; returns
    /// whether it did.
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool;
    /// Drops a reference. If it is the last, `at_last` runs first, with the lock held and the count at 1: there the
    /// kernel puts the dentry on its list of unused ones.
    fn put_with(&self, at_last: impl FnOnce()) -> Put;
    /// Drops a reference (`dput`).
    #[inline]
    fn put(&self) -> Put {
        self.put_with(|| ())
    }
    /// Drops a reference unless it is the last; returns whether it did. May return `false` without checking.
    #[inline]
    fn put_unless_last(&self) -> bool {
        false
    }
    /// Drops a reference, the last one without the lock where there is a fast path for that; returns whether it was
    /// the last.
    #[inline]
    fn put_quickly(&self) -> bool {
        self.put().last
    }
    /// Returns the count at this moment.
    fn count(&self) -> u32;
}

/// A version of the count. The three types below are all there are.
pub trait Policy: crate::sealed::Sealed + Send + Sync + 'static {
    /// The count.
    type Words<P: Platform>: Count<Platform = P> + Debug;
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
pub type DCount<V, P = DefaultPlatform> = <V as Policy>::Words<P>;

/// Today's.
impl<P: Platform> Count for turnwise::LockRef<P> {
    fn with_references(count: u32) -> Self {
        Self::new_in(count)
    }

    /// It does not tell whether it took the lock.
    #[inline]
    fn get(&self) -> bool {
        self.get();
        false
    }

    #[inline]
    fn get_live(&self) -> bool {
        self.get_not_dead().is_some()
    }

    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        let locked = self.lock();
        let unused = locked.count() == 0 && !locked.is_dead();
        if unused {
            at_kill();
            locked.mark_dead();
        }
        unused
    }

    #[inline]
    fn put_with(&self, at_last: impl FnOnce()) -> Put {
        let Some(locked) = self.put_or_lock() else { return Put { last: false, locked: false } };
        at_last();
        locked.put();
        Put { last: true, locked: true }
    }

    #[inline]
    fn put_unless_last(&self) -> bool {
        self.put_not_last()
    }

    #[inline]
    fn put_quickly(&self) -> bool {
        self.put() == 0
    }

    #[inline]
    fn count(&self) -> u32 {
        self.count()
    }
}

const _: () = assert!(size_of::<DCount<UnderLock>>() == 12 && size_of::<DCount<CmpXchg>>() == 12);
const _: () = assert!(size_of::<DCount<LockRef>>() == 8, "lock and count in one word");
