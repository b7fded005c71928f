//! The big-reader lock without data: many readers that share no cache line, or one writer: a [`RawRwSem`] whose readers
//! spread over slots of its own (`spreading.rs` has the algorithm and its guarantees). Example: [`RawBigReaderLock`].

use super::spreading::{Slot, Spreading};
use crate::platform::{Deadline, DefaultPlatform, Platform};
use crate::raw::{GuardNoSend, RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwsem::RawRwSem;
use crate::wait::Tuned;

/// The inner lock, on its own cache lines.
#[repr(align(128))]
struct Inner<P: Platform> {
    lock: RawRwSem<P>,
    met: P::U32,
}

/// A big-reader lock without data, with `N` slots for readers: a power of two, up to 256. All-zero bytes are an
/// unlocked lock.
///
/// ```
/// use turnwise::{RawBigReaderLock, RawLock, RawRwLock};
///
/// static LOCK: RawBigReaderLock<8> = RawBigReaderLock::new();
/// LOCK.read();
/// assert!(!LOCK.try_lock(), "a reader has it");
/// ```
#[repr(C, align(128))]
pub struct RawBigReaderLock<const N: usize = 64, P: Platform = DefaultPlatform> {
    gate: P::U32,
    inner: Inner<P>,
    slots: [Slot<P>; N],
}

raw_constructors!(default RawBigReaderLock [const N: usize,] [N,], "an unlocked lock", {
    gate: U32,
    inner: [Inner { lock: [RawRwSem<P>], met: U32 }],
    slots: [Slot { count: U32 }; N, Self::HAS_SLOTS],
});

// SAFETY: `Spreading` admits one writer at a time.
unsafe impl<const N: usize, P: Platform> RawLock for RawBigReaderLock<N, P> {
    const NAME: &'static str = "BigReaderLock";
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    #[inline]
    fn lock(&self) {
        self.write(None, &Tuned::POLICY);
    }

    /// Acquires the lock for writing if it is free. May fail on a free lock while a reader finds itself barred.
    #[inline]
    fn try_lock(&self) -> bool {
        self.try_write()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `unlock`: the caller has the write lock, which is the inner one.
        unsafe { self.inner.lock.unlock() }
    }

    fn is_locked(&self) -> bool {
        self.is_write_locked() || self.readers() != 0
    }

    /// Returns what has happened so far to the inner lock. Reads of a spread lock are not counted.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.inner.lock.stats()
    }
}

// SAFETY: it acquires as `lock` does.
unsafe impl<const N: usize, P: Platform> RawTimedLock for RawBigReaderLock<N, P> {
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.write(Some(deadline), &Tuned::POLICY)
    }
}

// SAFETY: `Spreading` admits readers while no writer has the lock, and keeps later writers out.
unsafe impl<const N: usize, P: Platform> RawRwLock for RawBigReaderLock<N, P> {
    /// Acquires the lock for reading. A thread that reads must not call this again: a writer may have come in between.
    #[inline]
    fn read(&self) {
        let _ = self.enter() || self.read_gathered(None);
    }

    /// Acquires the lock for reading, unless a writer holds it or waits.
    #[inline]
    fn try_read(&self) -> bool {
        self.enter() || self.inner.lock.try_read()
    }

    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: contract of `unlock_read`: the caller has a read lock; if it does not leave, the inner lock's.
        unsafe {
            if !self.leave() {
                self.inner.lock.unlock_read();
            }
        }
    }
}

// SAFETY: it acquires as `read` does.
unsafe impl<const N: usize, P: Platform> RawTimedRwLock for RawBigReaderLock<N, P> {
    #[inline]
    fn read_until(&self, deadline: Deadline) -> bool {
        self.enter() || self.read_gathered(Some(deadline))
    }
}

// SAFETY: they are parts of this lock, and all zero at first.
unsafe impl<const N: usize, P: Platform> Spreading for RawBigReaderLock<N, P> {
    type Platform = P;

    #[inline(always)]
    fn gate(&self) -> &P::U32 {
        &self.gate
    }

    #[inline(always)]
    fn met(&self) -> &P::U32 {
        &self.inner.met
    }

    #[inline(always)]
    fn inner(&self) -> &RawRwSem<P> {
        &self.inner.lock
    }

    #[inline(always)]
    fn slots(&self) -> &[Slot<P>] {
        &self.slots
    }
}

impl<const N: usize, P: Platform> RawBigReaderLock<N, P> {
    const HAS_SLOTS: () = assert!(N.is_power_of_two() && N <= 256, "slots are found by the bits of a CPU's number");

    /// Acquires the inner lock for reading; spreads the lock if that is due.
    fn read_gathered(&self, deadline: Option<Deadline>) -> bool {
        let met = self.inner.lock.read_and_meet(deadline);
        if met == Some(true) && self.is_due() {
            // SAFETY: contract of `spread`: just acquired.
            unsafe { Spreading::spread(self) }
        }
        met.is_some()
    }

    /// Spreads the lock now, as readers would eventually. It waits like a reader.
    pub fn spread(&self) {
        self.read();
        // SAFETY: contracts of `spread` and `unlock_read`: the caller has a read lock, and unless the lock is spread it
        // is the inner one's.
        unsafe {
            Spreading::spread(self);
            self.unlock_read();
        }
    }

    /// Returns whether a writer currently holds the lock.
    pub fn is_write_locked(&self) -> bool {
        self.inner.lock.is_write_locked()
    }
}

shows!([const N: usize, P: Platform] RawBigReaderLock<N, P>, |lock| inner: lock.inner.lock,
    spread: lock.is_spread(), readers: lock.readers());
