//! Readers counted outside of a readers-writer lock: what [`RawBigReaderLock`](super::RawBigReaderLock) does, with the
//! words wherever they lie. (Readers that count themselves on their own CPU, writers that visit all CPUs: Linux's
//! `brlock`, 1999. A mode in which readers do so, and one in which they use an ordinary lock: Linux's
//! `percpu_rw_semaphore`, 2012.)
//!
//! ```text
//! read    gate == SPREAD, and the slot of this CPU is OPEN: slot + 1
//!         else the inner read lock; met readers there often enough since the last write: spread
//! unlock  reader: not SPREAD: the inner lock; else slot - 1 if it is OPEN, else gate - 1
//! write   the inner write lock; not free: gather if SPREAD, and again after announcing itself, before it parks
//! spread  (with the inner read lock, which stays behind as the crowd's) MOVING; zero the slots; SPREAD; open them,
//!         this one with 1; clear MOVING; readers left by the gate, or a writer waits in the inner lock: gather
//! gather  MOVING; close the slots; add their counts to the inner lock; clear the gate; unlock the inner lock for the
//!         crowd, and for each reader that left by the gate
//! ```
//!
//! A [`RawRwSem`] inside does all the waiting. All-zero words are an unlocked lock, which is **gathered**: readers have
//! the inner lock. While it is **spread** they touch nothing that others write, and one read lock of the inner lock,
//! the crowd's, keeps writers out.
//!
//! | word | bits | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | a slot | 0 `OPEN` | readers may enter, and leave | a spreader | a gatherer |
//! | | 2..32 | readers that entered here, minus those that left here (may be negative); void while not `SPREAD` | readers | a spreader |
//! | gate | 0 `SPREAD` | readers may be in slots, and the inner lock has the crowd's read lock | a spreader | a gatherer |
//! | | 1 `MOVING` | one thread opens or closes the slots | that thread | that thread |
//! | | 2..26 | minus the number of readers that left by the gate | readers | a gatherer |
//! | | 26..32 | generation of the process in which `MOVING` was set ([`Platform::generation`], low bits); else 0 | with `MOVING` | with `MOVING` |
//!
//! **Readers** are the inner lock's, without the crowd's, plus the counts of all slots and of the gate. A reader may
//! leave anywhere: by another slot than it entered by (its thread may have migrated), by a slot though it has the inner
//! lock, by the gate or the inner lock though it entered by a slot. Only the sum counts.
//!
//! Invariants:
//! 1. While the gate is not 0, one thread at most has set `MOVING` in this process. It alone opens or closes slots, and
//!    changes `SPREAD`.
//! 2. While the lock is gathered, the inner lock has all readers. A reader has a read lock there when it spreads the
//!    lock; so none is in a slot before, and no writer is alone then.
//! 3. A thread changes a slot's count in one exchange, only while the slot is open. A thread that entered by a slot
//!    finds `SPREAD` when it leaves (big_reader.open), unless the lock has been gathered since. One that finds the lock
//!    gathered has a read lock of the inner lock, which no other thread releases.
//! 4. From `SPREAD` on to the end of a gathering the inner lock's count is at least the crowd's 1. The gatherer adds
//!    the slots' counts before it clears the gate, and takes off the crowd's, and those of the gate, afterwards. So the
//!    count is never too small, and exact in the end.
//! 5. A writer that announced itself in the inner lock, and a spreader that has opened the slots, both change the inner
//!    word next (`inner.rs`): the one that comes second sees what the first did, and gathers.
//! 6. A release does not touch the lock after the operation that releases it, except for a wake-up by address.
//! 7. `MOVING` with another generation was inherited in a `fork`, without its thread. A gatherer starts over: the
//!    counts of closed slots stay until the lock is spread again.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. A writer is alone, whether the lock is gathered, spread, or changes (invariants 2 to 4); readers see what
//!   earlier writers wrote (big_reader.open), and a writer comes after the reads of earlier readers (big_reader.leave,
//!   big_reader.gate, and the inner lock's).
//! - A2. A reader may leave on another CPU than it entered on.
//! - A3. A release is its thread's last access to the lock (invariant 6).
//! - P1. No writer sleeps behind the crowd (invariant 5); all waits are those of [`RawRwSem`], with its guarantees. In
//!   particular, where readers go first, a thread that reads may read again.
//! - P2. While no writer comes, a reader of a spread lock never waits: it enters and leaves by an exchange in a slot.
//! - P3. Only writers wait for a thread that spreads or gathers.

use super::inner::{count_more, writer_waits};
use crate::platform::{Deadline, Hint, IntWord, Platform, Word};
use crate::raw::{RawLock, RawRwLock};
use crate::rwsem::RawRwSem;
use crate::wait::{Stamp, Tuned};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const OPEN: u32 = 1;
const SPREAD: u32 = 1;
const MOVING: u32 = 2;
/// One reader.
const ONE: u32 = 4;
const SLOT_COUNT: u32 = !(ONE - 1);
const GATE_COUNT: u32 = 0xff_ffff << 2;
const STAMP: Stamp = Stamp { bits: 0x3f << 26, flags: MOVING };

/// The most readers in one slot. There are up to 256 slots, so the inner lock has room for all.
const MOST: i32 = 1 << 11;

/// How often readers of a gathered lock meet others between two writes, for each slot, before one spreads the lock: to
/// open and close a slot costs about as much as a few reads of a contended lock. A thread counts every 17th of its
/// meetings, with any locks, to keep off the lock's cache line: a prime, since threads read several locks in turn.
pub const SPREAD_AFTER: u32 = 17;

/// The slot of the readers of one or more CPUs, on its own cache lines. All-zero bytes are a closed slot.
///
/// ```
/// assert_eq!(align_of::<turnwise::big_reader::Slot>(), 128);
/// ```
#[repr(align(128))]
#[derive(Debug)]
pub struct Slot<P: Platform = crate::platform::DefaultPlatform> {
    pub(super) count: P::U32,
}

/// A lock that spreads its readers.
///
/// ```
/// use turnwise::big_reader::Spreading;
/// use turnwise::{RawBigReaderLock, RawRwLock};
///
/// let lock = RawBigReaderLock::<8>::new();
/// lock.read();
/// // SAFETY: this thread has just acquired the inner lock.
/// unsafe { Spreading::spread(&lock) };
/// assert!(lock.is_spread() && lock.enter(), "a second reader, in a slot");
/// // SAFETY: this thread has two read locks.
/// assert!(unsafe { lock.leave() && lock.leave() });
/// assert!(lock.try_write(), "gathered");
/// ```
///
/// # Safety
/// The four functions return the same parts each time, which nothing else uses: all zero at first. There may be no
/// slots until a reader is [due](Spreading::is_due) to spread the lock; their number is a power of two up to 256.
pub unsafe trait Spreading {
    /// The platform of its parts.
    type Platform: Platform;

    /// Returns the gate.
    fn gate(&self) -> &<Self::Platform as Platform>::U32;

    /// Returns how many meetings of readers in the gathered lock were counted since the last write; racing additions
    /// may be lost.
    fn met(&self) -> &<Self::Platform as Platform>::U32;

    /// Returns the inner lock.
    fn inner(&self) -> &RawRwSem<Self::Platform>;

    /// Returns the slots.
    fn slots(&self) -> &[Slot<Self::Platform>];

    /// Returns whether readers may be in slots.
    #[inline(always)]
    fn is_spread(&self) -> bool {
        self.gate().load(Relaxed) & SPREAD != 0
    }

    /// Counts the caller as a reader in its slot, if the lock is spread; returns whether it did.
    #[inline(always)]
    fn enter(&self) -> bool {
        self.gate().load(Relaxed) == SPREAD && enter_slot(self)
    }

    /// Releases a read lock, if the lock is spread; otherwise, the caller has a read lock of the inner lock.
    ///
    /// # Safety
    /// The caller has a read lock.
    #[inline(always)]
    unsafe fn leave(&self) -> bool {
        // ORDERING big_reader.gathered: pairs with the exchange that clears the gate: the inner lock then has this
        // reader.
        let gate = self.gate().load(Acquire);
        gate & SPREAD != 0 && leave_slot(self, gate)
    }

    /// Notes that the caller has met other readers in the inner lock. Returns whether it is due to
    /// [spread](Self::spread) the lock.
    #[inline]
    fn is_due(&self) -> bool {
        let Some(me) = Self::Platform::me() else { return false };
        let meetings = me.slot.private.meetings.replace((me.slot.private.meetings.get() + 1) % SPREAD_AFTER);
        if meetings != 0 {
            return false;
        }
        let slots = self.slots().len().max(Self::Platform::hint(Hint::Cpus) as usize) as u32;
        let times = self.met().load(Relaxed);
        // Not with crowds of readers that would not find room in slots.
        let due = times >= slots && self.inner().readers() < MOST.cast_unsigned();
        self.met().store(if due { 0 } else { times + 1 }, Relaxed);
        due
    }

    /// Notes that a writer has the lock.
    #[inline(always)]
    fn written(&self) {
        if self.met().load(Relaxed) != 0 {
            self.met().store(0, Relaxed);
        }
    }

    /// Spreads a gathered lock, unless another thread does; does not wait.
    ///
    /// # Safety
    /// The caller has a read lock of the inner lock: afterwards, it has a read lock.
    #[cold]
    #[inline(never)]
    unsafe fn spread(&self) {
        let (gate, slots) = (self.gate(), self.slots());
        let moving = STAMP.with::<Self::Platform>(0, MOVING);
        // ORDERING big_reader.gathered: pairs with the exchange that clears the gate: the slots are closed.
        if slots.is_empty() || gate.compare_exchange(0, moving, Acquire, Relaxed).is_err() {
            return;
        }
        slots.iter().for_each(|slot| slot.count.store(0, Relaxed));
        gate.fetch_or(SPREAD, Relaxed);
        let here = own_slot(self);
        for Slot { count } in slots {
            let readers = if here.is_some_and(|here| core::ptr::eq(count, here)) { ONE } else { 0 };
            // ORDERING big_reader.open: pairs with big_reader.enter: readers see what writers wrote, and `SPREAD`.
            count.store(OPEN | readers, Release);
        }
        // ORDERING big_reader.opened: pairs with the exchange in `gather`: a thread that finds `SPREAD` alone finds
        // the slots open.
        if gate.compare_exchange(SPREAD | moving, SPREAD, Release, Relaxed).is_err() {
            gather_moving(self);
        } else if writer_waits(self.inner()) {
            self.gather();
        }
    }

    /// Gathers the lock if it is spread, unless another thread does; does not wait.
    #[cold]
    #[inline(never)]
    fn gather(&self) {
        let mut gate = self.gate().load(Relaxed);
        while gate & SPREAD != 0 && (gate & MOVING == 0 || STAMP.is_stale::<Self::Platform>(gate)) {
            let moving = STAMP.with::<Self::Platform>(STAMP.without(gate, MOVING), MOVING);
            // ORDERING big_reader.opened: pairs with the last exchange in `spread`.
            match self.gate().compare_exchange(gate, moving, Acquire, Relaxed) {
                Ok(_) => return gather_moving(self),
                Err(found) => gate = found,
            }
        }
    }

    /// Acquires the lock for writing if it is free.
    #[inline]
    fn try_write(&self) -> bool {
        let taken = self.inner().try_lock() || gathers(self) && self.inner().try_lock();
        if taken {
            self.written();
        }
        taken
    }

    /// Acquires the lock for writing, or gives up at the deadline if there is one; returns whether it acquired it.
    #[inline]
    fn write(&self, deadline: Option<Deadline>, settings: &Tuned) -> bool {
        gathers(self);
        let before_sleep = || {
            writer_waits(self.inner());
            self.gather();
        };
        let taken = self.inner().write_between(deadline, settings, &before_sleep);
        if taken {
            self.written();
        }
        taken
    }

    /// Returns the number of readers, which may change meanwhile.
    fn readers(&self) -> i32 {
        let gate = self.gate().load(Relaxed);
        let inner = self.inner().readers().cast_signed();
        if gate & SPREAD == 0 {
            return inner;
        }
        let count = |slot: &Slot<Self::Platform>| slot.count.load(Relaxed) & SLOT_COUNT;
        inner - 1 + readers(self.slots().iter().fold(0, |sum: u32, slot| sum.wrapping_add(count(slot)))) + left_by(gate)
    }
}

/// Returns the slot of the CPU that this thread is on, if it sees any. Neighbouring CPUs share one if there are more
/// CPUs than slots.
#[inline(always)]
fn own_slot<L: Spreading + ?Sized>(lock: &L) -> Option<&<L::Platform as Platform>::U32> {
    let (slots, cpus) = (lock.slots(), L::Platform::hint(Hint::Cpus) as usize);
    let last = slots.len().checked_sub(1)?;
    let shift = if cpus > slots.len() { (cpus.div_ceil(slots.len()) - 1).ilog2() + 1 } else { 0 };
    Some(&slots[(L::Platform::hint(Hint::Cpu) as usize >> shift) & last].count)
}

#[inline]
fn enter_slot<L: Spreading + ?Sized>(lock: &L) -> bool {
    let Some(slot) = own_slot(lock) else { return false };
    let mut word = slot.load(Relaxed);
    while word & OPEN != 0 {
        if readers(word & SLOT_COUNT) >= MOST {
            lock.gather();
            return false;
        }
        // ORDERING big_reader.enter: pairs with big_reader.open: shows what the last writer wrote, and `SPREAD`.
        match slot.compare_exchange(word, word.wrapping_add(ONE), Acquire, Relaxed) {
            Ok(_) => return true,
            Err(found) => word = found,
        }
    }
    false
}

#[inline]
fn leave_slot<L: Spreading + ?Sized>(lock: &L, mut gate: u32) -> bool {
    let slot = own_slot(lock);
    while gate & SPREAD != 0 {
        if let Some(slot) = slot
            && leave_open(slot)
        {
            return true;
        }
        let left = gate & !GATE_COUNT | gate.wrapping_sub(ONE) & GATE_COUNT;
        // ORDERING big_reader.gate: pairs with big_reader.gathered: a writer comes after our reads. A failure reads the
        // gate as `leave` does.
        match lock.gate().compare_exchange(gate, left, Release, Acquire) {
            Ok(_) => return true,
            Err(found) => gate = found,
        }
    }
    false
}

/// Takes a reader off a slot, if it is open; returns whether it did.
#[inline(always)]
fn leave_open(slot: &impl IntWord<Value = u32>) -> bool {
    let mut word = slot.load(Relaxed);
    while word & OPEN != 0 {
        // ORDERING big_reader.leave: pairs with big_reader.close: a writer comes after our reads.
        match slot.compare_exchange(word, word.wrapping_sub(ONE), Release, Relaxed) {
            Ok(_) => return true,
            Err(found) => word = found,
        }
    }
    false
}

/// Gathers the lock, which is `SPREAD`, for the thread that has set `MOVING`.
fn gather_moving<L: Spreading + ?Sized>(lock: &L) {
    // ORDERING big_reader.close: pairs with big_reader.leave: those that left by this slot are done.
    let close = |slot: &Slot<L::Platform>| slot.count.fetch_and(!OPEN, Acquire) & SLOT_COUNT;
    let inside = lock.slots().iter().fold(0, |sum: u32, slot| sum.wrapping_add(close(slot)));
    count_more(lock.inner(), readers(inside));
    // ORDERING big_reader.gathered: pairs with big_reader.gate: those that left by the gate are done; and with the load
    // in `leave`, and the first exchange in `spread`.
    let gate = lock.gate().swap(0, AcqRel);
    // More only if a thread has released what it did not have.
    let most = lock.inner().readers().cast_signed();
    for _ in 0..(1 - left_by(gate)).min(most) {
        // SAFETY: contract of `unlock_read`: the inner lock has a read lock for each of them, and the crowd's.
        unsafe { lock.inner().unlock_read() };
    }
}

/// Gathers the lock if it is spread; returns whether it was.
#[inline(always)]
fn gathers<L: Spreading + ?Sized>(lock: &L) -> bool {
    let spread = lock.is_spread();
    if spread {
        lock.gather();
    }
    spread
}

/// Returns the count of a word as a signed number.
const fn readers(count: u32) -> i32 {
    count.cast_signed() >> ONE.trailing_zeros()
}

/// Returns the count of the gate: minus the number of readers that left by it.
const fn left_by(gate: u32) -> i32 {
    readers((gate & GATE_COUNT) << STAMP.bits.count_ones()) >> STAMP.bits.count_ones()
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::RawBigReaderLock;
    use crate::platform::Native;

    #[test]
    fn what_a_thread_of_the_parent_began_to_gather_is_gathered_in_a_forked_child() {
        let lock = RawBigReaderLock::<2>::new();
        lock.read();
        // SAFETY: contract of `spread`: just acquired.
        unsafe { Spreading::spread(&lock) };
        assert!(lock.is_spread() && Spreading::readers(&lock) == 1);
        let elsewhere = STAMP.now::<Native>() ^ STAMP.bits;
        lock.gate().store(SPREAD | MOVING | elsewhere, Relaxed);
        lock.slots()[0].count.fetch_and(!OPEN, Relaxed);
        assert!(!lock.try_lock() && !lock.is_spread());
        // SAFETY: contract of `unlock_read`: acquired above.
        unsafe { lock.unlock_read() };
        assert!(lock.try_lock());
    }

    #[test]
    fn readers_beyond_the_room_of_a_slot_gather_the_lock() {
        let lock = RawBigReaderLock::<1>::new();
        lock.spread();
        for _ in 0..=MOST {
            lock.read();
        }
        assert!(!lock.is_spread() && Spreading::readers(&lock) == MOST + 1);
        // SAFETY: contract of `unlock_read`: acquired as often.
        (0..=MOST).for_each(|_| unsafe { lock.unlock_read() });
        assert!(lock.try_lock());
    }

    #[test]
    fn counts_have_signs() {
        assert_eq!(readers(ONE.wrapping_neg()), -1);
        assert_eq!(left_by(SPREAD | MOVING | STAMP.bits | 3u32.wrapping_mul(ONE).wrapping_neg() & GATE_COUNT), -3);
        assert_eq!(left_by(SPREAD | STAMP.bits), 0);
    }
}
