//! The sequence lock without data, with three kinds of access. (The sequence read/write lock of W. Long's dcache
//! patches, 2013; the kernel's later `read_seqlock_excl` is a narrower relative of it. Sequence locks in the language's
//! memory model: H. Boehm, 2012.) Example: [`RawSeqRwLock`].
//!
//! | access | excludes | changes | is invalidated by |
//! |---|---|---|---|
//! | optimistic read | nothing | nothing | a writer: read again |
//! | blocking read | writers | the readers-writer lock | nothing |
//! | write | writers and blocking readers | that lock, and the sequence twice | nothing |
//!
//! ```text
//! begin          an even sequence (acquire); it is odd: poll for still_ns / 8, then load it under the read lock
//! retry          fence (acquire); the sequence is another: what was read is void. Second pass: under the read lock
//! blocking read  the read lock; unlock: release it
//! write          the write lock; sequence + 1: odd; fence (release); the change
//! unlock         sequence + 1 (release): even; release the write lock
//! ```
//!
//! Two words, zero: unlocked. The sequence is even while the data are whole and odd while a writer changes them; in 64
//! bits it never wraps around. The other word is a [`RawRwSem`], which does all the waiting.
//!
//! Invariants:
//! 1. Only the thread that has the write lock changes the sequence, so a plain store suffices.
//! 2. Data are changed only between the two stores to the sequence, by the thread that makes those.
//! 3. The write lock is released after the second store: a thread that has the lock in either way sees an even
//!    sequence, unless it is the writer itself.
//! 4. The release of the lock is the last access, in every kind.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. What an optimistic read accepts is whole, and no older than its sequence (seqrwlock.begin, seqrwlock.check).
//! - A2. Nothing changes under a blocking reader, which leaves the sequence as it is. Writers and blocking readers are
//!   those of [`RawRwSem`], with its A1 and A3.
//! - P1. A read in two passes ends after the second, which holds the read lock; an optimistic one alone may fail for
//!   ever.
//! - P2. Writers wait for no optimistic reader; all waits but the short poll are those of [`RawRwSem`], P1 to P5.

use crate::platform::{Deadline, DefaultPlatform, Platform, SpinLimit, Word};
use crate::raw::{GuardNoSend, RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwsem::RawRwSem;
use crate::wait::policy;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A sequence lock without data. All-zero bytes are an unlocked lock.
///
/// It is for data structures made of atomics, which readers traverse while a writer changes them. The results of a
/// traversal are valid only after [`RawSeqRwLock::read_retry`] or [`SeqReader::retry`] has returned `false`.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use turnwise::RawSeqRwLock;
///
/// static LOCK: RawSeqRwLock = RawSeqRwLock::new();
/// static PARTS: [AtomicU64; 2] = [AtomicU64::new(7), AtomicU64::new(7)];
/// let [low, high] = LOCK.read_with(|| [0, 1].map(|part: usize| PARTS[part].load(Relaxed)));
/// assert_eq!(low, high);
/// ```
#[repr(C)]
pub struct RawSeqRwLock<P: Platform = DefaultPlatform> {
    sequence: P::U64,
    lock: RawRwSem<P>,
}

raw_constructors!(default RawSeqRwLock, "an unlocked lock", { sequence: U64, lock: [RawRwSem<P>], });

const fn is_even(sequence: u64) -> bool {
    sequence & 1 == 0
}

/// Optimistic reads.
impl<P: Platform> RawSeqRwLock<P> {
    /// Begins an optimistic read if no writer is changing the data; returns the sequence.
    #[inline(always)]
    pub fn try_read_begin(&self) -> Option<u64> {
        // ORDERING seqrwlock.begin: pairs with seqrwlock.end: with a sequence we see its data, or newer.
        let sequence = self.sequence.load(Acquire);
        is_even(sequence).then_some(sequence)
    }

    /// Begins an optimistic read; waits while a writer is changing the data.
    #[inline]
    pub fn read_begin(&self) -> u64 {
        self.try_read_begin().unwrap_or_else(|| self.read_begin_slow())
    }

    /// Returns whether what was read since [`RawSeqRwLock::read_begin`] returned `begin` may be inconsistent.
    #[inline(always)]
    pub fn read_retry(&self, begin: u64) -> bool {
        // ORDERING seqrwlock.check: pairs with seqrwlock.change: having read what a writer wrote, we see its sequence.
        P::U32::fence(Acquire);
        self.sequence.load(Relaxed) != begin
    }

    /// Begins an optimistic read, after a short spin for the end of a change (an eighth of `still_ns`).
    pub(super) fn read_begin_spinning(&self) -> Option<u64> {
        self.try_read_begin().or_else(|| {
            let until = Some(P::now().saturating_add(policy().still_ns / 8));
            let _ = P::spin_until(&self.sequence, is_even, SpinLimit { until, ..SpinLimit::NONE });
            self.try_read_begin()
        })
    }

    #[cold]
    #[inline(never)]
    fn read_begin_slow(&self) -> u64 {
        self.read_begin_spinning().unwrap_or_else(|| {
            self.lock.read();
            let sequence = self.sequence.load(Relaxed); // even (invariant 3)
            // SAFETY: contract of `unlock_read`: this thread has just acquired the lock for reading.
            unsafe { self.lock.unlock_read() };
            sequence
        })
    }

    /// Runs `walk` optimistically; if a writer interfered, once more with the lock held for reading. So it runs at most
    /// twice, and the result of the first run may be dropped.
    #[inline]
    pub fn read_with<R>(&self, mut walk: impl FnMut() -> R) -> R {
        let mut reader = self.reader();
        loop {
            let result = walk();
            if !reader.retry() {
                return result;
            }
        }
    }

    /// Begins a read in up to two passes.
    #[inline]
    pub fn reader(&self) -> SeqReader<'_, P> {
        let begin = self.read_begin_spinning();
        if begin.is_none() {
            self.lock.read();
        }
        SeqReader { lock: self, begin, not_send: PhantomData }
    }
}

/// Writes.
impl<P: Platform> RawSeqRwLock<P> {
    /// Returns the lock that keeps writers and blocking readers apart: a writer that only holds it has not yet
    /// invalidated any optimistic read.
    pub(super) fn inner(&self) -> &RawRwSem<P> {
        &self.lock
    }

    /// Makes the sequence odd. The caller has the write lock (invariant 1).
    #[inline(always)]
    pub(super) fn begin_change(&self) {
        self.sequence.store(self.sequence.load(Relaxed) + 1, Relaxed);
        // ORDERING seqrwlock.change: pairs with seqrwlock.check: the odd sequence comes before the data.
        P::U32::fence(Release);
    }

    /// Begins a change if the write lock was acquired; returns whether it was.
    #[inline(always)]
    fn begins(&self, acquired: bool) -> bool {
        if acquired {
            self.begin_change();
        }
        acquired
    }

    /// Makes the sequence even. The caller has the write lock (invariant 1).
    #[inline(always)]
    pub(super) fn end_change(&self) {
        let next = self.sequence.load(Relaxed) + 1;
        // ORDERING seqrwlock.end: pairs with seqrwlock.begin: the data come before the even sequence.
        self.sequence.store(next, Release);
    }

    /// Returns whether a writer currently holds the lock.
    pub fn is_write_locked(&self) -> bool {
        self.lock.is_write_locked()
    }
}

// SAFETY: writers have the write lock of a `RawRwSem`, which satisfies the contract, and is released after the change
// (invariant 3).
unsafe impl<P: Platform> RawLock for RawSeqRwLock<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    /// Acquires the lock for writing: excludes writers and blocking readers, and invalidates optimistic reads until
    /// [`RawLock::unlock`].
    #[inline]
    fn lock(&self) {
        self.lock.lock();
        self.begin_change();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.begins(self.lock.try_lock())
    }

    /// Ends the change, and releases the write lock.
    #[inline]
    unsafe fn unlock(&self) {
        self.end_change();
        // SAFETY: contract of `unlock`: the caller has the write lock.
        unsafe { self.lock.unlock() }
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Returns what has happened so far to the lock that writers and blocking readers take. Optimistic reads are not
    /// counted.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.lock.stats()
    }
}

// SAFETY: it acquires as `lock` does.
unsafe impl<P: Platform> RawTimedLock for RawSeqRwLock<P> {
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.begins(self.lock.lock_until(deadline))
    }
}

/// Blocking reads: any number at a time, and no writer. The sequence stays as it is.
// SAFETY: blocking readers have the read lock of the `RawRwSem` that writers have.
unsafe impl<P: Platform> RawRwLock for RawSeqRwLock<P> {
    #[inline]
    fn read(&self) {
        self.lock.read();
    }

    #[inline]
    fn try_read(&self) -> bool {
        self.lock.try_read()
    }

    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: contract of `unlock_read`, which is that of the lock inside.
        unsafe { self.lock.unlock_read() }
    }
}

// SAFETY: it acquires as `read` does.
unsafe impl<P: Platform> RawTimedRwLock for RawSeqRwLock<P> {
    #[inline]
    fn read_until(&self, deadline: Deadline) -> bool {
        self.lock.read_until(deadline)
    }
}

shows!([P: Platform] RawSeqRwLock<P>, |lock| sequence: lock.sequence.load(Relaxed), locked: lock.is_locked());

/// A read in up to two passes: the first is optimistic, the second holds the lock for reading. If a writer is changing
/// the data at the start, and stays, there is only the second.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// let (lock, part) = (turnwise::RawSeqRwLock::new(), AtomicU64::new(7));
/// let (mut reader, mut seen) = (lock.reader(), part.load(Relaxed));
/// while reader.retry() {
///     seen = part.load(Relaxed); // what the first pass has read is void
/// }
/// assert_eq!(seen, 7);
/// ```
#[must_use = "what was read is valid only once `retry` has returned `false`"]
pub struct SeqReader<'a, P: Platform = DefaultPlatform> {
    lock: &'a RawSeqRwLock<P>,
    /// The sequence at which an optimistic pass began; `None` if the lock is held for reading.
    begin: Option<u64>,
    /// Keeps the reader on its thread, which alone may release the lock.
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared reader only reports whether it is in its second pass.
unsafe impl<P: Platform> Sync for SeqReader<'_, P> {}

impl<P: Platform> SeqReader<'_, P> {
    /// Ends a pass. Returns `true` if its results must be discarded and another pass, the last, made; `false` if it saw
    /// consistent data: after the second pass the lock is then still held, until the reader is dropped.
    #[inline]
    pub fn retry(&mut self) -> bool {
        let spoilt = self.begin.is_some_and(|begin| self.lock.read_retry(begin));
        if spoilt {
            self.lock.read();
            self.begin = None;
        }
        spoilt
    }

    /// Returns whether the lock is held, so that nothing can change.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.begin.is_none()
    }
}

shows!([P: Platform] SeqReader<'_, P>, |reader| blocking: reader.is_blocking());

impl<P: Platform> Drop for SeqReader<'_, P> {
    #[inline]
    fn drop(&mut self) {
        if self.is_blocking() {
            // SAFETY: contract of `RawRwLock::unlock_read`: `RawSeqRwLock::reader` or `retry` acquired the lock.
            unsafe { self.lock.unlock_read() };
        }
    }
}
