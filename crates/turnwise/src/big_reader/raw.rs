//! The big-reader lock without data: many readers that share no cache line, or one writer. (Readers that count
//! themselves on their own CPU, writers that visit all CPUs: Linux's `brlock`, 1999. A mode in which readers do so, and
//! one in which they use an ordinary lock: Linux's `percpu_rw_semaphore`, 2012.) Example: [`RawBigReaderLock`].
//!
//! ```text
//! read    SPREAD, and the slot of this CPU is OPEN: slot + 1; found it closed: gate - 1, and on:
//!         the inner read lock; SPREAD: slot + 1, release it; it met readers there SPREAD_AFTER times: spread
//! write   the inner write lock; SPREAD: close all slots, move their counts to the gate; spin, then park until the sum
//!         is 0; clear SPREAD. Timed out: open the slots again, release the inner lock
//! unlock  reader: not SPREAD: the inner lock; else slot - 1 if it is OPEN, else gate - 1, and at 0 wake the writer
//!         writer: the inner lock
//! spread  the inner write lock; set SPREAD, then open all slots; release it
//! ```
//!
//! A [`RawRwSem`] inside does all the waiting but that of a writer for readers in slots. All-zero bytes are an unlocked
//! lock, which is **gathered**: readers have the inner lock. Once **spread**, they touch nothing that others write.
//!
//! | word | bits | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | a slot | 0 `OPEN` | readers may enter | the spreader, with the inner lock | a writer, with the inner lock |
//! | | 2..32 | readers that entered here, minus those that left here (may be negative) | readers | a writer moves it to the gate |
//! | gate | 0 `SPREAD` | readers may be in slots, and not in the inner lock | the spreader, before it opens a slot | a writer that has waited for them |
//! | | 1 `WAITING` | a writer may sleep until they have left | that writer | that writer |
//! | | 2..32 | readers moved here, minus those that left here | a writer | readers |
//!
//! Next to its count a slot has the number of times that a reader there met others, and no writer, while gathered.
//!
//! A thread may leave by a different slot from the one it entered by, since it may have migrated to another CPU. So no
//! slot is meaningful by itself: **readers** are the sum of the counts of all slots and of the gate.
//!
//! Invariants:
//! 1. Only a thread that has the inner write lock opens or closes slots, or changes `SPREAD`.
//! 2. An active reader has the inner read lock if the lock is gathered, and otherwise counts one in the sum. The lock
//!    does not change from one to the other meanwhile: spreading takes the inner write lock, and a writer clears
//!    `SPREAD` when the sum is 0. So a reader that finds its slot closed learns from `SPREAD` how to leave.
//! 3. A thread that adds to a slot and finds it closed is not a reader; it takes that off the gate, as when leaving.
//! 4. A reader leaves by a slot only while it is open, in one exchange. Otherwise it leaves by the gate, after having
//!    entered: a thread that sees that in the gate sees the addition, too. So a sum for which the gate is read first is
//!    never too small, and a writer that finds it 0, with all slots closed, is alone.
//! 5. After a writer has moved the slots' counts, the gate's is 0 or negative when the last reader leaves, since slots
//!    only grow then (3). The thread that takes it there wakes the writer.
//! 6. A release does not touch the lock after the operation that releases it, except for a wake-up by address.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. A writer is alone, whether the lock is gathered, spread, or changes; readers see what earlier writers wrote
//!   (big_reader.enter), and a writer comes after the reads of earlier readers (big_reader.close, big_reader.drained).
//! - A2. A reader may leave on another CPU than it entered on (invariants 2 and 4).
//! - A3. A release is its thread's last access to the lock (invariant 6).
//! - P1. A writer that waits for readers in slots is woken by the last of them (invariants 3 and 5); all other waits
//!   are those of [`RawRwSem`], with its P1 to P4 for `Prefer::Writers`.
//! - P2. While no writer comes, a reader of a spread lock never waits: it enters by an addition to its slot, and leaves
//!   by an exchange there.
//! - P3. A reader that spreads the lock waits for the others inside for `SPREAD_WAIT`, then reads as before. A timed
//!   wait ends at its deadline, and leaves the lock as it was.

use crate::platform::{Deadline, DefaultPlatform, Hint, IntWord, Lane, Platform, SpinLimit, Word};
use crate::raw::{GuardNoSend, RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwsem::{Met, RawRwSem};
use crate::wait::policy;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

const OPEN: u32 = 1;
const SPREAD: u32 = 1;
const WAITING: u32 = 2;
/// One reader.
const ONE: u32 = 4;
const COUNT: u32 = !(ONE - 1);

/// How often readers meet other readers, on one CPU and without meeting a writer, before one of them spreads the lock
/// over the CPUs.
pub const SPREAD_AFTER: u32 = 64;

/// The longest time for which the reader that spreads the lock keeps others out while it waits for those inside.
const SPREAD_WAIT: Duration = Duration::from_micros(100);

/// Returns the count of a word as a signed number.
const fn count(word: u32) -> i32 {
    word.cast_signed() >> ONE.trailing_zeros()
}

/// The slot of the readers of one or more CPUs, on its own cache lines.
#[repr(align(128))]
struct Slot<P: Platform> {
    count: P::U32,
    /// How often a reader has met other readers in the gathered lock since one last met a writer.
    met: P::U32,
}

/// The inner lock, on its own cache lines.
#[repr(align(128))]
struct Inner<P: Platform> {
    lock: RawRwSem<P>,
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
    inner: [Inner { lock: [RawRwSem<P>] }],
    slots: [Slot { count: U32, met: U32 }; N, Self::HAS_SLOTS],
});

// SAFETY: the write lock is that of a `RawRwSem`, which satisfies the contract among writers.
unsafe impl<const N: usize, P: Platform> RawLock for RawBigReaderLock<N, P> {
    const NAME: &'static str = "BigReaderLock";
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    #[inline]
    fn lock(&self) {
        self.write_with(None);
    }

    /// Acquires the lock for writing if it is free. May fail on a free lock while a reader finds itself barred.
    #[inline]
    fn try_lock(&self) -> bool {
        self.inner().try_lock() && (!self.is_spread() || self.try_gather())
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `unlock`: the caller has the write lock, and with it the inner one.
        unsafe { self.inner().unlock() }
    }

    fn is_locked(&self) -> bool {
        self.inner().is_locked() || self.sum(self.gate.load(Relaxed)) != 0
    }

    /// Returns what has happened so far to the inner lock. Reads of a spread lock are not counted.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.inner().stats()
    }
}

// SAFETY: it acquires as `lock` does.
unsafe impl<const N: usize, P: Platform> RawTimedLock for RawBigReaderLock<N, P> {
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.write_with(Some(deadline))
    }
}

// SAFETY: readers are admitted while no writer is: gathered, by the inner lock; spread, since a writer waits until the
// sum is 0 (invariant 4), after their big_reader.leave and big_reader.gate, and they enter by big_reader.enter.
unsafe impl<const N: usize, P: Platform> RawRwLock for RawBigReaderLock<N, P> {
    /// Acquires the lock for reading. A thread that reads must not call this again: a writer may have come in between.
    #[inline]
    fn read(&self) {
        let _ = self.enter() || self.read_gathered(None);
    }

    /// Acquires the lock for reading, unless a writer holds it or waits.
    #[inline]
    fn try_read(&self) -> bool {
        self.enter() || self.inner().try_read() && self.has_inner()
    }

    #[inline]
    unsafe fn unlock_read(&self) {
        if !self.is_spread() {
            // SAFETY: contract of `unlock_read`: the caller has a read lock, which is the inner one (invariant 2).
            return unsafe { self.inner().unlock_read() };
        }
        let slot = &self.slot().count;
        let mut word = slot.load(Relaxed);
        while word & OPEN != 0 {
            // ORDERING big_reader.leave: pairs with big_reader.close: the writer comes after our reads.
            match slot.compare_exchange(word, word.wrapping_sub(ONE), Release, Relaxed) {
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
        self.leave_by_gate();
    }
}

// SAFETY: it acquires as `read` does.
unsafe impl<const N: usize, P: Platform> RawTimedRwLock for RawBigReaderLock<N, P> {
    #[inline]
    fn read_until(&self, deadline: Deadline) -> bool {
        self.enter() || self.read_gathered(Some(deadline))
    }
}

/// Readers.
impl<const N: usize, P: Platform> RawBigReaderLock<N, P> {
    const HAS_SLOTS: () = assert!(N.is_power_of_two() && N <= 256, "slots are found by the bits of a CPU's number");

    /// Spreads the lock now, as readers would eventually. It waits like a writer.
    pub fn spread(&self) {
        self.inner().lock();
        self.open();
        // SAFETY: contract of `RawLock::unlock`: acquired above.
        unsafe { self.inner().unlock() }
    }

    /// Returns the number of the slot of the CPU that this thread is on. Neighbouring CPUs share one if there are more
    /// CPUs than slots.
    #[inline(always)]
    fn place() -> usize {
        let (cpus, slots) = (P::hint(Hint::Cpus) as usize, N);
        let cpu = P::hint(Hint::Cpu) as usize;
        let shift = if cpus > slots { (cpus.div_ceil(slots) - 1).ilog2() + 1 } else { 0 };
        (cpu >> shift) & (N - 1)
    }

    #[inline(always)]
    fn slot(&self) -> &Slot<P> {
        &self.slots[Self::place()]
    }

    #[inline(always)]
    fn inner(&self) -> &RawRwSem<P> {
        &self.inner.lock
    }

    #[inline(always)]
    fn is_spread(&self) -> bool {
        self.gate.load(Relaxed) & SPREAD != 0
    }

    /// Counts the caller as a reader, if its slot is open.
    #[inline(always)]
    fn enter(&self) -> bool {
        // The loads first: a slot that a writer is closing stays in the caches of waiting readers.
        if !self.is_spread() {
            return false;
        }
        let slot = &self.slot().count;
        if slot.load(Relaxed) & OPEN == 0 {
            return false;
        }
        // ORDERING big_reader.enter: pairs with big_reader.open: shows what the last writer wrote.
        slot.fetch_add(ONE, Acquire) & OPEN != 0 || self.barred()
    }

    /// Undoes the addition to a slot that was closed (invariant 3); always returns `false`.
    #[cold]
    fn barred(&self) -> bool {
        self.leave_by_gate();
        false
    }

    /// Subtracts one reader from the gate, and wakes the writer if it may have waited for this one.
    #[cold]
    #[inline(never)]
    fn leave_by_gate(&self) {
        let address = &raw const self.gate;
        // ORDERING big_reader.gate: pairs with big_reader.drained: the writer comes after our reads, and sees the
        // addition that this subtraction matches.
        let found = self.gate.fetch_sub(ONE, Release);
        if found & WAITING != 0 && count(found) <= 1 {
            P::wake(address, Lane::Waiters, 1);
        }
    }

    fn read_gathered(&self, deadline: Option<Deadline>) -> bool {
        match self.inner().read_and_report(deadline) {
            Met::Nobody => self.has_inner(),
            Met::Readers => self.met_readers(deadline),
            Met::Writer => self.met_writer(),
            Met::Deadline => false,
        }
    }

    /// Continues with the inner lock acquired for reading: keeps it if the lock is gathered, or else moves to a slot.
    /// Always returns `true`.
    #[inline]
    fn has_inner(&self) -> bool {
        if self.is_spread() {
            self.move_to_slot();
        }
        true
    }

    /// Continues alongside other readers in the inner lock: it may be time to spread them.
    fn met_readers(&self, deadline: Option<Deadline>) -> bool {
        let met = &self.slot().met;
        let times = met.load(Relaxed);
        // Increments lost in a race are made up for by later readers.
        met.store(times.saturating_add(1), Relaxed);
        if times < SPREAD_AFTER {
            return self.has_inner();
        }
        // SAFETY: contract of `RawRwLock::unlock_read`: the caller has just acquired it so.
        unsafe { self.inner().unlock_read() }
        self.spread_and_enter(deadline) || self.read_gathered(deadline)
    }

    /// Continues after a wait for a writer. Always returns `true`.
    #[cold]
    fn met_writer(&self) -> bool {
        let met = &self.slot().met;
        if met.load(Relaxed) != 0 {
            met.store(0, Relaxed);
        }
        self.has_inner()
    }

    /// Moves a reader from the inner lock to its slot, which is open: spreading opened all, and a holder of the inner
    /// lock keeps writers from closing them (invariant 1).
    #[cold]
    fn move_to_slot(&self) {
        self.slot().count.fetch_add(ONE, Relaxed);
        // SAFETY: contract of `RawRwLock::unlock_read`: the caller has acquired it so.
        unsafe { self.inner().unlock_read() }
    }

    /// Spreads the lock, unless readers stay inside for long; returns whether the caller then has a read lock.
    #[cold]
    #[inline(never)]
    fn spread_and_enter(&self, deadline: Option<Deadline>) -> bool {
        let soon = Deadline::after::<P>(SPREAD_WAIT);
        let until = deadline.filter(|deadline| deadline.monotonic::<P>() < soon.at).unwrap_or(soon);
        self.slot().met.store(0, Relaxed);
        if !self.inner().lock_until(until) {
            return false;
        }
        self.open();
        self.slot().count.fetch_add(ONE, Relaxed);
        // SAFETY: contract of `RawLock::unlock`: acquired above.
        unsafe { self.inner().unlock() }
        true
    }
}

/// Writers.
impl<const N: usize, P: Platform> RawBigReaderLock<N, P> {
    #[inline]
    fn write_with(&self, deadline: Option<Deadline>) -> bool {
        self.inner().write_with(deadline) && (!self.is_spread() || self.gather(|lock| lock.wait(deadline)))
    }

    /// Closes the slots if there appear to be no readers in them; otherwise releases the inner lock.
    #[cold]
    fn try_gather(&self) -> bool {
        if self.sum(self.gate.load(Relaxed)) == 0 {
            return self.gather(Self::is_alone);
        }
        // SAFETY: contract of `RawLock::unlock`: the caller has acquired it.
        unsafe { self.inner().unlock() }
        false
    }

    /// Closes the slots; if the wait for their readers succeeds, the lock is gathered and the caller owns it. Otherwise
    /// it is spread again, and released.
    #[cold]
    #[inline(never)]
    fn gather(&self, wait: impl FnOnce(&Self) -> bool) -> bool {
        self.close();
        let alone = wait(self);
        self.gate.fetch_and(if alone { COUNT } else { COUNT | SPREAD }, Relaxed);
        if !alone {
            self.open_slots();
            // SAFETY: contract of `RawLock::unlock`: the caller has acquired it.
            unsafe { self.inner().unlock() }
        }
        alone
    }

    /// Lets readers use slots. The caller has the inner write lock.
    fn open(&self) {
        self.gate.fetch_or(SPREAD, Relaxed);
        self.open_slots();
    }

    fn open_slots(&self) {
        for slot in &self.slots {
            // ORDERING big_reader.open: pairs with big_reader.enter: readers see what writers wrote, and `SPREAD`.
            slot.count.fetch_or(OPEN, Release);
        }
    }

    /// Closes all slots, and moves their counts to the gate.
    fn close(&self) {
        let mut moved = 0_u32;
        for slot in &self.slots {
            // ORDERING big_reader.close: pairs with big_reader.leave: those that left by this slot are done.
            moved = moved.wrapping_add(slot.count.swap(0, Acquire) & COUNT);
        }
        self.gate.fetch_add(moved, Relaxed);
    }

    /// Returns whether there are no readers, with all slots closed.
    fn is_alone(&self) -> bool {
        // ORDERING big_reader.drained: pairs with big_reader.gate: those that left by the gate are done, and their
        // additions to slots are in the counts that we read below.
        let gate = self.gate.load(Acquire);
        count(gate) <= 0 && self.sum(gate) == 0
    }

    /// Returns the number of readers, given the gate's word, in units of `ONE`.
    fn sum(&self, gate: u32) -> u32 {
        self.slots.iter().fold(gate & COUNT, |sum, slot| sum.wrapping_add(slot.count.load(Relaxed) & COUNT))
    }

    /// Waits until the readers have left; gives up at the deadline if there is one. Returns whether they have.
    fn wait(&self, deadline: Option<Deadline>) -> bool {
        self.is_alone() || self.spin(deadline) || self.sleep(deadline)
    }

    fn spin(&self, deadline: Option<Deadline>) -> bool {
        let end = P::now().saturating_add(2 * policy().still_ns);
        let until = Some(deadline.map_or(end, |deadline| deadline.monotonic::<P>().min(end)));
        let limit = SpinLimit { until, still_ns: Some(u32::MAX), ..SpinLimit::NONE };
        P::spin_until(&self.gate, |gate| count(gate) <= 0, limit).is_ok() && self.is_alone()
    }

    fn sleep(&self, deadline: Option<Deadline>) -> bool {
        let mut timed_out = false;
        loop {
            // Before the slots are read: a reader that leaves after that changes the gate, or wakes us.
            let gate = self.gate.fetch_or(WAITING, Relaxed) | WAITING;
            if self.is_alone() {
                return true;
            }
            if timed_out {
                return false;
            }
            P::park(&self.gate, gate, Lane::Waiters, deadline);
            timed_out = deadline.is_some_and(Deadline::expired::<P>);
        }
    }

    /// Returns whether a writer currently holds the lock, or waits for readers to leave.
    pub fn is_write_locked(&self) -> bool {
        self.inner().is_write_locked()
    }
}

shows!([const N: usize, P: Platform] RawBigReaderLock<N, P>, |lock| inner: lock.inner(), spread: lock.is_spread(),
    readers: count(lock.sum(lock.gate.load(Relaxed))));
