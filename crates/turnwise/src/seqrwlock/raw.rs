//! The sequence lock without data, with three kinds of access.
//!
//! | access | shuts out | changes | is spoiled by |
//! |---|---|---|---|
//! | optimistic read | nobody | nothing | a writer: read again |
//! | blocking read | writers | the readers-writer lock | nobody |
//! | write | writers and blocking readers | that lock, and the sequence twice | nobody |
//!
//! (The sequence read/write lock of W. Long's dcache patches, 2013; the kernel's `read_seqlock_excl` has since become
//! its narrower relative. Sequence locks in the language's memory model: H. Boehm, 2012.)
//!
//! Two words, zero: unlocked. The sequence is even while the data are whole and odd while a writer changes them; in
//! 64 bits it never comes round. The other word is a [`RawRwSem`], which does all the waiting.
//!
//! Invariants:
//! 1. Only who has the write lock changes the sequence, so a plain store will do.
//! 2. Data are changed only between the two stores to the sequence, by the thread that makes them.
//! 3. The write lock is released after the second store: who has the lock in either way sees an even sequence, unless
//!    it is the writer itself.
//! 4. Releasing the lock is the last access, in every kind.

use crate::platform::{Deadline, DefaultPlatform, Platform, SpinLimit, Word};
use crate::rwsem::RawRwSem;
use crate::wait::policy;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How long an optimistic reader that meets a writer looks for the end of the change before it takes the lock, where
/// The lock without data. Zero bytes = unlocked.
///
/// For data structures made of atomics, which readers walk while a writer changes them. What a walk has seen is worth
/// something only after [`RawSeqRwLock::read_retry`] or [`SeqReader::retry`] said `false`.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use turnwise::RawSeqRwLock;
///
/// static LOCK: RawSeqRwLock = RawSeqRwLock::new();
/// static PARTS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
///
/// fn both() -> [u64; 2] {
///     LOCK.read_with(|| [0, 1].map(|part: usize| PARTS[part].load(Relaxed)))
/// }
///
/// LOCK.write();
/// PARTS.iter().for_each(|part| part.store(7, Relaxed));
/// // SAFETY: locked above.
/// unsafe { LOCK.unlock_write() };
/// assert_eq!(both(), [7, 7]);
/// ```
#[repr(C)]
pub struct RawSeqRwLock<P: Platform = DefaultPlatform> {
    sequence: P::U64,
    lock: RawRwSem<P>,
}

impl RawSeqRwLock {
    /// An unlocked lock.
    #[must_use]
    pub const fn new() -> Self {
        RawSeqRwLock { sequence: core::sync::atomic::AtomicU64::new(0), lock: RawRwSem::new() }
    }
}

impl Default for RawSeqRwLock {
    fn default() -> Self {
        Self::new()
    }
}

const fn is_even(sequence: u64) -> bool {
    sequence & 1 == 0
}

/// The optimistic read.
impl<P: Platform> RawSeqRwLock<P> {
    /// An unlocked lock on any platform.
    pub fn new_in() -> Self {
        RawSeqRwLock { sequence: P::U64::new(0), lock: RawRwSem::new_in() }
    }

    /// Begins an optimistic read if no writer is at the data: the sequence.
    #[inline(always)]
    pub fn try_read_begin(&self) -> Option<u64> {
        // ORDERING seqrwlock.begin: pairs with seqrwlock.end: who sees its sequence sees its data, or newer.
        let sequence = self.sequence.load(Acquire);
        is_even(sequence).then_some(sequence)
    }

    /// Begins an optimistic read; waits while a writer is at the data.
    #[inline]
    pub fn read_begin(&self) -> u64 {
        self.try_read_begin().unwrap_or_else(|| self.read_begin_slow())
    }

    /// Whether what was read since [`RawSeqRwLock::read_begin`] returned `begin` may be torn or mixed.
    #[inline(always)]
    pub fn read_retry(&self, begin: u64) -> bool {
        // ORDERING seqrwlock.check: pairs with seqrwlock.change: who read what a writer wrote sees that it was there.
        P::fence(Acquire);
        self.sequence.load(Relaxed) != begin
    }

    /// Like [`RawSeqRwLock::try_read_begin`], after a short look for the end of a change (`seqrwlock_spin_ns`).
    pub(super) fn read_begin_spinning(&self) -> Option<u64> {
        self.try_read_begin().or_else(|| {
            let until = Some(P::now().saturating_add(policy().seqrwlock_spin_ns));
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
            // SAFETY: locked above.
            unsafe { self.lock.unlock_read() };
            sequence
        })
    }

    /// Runs `walk` optimistically; if a writer came between, once more with the lock held for reading. So it runs twice
    /// at most, and what the first run returned may be dropped.
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

/// The blocking read: any number at a time, no writer. The sequence stays as it is.
impl<P: Platform> RawSeqRwLock<P> {
    /// Shuts writers out.
    #[inline]
    pub fn blocking_read(&self) {
        self.lock.read();
    }

    /// Shuts writers out if there is none.
    #[inline]
    pub fn try_blocking_read(&self) -> bool {
        self.lock.try_read()
    }

    /// Shuts writers out, or gives up at `deadline`; says whether it got the lock.
    #[inline]
    pub fn blocking_read_until(&self, deadline: Deadline) -> bool {
        self.lock.read_until(deadline)
    }

    /// Lets writers in again.
    ///
    /// # Safety
    /// The caller has the lock for reading.
    #[inline]
    pub unsafe fn unlock_blocking_read(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_read() }
    }
}

/// Writing.
impl<P: Platform> RawSeqRwLock<P> {
    /// Shuts everybody else out, and spoils optimistic reads until [`RawSeqRwLock::unlock_write`].
    #[inline]
    pub fn write(&self) {
        self.lock.write();
        self.begin_change();
    }

    /// Like [`RawSeqRwLock::write`], if nobody has the lock.
    #[inline]
    pub fn try_write(&self) -> bool {
        let got = self.lock.try_write();
        if got {
            self.begin_change();
        }
        got
    }

    /// Like [`RawSeqRwLock::write`], or gives up at `deadline`; says whether it got the lock.
    #[inline]
    pub fn write_until(&self, deadline: Deadline) -> bool {
        let got = self.lock.write_until(deadline);
        if got {
            self.begin_change();
        }
        got
    }

    /// Ends the change, and lets others in.
    ///
    /// # Safety
    /// The caller has the lock for writing, by [`RawSeqRwLock::write`] or its try and timed forms.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        self.end_change();
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_write() }
    }

    /// The lock that keeps writers and blocking readers apart: a writer that has it has not yet spoilt any optimistic
    /// read.
    pub(super) fn lock(&self) -> &RawRwSem<P> {
        &self.lock
    }

    /// Even -> odd. The caller has the write lock (invariant 1).
    #[inline(always)]
    pub(super) fn begin_change(&self) {
        self.sequence.store(self.sequence.load(Relaxed) + 1, Relaxed);
        // ORDERING seqrwlock.change: pairs with seqrwlock.check: the odd sequence comes before the data.
        P::fence(Release);
    }

    /// Odd -> even. The caller has the write lock.
    #[inline(always)]
    pub(super) fn end_change(&self) {
        let next = self.sequence.load(Relaxed) + 1;
        // ORDERING seqrwlock.end: pairs with seqrwlock.begin: the data come before the even sequence.
        self.sequence.store(next, Release);
    }

    /// Whether a writer or a blocking reader has the lock at this moment.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Whether a writer has the lock at this moment.
    pub fn is_write_locked(&self) -> bool {
        self.lock.is_write_locked()
    }

    /// What has happened so far to the lock that writers and blocking readers take. Optimistic reads are not counted.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.lock.stats()
    }
}

impl<P: Platform> core::fmt::Debug for RawSeqRwLock<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sequence = self.sequence.load(Relaxed);
        f.debug_struct("RawSeqRwLock").field("sequence", &sequence).field("locked", &self.is_locked()).finish()
    }
}

/// A read in up to two passes: the first is optimistic, the second has the lock for reading. If a writer is at the
/// data from the start, and stays, there is only the second.
///
/// ```
/// # use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// # let (lock, part) = (turnwise::RawSeqRwLock::new(), AtomicU64::new(0));
/// let mut reader = lock.reader();
/// let seen = loop {
///     let seen = part.load(Relaxed);
///     if !reader.retry() {
///         break seen;
///     }
/// };
/// # assert_eq!(seen, 0);
/// ```
#[must_use = "what was read counts only once `retry` has said so"]
pub struct SeqReader<'a, P: Platform = DefaultPlatform> {
    lock: &'a RawSeqRwLock<P>,
    /// `None`: the lock is held for reading.
    begin: Option<u64>,
    /// The lock may be released by the thread alone that has it.
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared reader says only whether it is in its second pass.
unsafe impl<P: Platform> Sync for SeqReader<'_, P> {}

impl<P: Platform> SeqReader<'_, P> {
    /// Ends a pass. `true`: forget what it saw and make another one, the last. `false`: it saw the data whole, and if
    /// it was the second, the lock is still held, until the reader is dropped.
    #[inline]
    pub fn retry(&mut self) -> bool {
        let spoilt = self.begin.is_some_and(|begin| self.lock.read_retry(begin));
        if spoilt {
            self.lock.blocking_read();
            self.begin = None;
        }
        spoilt
    }

    /// Whether the lock is held, so that nothing can change.
    pub fn is_blocking(&self) -> bool {
        self.begin.is_none()
    }
}

impl<P: Platform> Drop for SeqReader<'_, P> {
    #[inline]
    fn drop(&mut self) {
        if self.is_blocking() {
            // SAFETY: locked in `RawSeqRwLock::reader` or in `retry`.
            unsafe { self.lock.unlock_blocking_read() };
        }
    }
}
