//! `rename_lock`, the other subject of `dcache`: a sequence lock that `d_path` took for writing although it only reads
//! (Linux 3.10-rc1), and the paper's sequence read/write lock, which has a third kind of access for it.
//!
//! | policy | the lock inside | a blocking reader |
//! |---|---|---|
//! | [`Exclusive`] | ticket spin lock: 12 bytes in all | is a writer: excludes all others, and makes optimistic readers retry |
//! | [`SeqExclusive`] | ticket spin lock: 12 bytes in all | excludes writers and other blocking readers, and leaves the sequence alone (Linux 3.12: `read_seqlock_excl`) |
//! | [`SeqRw`] | biased rwlock: 8 bytes in all | excludes writers, not other readers, and leaves the sequence alone |
//!
//! | sequence | state |
//! |---|---|
//! | even | no writer |
//! | odd | a thread writes |
//!
//! Invariants:
//! 1. A thread that has the lock inside for writing makes the sequence odd first and even last; no other stores to it.
//! 2. An optimistic reader that finds the same even sequence before and after has seen what one writer left, if it read
//!    as described below.
//! 3. The release of the lock inside is the last access.
//!
//! **What is protected** is read while it may be written, so it consists of words: a writer stores with Release, an
//! optimistic reader loads with Acquire. Then a reader that saw a new value finds the new sequence too, without the
//! fences that the kernel has there. On x86-64 these are plain loads and stores.

use crate::biased_rwlock::BiasedRwLock;
use crate::ticket::KernelTicketLock;
use crate::wait;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, Platform, Word};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

/// A version of the lock: what is inside, and what a blocking reader does. Only the three types below exist.
pub trait Policy: crate::sealed::Sealed + Send + Sync + Sized + 'static {
    /// The type of the lock inside. Where it has no read mode, blocking readers exclude each other.
    type Inner<P: Platform>: RawRwLock;
    /// Whether a blocking reader is a writer.
    const READERS_WRITE: bool = false;
}

versions! {
    /// Linux 3.10-rc1: blocking readers take it for writing.
    Exclusive { type Inner<P: Platform> = KernelTicketLock<P>; const READERS_WRITE: bool = true; }
    /// The paper's sequence read/write lock.
    SeqRw { type Inner<P: Platform> = BiasedRwLock<P>; }
    /// Linux 3.12: blocking readers exclude each other too, but no optimistic reader.
    SeqExclusive { type Inner<P: Platform> = KernelTicketLock<P>; }
}

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct RenameLock<V: Policy, P: Platform = DefaultPlatform> {
    sequence: P::U32,
    inner: V::Inner<P>,
}

lock_basics!(RenameLock<V>, |lock| sequence: lock.sequence.load(Relaxed), locked: lock.is_locked());

// SAFETY: the lock inside has one writer at a time, and keeps the other guarantees of `RawLock`.
unsafe impl<V: Policy, P: Platform> RawLock for RenameLock<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        RenameLock { sequence: P::U32::new(0), inner: RawLock::new_in() }
    }

    /// Acquires the lock for writing (`write_seqlock`).
    #[inline]
    fn lock(&self) {
        self.inner.lock();
        self.make_odd();
    }

    /// Acquires the lock for writing if it is free.
    #[inline]
    fn try_lock(&self) -> bool {
        let free = self.inner.try_lock();
        if free {
            self.make_odd();
        }
        free
    }

    #[inline]
    unsafe fn unlock(&self) {
        // ORDERING rename.even: pairs with rename.begin: shows what we wrote.
        self.sequence.store(self.sequence.load(Relaxed).wrapping_add(1), Release);
        // SAFETY: contract of `RawLock::unlock`, which is the caller's, too: it has the lock.
        unsafe { self.inner.unlock() };
    }

    /// Returns whether the lock inside is held at this moment.
    fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }
}

// SAFETY: a reader has the lock inside, which no writer has then.
unsafe impl<V: Policy, P: Platform> RawRwLock for RenameLock<V, P> {
    /// Begins a blocking read: no writer until it ends. [`SeqRw`] lets other readers in; [`Exclusive`] writes.
    #[inline]
    fn read(&self) {
        if V::READERS_WRITE { self.lock() } else { self.inner.read() }
    }

    /// Begins a blocking read if that is possible at once.
    #[inline]
    fn try_read(&self) -> bool {
        if V::READERS_WRITE { self.try_lock() } else { self.inner.try_read() }
    }

    /// Ends a blocking read.
    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: contract of `RawRwLock::unlock_read`, which is the caller's, too: `read` locked it in the same way.
        unsafe { if V::READERS_WRITE { self.unlock() } else { self.inner.unlock_read() } };
    }
}

impl<V: Policy, P: Platform> RenameLock<V, P> {
    /// Makes the sequence odd. Relaxed: only we change it (invariant 1), and the stores after it release it.
    #[inline]
    fn make_odd(&self) {
        self.sequence.store(self.sequence.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Begins an optimistic read, when no thread writes; returns the sequence (`read_seqbegin`).
    #[inline]
    pub fn read_begin(&self) -> u32 {
        loop {
            // ORDERING rename.begin: pairs with rename.even; shows what the last writer wrote.
            let sequence = self.sequence.load(Acquire);
            if sequence.is_multiple_of(2) {
                return sequence;
            }
            wait::spin_until::<P, _>(&self.sequence, |sequence| sequence.is_multiple_of(2));
        }
    }

    /// Returns whether a writer came since [`RenameLock::read_begin`] returned `sequence`: then what was read is
    /// invalid (`read_seqretry`).
    #[inline]
    pub fn read_retry(&self, sequence: u32) -> bool {
        // Relaxed: the loads of what is protected acquire, so this one cannot come before them.
        self.sequence.load(Relaxed) != sequence
    }
}

const _: () = assert!(size_of::<RenameLock<Exclusive>>() == 12 && size_of::<RenameLock<SeqRw>>() == 8);
