//! A queued readers-writer spin lock, the contrast to [`BiasedRwLock`](crate::BiasedRwLock): a thread that cannot have
//! the lock at once waits in the queue of a fair spin lock, and only the first of the queue polls the word. (W. Long,
//! Linux 3.16, 2014, on the ticket lock as there.)
//!
//! | bytes | word | meaning |
//! |---|---|---|
//! | 4 | count | bits below |
//! | 8 | line | [`KernelTicketLock`]: its owner is the first waiter |
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0 | `WAITS` | the first of the queue is a writer: newcomers join it | that writer | that writer, as it takes the lock |
//! | 1 | `WRITER` | a writer has the lock | that writer | that writer, in `unlock` |
//! | 8..32 | readers | how many have the lock, or are about to find out | readers | readers |
//!
//! Invariants:
//! 1. A reader has the lock if neither `WAITS` nor `WRITER` was set when it counted itself, or, as the first of the
//!    queue, once `WRITER` is not set.
//! 2. A writer has the lock if it took the word to `WRITER` from 0 or, as the first of the queue, from `WAITS` alone.
//! 3. A release is one subtraction, and the last access.
//!
//! It is fair with one exception: a newcomer may take a lock that is free at the moment, before the first of the queue
//! sees it.

use crate::ticket::KernelTicketLock;
use crate::wait;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, IntWord, Platform, Preempt, Word};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

const WAITS: u32 = 1;
const WRITER: u32 = 2;
const READER: u32 = 1 << 8;

/// The lock without data. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct QueuedRwLock<P: Platform = DefaultPlatform> {
    count: P::U32,
    line: KernelTicketLock<P>,
}

lock_basics!(QueuedRwLock, |lock| count: format_args!("{:#x}", lock.count.load(Relaxed)), line: lock.line);

// SAFETY: one writer sets its bit, when no reader is counted; it acquires (queued_rw.write) what others released.
// Guards stay on their thread, whose preemption is off.
unsafe impl<P: Platform> RawLock for QueuedRwLock<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        QueuedRwLock { count: P::U32::new(0), line: KernelTicketLock::new_in() }
    }

    /// Acquires the lock for writing.
    #[inline]
    fn lock(&self) {
        P::preempt(Preempt::Off);
        if !self.take(0) {
            self.write_slow();
        }
    }

    /// Acquires the lock for writing if it is free and no writer waits first in the queue.
    #[inline]
    fn try_lock(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| self.count.load(Relaxed) == 0 && self.take(0))
    }

    /// Releases the write lock.
    #[inline]
    unsafe fn unlock(&self) {
        // ORDERING queued_rw.unlock_write: pairs with queued_rw.read and queued_rw.write: shows what we wrote.
        self.count.fetch_sub(WRITER, Release);
        P::preempt(Preempt::On);
    }

    /// Returns whether any thread has the lock at this moment, or is first in the queue.
    fn is_locked(&self) -> bool {
        self.count.load(Relaxed) != 0 || self.line.is_locked()
    }
}

// SAFETY: readers stay counted only while no writer is in; queued_rw.read acquires what writers released
// (queued_rw.unlock_write), and queued_rw.unlock_read releases to them.
unsafe impl<P: Platform> RawRwLock for QueuedRwLock<P> {
    /// Acquires the lock for reading.
    #[inline]
    fn read(&self) {
        P::preempt(Preempt::Off);
        if !self.count_in() {
            self.read_slow();
        }
    }

    /// Acquires the lock for reading if no writer has it or waits first in the queue.
    #[inline]
    fn try_read(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| {
            self.count.load(Relaxed) & (WRITER | WAITS) == 0 && (self.count_in() || self.count_out())
        })
    }

    /// Releases a read lock.
    #[inline]
    unsafe fn unlock_read(&self) {
        // ORDERING queued_rw.unlock_read: pairs with queued_rw.write: the writer comes after our reads. All changes of
        // the word are read-modify-writes, so a writer also sees the readers that left before the last.
        self.count.fetch_sub(READER, Release);
        P::preempt(Preempt::On);
    }
}

impl<P: Platform> QueuedRwLock<P> {
    /// Counts a reader in; returns whether it has the lock now.
    #[inline]
    fn count_in(&self) -> bool {
        // ORDERING queued_rw.read: pairs with queued_rw.unlock_write; shows what the last writer wrote.
        self.count.fetch_add(READER, Acquire) & (WRITER | WAITS) == 0
    }

    /// Takes back an unsuccessful [`QueuedRwLock::count_in`]; always returns `false`.
    fn count_out(&self) -> bool {
        self.count.fetch_sub(READER, Relaxed);
        false
    }

    /// Takes the lock for a writer, if its word is `from`.
    #[inline]
    fn take(&self, from: u32) -> bool {
        // ORDERING queued_rw.write: pairs with queued_rw.unlock_write and queued_rw.unlock_read: all others are done.
        self.count.compare_exchange(from, WRITER, Acquire, Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn read_slow(&self) {
        self.count_out();
        self.line.with(|| {
            self.count.fetch_add(READER, Relaxed);
            // No other thread is first in the queue, so `WAITS` is not set; a writer that has the lock will leave.
            wait::spin_until::<P, _>(&self.count, |count| count & WRITER == 0);
            // ORDERING queued_rw.read: pairs with queued_rw.unlock_write, as in `count_in`.
            self.count.load(Acquire);
        });
    }

    #[cold]
    #[inline(never)]
    fn write_slow(&self) {
        self.line.with(|| {
            if self.take(0) {
                return;
            }
            self.count.fetch_or(WAITS, Relaxed);
            loop {
                wait::spin_until::<P, _>(&self.count, |count| count == WAITS);
                if self.take(WAITS) {
                    return; // fails if a reader counted itself in just now, without success
                }
            }
        });
    }
}

const _: () = assert!(size_of::<QueuedRwLock>() == 12, "three words");
