//! The readers-writer spin lock of Linux 3.7 on x86-64: one word from which readers take 1 and a writer all. It is
//! behind the `__read_lock_failed` and `__write_lock_failed` that take 45 per cent of the time in `mutex_spinners`.
//!
//! The kernel's word is [`BIAS`] when free. Ours holds that less, so that zero bytes are a free lock:
//!
//! | word + `BIAS` | state |
//! |---|---|
//! | `BIAS` | free |
//! | `BIAS - n`, above 0 | n readers |
//! | 0 | a writer |
//! | below 0 | a writer, or several that are about to find out, and readers likewise |
//!
//! Invariants:
//! 1. A reader has the lock if the word was above 0 (kernel's count) when it took 1; a writer if it was `BIAS` when it
//!    took all.
//! 2. A thread that does not have it puts back what it took, then only polls until it might succeed. **Each failed
//!    attempt costs two read-modify-writes**, and may make others fail meanwhile.
//! 3. A release is one addition, and the last access.
//!
//! Unfair: readers that come and go keep a writer out for ever, and writers readers. At most `BIAS - 1` readers.

use crate::wait;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, IntWord, Platform, Preempt, Word};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

/// The bias: a writer takes all of it, and a reader 1.
pub const BIAS: u32 = 0x0010_0000;

/// Returns the kernel's count for this word.
const fn count(word: u32) -> i32 {
    word.wrapping_add(BIAS).cast_signed()
}

/// The lock without data. Zero bytes are an unlocked lock.
#[repr(transparent)]
pub struct BiasedRwLock<P: Platform = DefaultPlatform> {
    word: P::U32,
}

lock_basics!(BiasedRwLock, |lock| count: count(lock.word.load(Relaxed)));

// SAFETY: a writer has taken the whole bias, so no other thread has a part of it; it acquires (biased.write) what
// others released. Guards stay on their thread, whose preemption is off.
unsafe impl<P: Platform> RawLock for BiasedRwLock<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        BiasedRwLock { word: P::U32::new(0) }
    }

    /// Acquires the lock for writing.
    #[inline]
    fn lock(&self) {
        P::preempt(Preempt::Off);
        if !self.take_all() {
            self.write_failed();
        }
    }

    /// Acquires the lock for writing if no thread has it, or is just trying to.
    #[inline]
    fn try_lock(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| {
            let taken = self.take_all();
            if !taken {
                self.word.fetch_add(BIAS, Relaxed);
            }
            taken
        })
    }

    /// Releases the write lock.
    #[inline]
    unsafe fn unlock(&self) {
        // ORDERING biased.unlock_write: pairs with biased.read and biased.write: shows what we wrote.
        self.word.fetch_add(BIAS, Release);
        P::preempt(Preempt::On);
    }

    /// Returns whether any thread has the lock at this moment, or is trying to.
    fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != 0
    }
}

// SAFETY: a reader has a part of the bias, so no writer has it all; biased.read acquires what writers released
// (biased.unlock_write), and biased.unlock_read releases it to them.
unsafe impl<P: Platform> RawRwLock for BiasedRwLock<P> {
    /// Acquires the lock for reading.
    #[inline]
    fn read(&self) {
        P::preempt(Preempt::Off);
        if !self.take_one() {
            self.read_failed();
        }
    }

    /// Acquires the lock for reading if no writer has it, or is just trying to.
    #[inline]
    fn try_read(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| {
            let taken = self.take_one();
            if !taken {
                self.word.fetch_add(1, Relaxed);
            }
            taken
        })
    }

    /// Releases a read lock.
    #[inline]
    unsafe fn unlock_read(&self) {
        // ORDERING biased.unlock_read: pairs with biased.write: the writer comes after our reads. All changes of the
        // word are additions, so a writer also sees the readers that left before the last.
        self.word.fetch_add(1, Release);
        P::preempt(Preempt::On);
    }
}

impl<P: Platform> BiasedRwLock<P> {
    /// Takes 1 for a reader; after `false` it must be put back.
    #[inline]
    fn take_one(&self) -> bool {
        // ORDERING biased.read: pairs with biased.unlock_write; shows what the last writer wrote.
        count(self.word.fetch_sub(1, Acquire)) > 0
    }

    /// Takes the whole bias for a writer; after `false` it must be put back.
    #[inline]
    fn take_all(&self) -> bool {
        // ORDERING biased.write: pairs with biased.unlock_write and biased.unlock_read: all former owners are done.
        self.word.fetch_sub(BIAS, Acquire) == 0
    }

    #[cold]
    #[inline(never)]
    fn read_failed(&self) {
        loop {
            self.word.fetch_add(1, Relaxed);
            wait::spin_until::<P, _>(&self.word, |word| count(word) > 0);
            if self.take_one() {
                return;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn write_failed(&self) {
        loop {
            self.word.fetch_add(BIAS, Relaxed);
            wait::spin_until::<P, _>(&self.word, |word| word == 0);
            if self.take_all() {
                return;
            }
        }
    }
}

const _: () = assert!(size_of::<BiasedRwLock>() == 4, "one word");
