//! The readers-writer lock, without data: any number of readers, or one writer, and alongside the readers one
//! upgradable reader, which may become the writer without releasing the lock. (Readers that add and writers that steal:
//! Linux's rwsem, 2013; its spinning and hand-off as in [`crate::mutex`].) Example: [`RawRwSem`].
//!
//! ```text
//! read       count + 1: entered. The word found bars it: count - 1, unless nothing bars it now; then the slow path:
//!            poll while a writer runs; set READERS; park; woken: again; past handoff_after_ns: pass WRITERS,
//!            set HANDOFF
//! write      free, without HANDOFF -> WRITER (steals from sleepers); else the slow path: optimistic spin in the queue;
//!            set WRITERS; park; woken: spin again, take it with WRITERS set; past handoff_after_ns: set HANDOFF
//! unlock     reader: count - 1; the last one wakes the upgrader, else the hand-off waiter, else one writer
//!            writer: HANDOFF: clear WRITER, wake the hand-off waiter; else clear all flags, wake all readers and one
//!            writer
//! upgrade    UPGRADABLE alone -> WRITER; else set WRITER, too; spin, park until the count is 0; clear UPGRADABLE
//! downgrade  as unlock, but 1 in the count, or UPGRADABLE, stays
//! ```
//!
//! The word, 4 bytes (zero: unlocked):
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0..21 | count | readers, and threads that counted themselves and are about to undo it | an addition | a subtraction |
//! | 20 | `FULL` | the count's highest bit: no more readers for now | | |
//! | 21..27 | generation | of the process in which flags from 29 on were set ([`Platform::generation`], low bits); else 0 | with the flags | with the flags |
//! | 27 | `UPGRADABLE` | an upgradable reader has the lock; it is not in the count | that reader | that reader |
//! | 28 | `WRITER` | a writer has the lock; with `UPGRADABLE`: waits for the readers to leave, and does not bar those that go first | that writer | that writer |
//! | 29 | `HANDOFF` | only the waiter that set it may take the lock next | a waiter past `handoff_after_ns` | the taker, or the waiter that set it |
//! | 30 | `READERS` | a reader, or a thread that waits to be upgradable, may sleep | that thread, before it sleeps | a thread that lets all readers in, and wakes them |
//! | 31 | `WRITERS` | a writer may sleep: newly arriving readers stay out | that thread, before it sleeps | a thread that wakes one |
//!
//! With feature `spin` eight more bytes follow: the token of the last writer, a hint for spinners, and their queue
//! ([`crate::osq`]). Until a barred reader has undone its addition the count is too high by one, and a lock reserved
//! for others may appear held. Such a count is indistinguishable from a real one, so all threads obey invariant 1.
//!
//! Invariants:
//! 1. A thread that takes the count from 1 to 0, by leaving or by undoing its addition, owes the wake-ups: of the
//!    upgrader if there is one, else of the hand-off waiter, else of one writer; of none while a writer or an
//!    upgradable reader has the lock, which then owes them. So a thread that went to sleep because of too high a count
//!    is woken when the count is correct again.
//! 2. `READERS` is set only together with a flag that bars its reader. A thread that clears the last such flag clears
//!    `READERS` in the same exchange, and wakes all readers. "Reader" includes a thread that waits to be upgradable,
//!    which bars no reader from a lock that an upgradable reader has: not by `READERS`, nor by `HANDOFF` (invariant 5).
//! 3. A writer sleeps (in its lane) only while `WRITERS` is set, or a woken writer is on its way. A woken writer takes
//!    the lock with `WRITERS` set again, sets it before it sleeps, or wakes the next when it gives up.
//! 4. While `WRITERS` is set and no writer has the lock, one that announced itself sleeps or is on its way; it takes
//!    the lock, or withdraws the announcement on behalf of all (they are woken and announce themselves again).
//! 5. `HANDOFF` is set by one thread. While it is set no other thread takes the lock; a thread that then frees the lock
//!    wakes all of lane `First`. Invariants 4 and 5 end when a thread has found the lock free but reserved for the
//!    lifetime of a hand-off ([`Lapse`]): it takes the lock, clears all flags and wakes all waiters. A thread that
//!    leaves a lock to one that is not asleep wakes another in its place, which then finds it so. A thread that clears
//!    `HANDOFF` in a lock that is not free wakes lane `First`: one whose request has lapsed may have cleared another's.
//! 6. All this holds for flags with the generation of this process. Those with another are stale: they were inherited
//!    in a `fork`, without the threads. A thread that reads the word clears them before anything else
//!    ([`Stamp::clear_stale`]); one that sleeps here has done so.
//! 7. A release does not touch the lock after the operation that releases it: another thread may then free its memory.
//!    The wake-ups that follow use only the address. (The last reader to leave therefore leaves `WRITERS` set; the
//!    woken writer, or one that takes the lock in between, clears it when it leaves.)
//! 8. Every thread has at most one addition in flight, so the count stays below twice `FULL` and never overflows.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. A writer is alone; readers, one of them upgradable, share. They see what earlier writers wrote (rwsem.read,
//!   rwsem.write, rwsem.release), and a writer comes after the reads of earlier readers (rwsem.unlock_read).
//! - A2. No writer comes between an upgrade or a downgrade and what it follows.
//! - A3. A release is its thread's last access to the lock (invariant 7).
//! - P1. A thread sleeps only if another one will wake it (invariants 1 to 4).
//! - P2. With [`Prefer::Writers`] neither side starves the other: a sleeping writer keeps new readers out, and a waiter
//!   woken past `handoff_after_ns` that cannot enter requests the next turn. With [`Prefer::Readers`] a thread that
//!   reads may read again, and writers may starve.
//! - P3. A hand-off lapses, and is void in a forked child: it bars no other thread for ever (invariants 5 and 6).
//! - P4. Tries do not wait (a passing addition may make them fail); a timed wait ends at its deadline, and passes on a
//!   wake-up that it received.
//! - P5. The count does not overflow (invariant 8): a reader beyond `FULL` polls until another one leaves.

use super::Prefer;
use super::wake::{left, left_for_good, wake_after, wake_all};
use crate::events::{Counters, Event, Kind};
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{Deadline, DefaultPlatform, IntWord, Platform, Word};
use crate::raw::{GuardNoSend, RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::wait::{Lapse, Stamp, Tuned};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(super) const COUNT: u32 = (1 << 21) - 1;
pub(super) const FULL: u32 = 1 << 20;
pub(super) const GENERATION: u32 = 0x3f << 21;
pub(super) const UPGRADABLE: u32 = 1 << 27;
pub(super) const WRITER: u32 = 1 << 28;
pub(crate) const HANDOFF: u32 = 1 << 29;
pub(super) const READERS: u32 = 1 << 30;
pub(crate) const WRITERS: u32 = 1 << 31;
/// The flags on which threads without the lock rely.
const FLAGS: u32 = HANDOFF | READERS | WRITERS;
/// The bits that show that the lock is held, or appears to be.
pub(super) const HELD: u32 = COUNT | UPGRADABLE | WRITER;
/// The bits that keep a newly arriving upgradable reader out.
pub(super) const NOT_UPGRADABLE: u32 = UPGRADABLE | WRITER | HANDOFF;

/// The stamp of the process in which the flags were set.
pub(super) const STAMP: Stamp = Stamp { bits: GENERATION, flags: FLAGS };

/// A readers-writer lock without data. All-zero bytes are an unlocked lock.
///
/// ```
/// use turnwise::{RawLock, RawRwSem};
///
/// static LOCK: RawRwSem = RawRwSem::new();
/// assert!(LOCK.try_lock() && !LOCK.try_lock());
/// ```
#[repr(C)]
pub struct RawRwSem<P: Platform = DefaultPlatform> {
    pub(crate) word: P::U32,
    /// The token of the writer that has the lock, or of one that had it: never cleared, so that a release is one
    /// exchange.
    #[cfg(feature = "spin")]
    pub(super) owner: P::U32,
    #[cfg(feature = "spin")]
    pub(super) spinners: Osq<P>,
    pub(super) counters: Counters<{ Kind::RwSem as usize }>,
}

raw_constructors!(default RawRwSem, "an unlocked lock", {
    word: U32,
    #[cfg(feature = "spin")]
    owner: U32,
    #[cfg(feature = "spin")]
    spinners: [Osq<P>],
    counters: (Counters::new()),
});

// SAFETY: there is one writer at a time, and no reader alongside it; it acquires (rwsem.write) what others released
// (rwsem.release, rwsem.unlock_read). The owner's word names its thread, so guards stay on it.
unsafe impl<P: Platform> RawLock for RawRwSem<P> {
    const NAME: &'static str = "RwSem";
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    #[inline]
    fn lock(&self) {
        self.write_between(None, &Tuned::POLICY, &|| ());
    }

    /// Acquires the lock for writing if it is free. May fail on a free lock that is reserved for others, while a reader
    /// finds itself barred by that.
    #[inline]
    fn try_lock(&self) -> bool {
        self.counters.attempt(self.take_write())
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.release(WRITER, 0);
    }

    fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }

    /// Returns what has happened to this lock so far. Upgrades are not counted.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }
}

// SAFETY: it acquires as `lock` does.
unsafe impl<P: Platform> RawTimedLock for RawRwSem<P> {
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.write_between(Some(deadline), &Tuned::POLICY, &|| ())
    }
}

// SAFETY: readers enter (rwsem.read) while there is no writer, and keep later ones out.
unsafe impl<P: Platform> RawRwLock for RawRwSem<P> {
    /// Acquires the lock for reading. Writers go first once they sleep ([`Prefer::Writers`]), so a thread that reads
    /// must not call this again.
    #[inline]
    fn read(&self) {
        self.counters
            .acquisition_by(self.enter(Prefer::Writers), || self.read_slow(Prefer::Writers, None, &Tuned::POLICY));
    }

    /// Acquires the lock for reading, unless a writer holds it or waits.
    #[inline]
    fn try_read(&self) -> bool {
        self.try_read_with(Prefer::Writers)
    }

    #[inline]
    unsafe fn unlock_read(&self) {
        let address = &raw const self.word;
        // ORDERING rwsem.unlock_read: pairs with rwsem.write: the writer's accesses come after our reads.
        let found = self.word.fetch_sub(1, Release);
        if found & (WRITER | HANDOFF | WRITERS) != 0 {
            left_for_good::<P>(address, found);
        }
    }
}

// SAFETY: it acquires as `read` does.
unsafe impl<P: Platform> RawTimedRwLock for RawRwSem<P> {
    #[inline]
    fn read_until(&self, deadline: Deadline) -> bool {
        self.read_with(Prefer::Writers, Some(deadline))
    }
}

shows!([P: Platform] RawRwSem<P>, |lock| locked: lock.is_locked());

impl<P: Platform> RawRwSem<P> {
    /// Acquires the lock for reading, with a choice of which side goes first, or gives up at the deadline if there is
    /// one; returns whether it acquired it. It reads the word before it adds.
    #[inline]
    pub fn read_with(&self, prefer: Prefer, deadline: Option<Deadline>) -> bool {
        self.counters.acquisition_by(self.poll_and_enter(prefer), || self.read_slow(prefer, deadline, &Tuned::POLICY))
    }

    /// Acquires the lock for reading if that is possible at once, with a choice of which side goes first.
    #[inline]
    pub fn try_read_with(&self, prefer: Prefer) -> bool {
        self.counters.attempt(self.poll_and_enter(prefer) || self.enter_past(prefer))
    }

    /// Tries again for a reader that found itself barred, perhaps by stale flags.
    #[cold]
    fn enter_past(&self, prefer: Prefer) -> bool {
        let found = self.word.load(Relaxed);
        let word = STAMP.clear_stale::<P>(&self.word, found);
        match (prefer.bars(word), prefer.keeps_out(word)) {
            (0, _) => word != found && self.enter(prefer),
            (_, 0) => self.take(word, word + 1).is_ok(),
            _ => self.take_lapsed(word, 1),
        }
    }

    /// Takes a free lock that is reserved for others, if that reservation has lapsed, in the mode `hold`.
    fn take_lapsed(&self, word: u32, hold: u32) -> bool {
        let (mut lapse, reserved) = (Lapse::NONE, word & HELD == 0 && word & FLAGS != 0);
        let taken = lapse.has_come::<P>(self.address(), word, reserved) && self.take(word, hold).is_ok();
        if taken {
            lapse.end::<P>(self.address());
            wake_all::<P>(&raw const self.word, word);
        }
        taken
    }

    pub(super) fn address(&self) -> usize {
        (&raw const self.word).addr()
    }

    #[inline]
    pub(super) fn poll_and_enter(&self, prefer: Prefer) -> bool {
        // Read first: a thread that tries again and again must not keep the count above 0.
        prefer.bars(self.word.load(Relaxed)) == 0 && self.enter(prefer)
    }

    /// Counts the caller as a reader, or undoes that if the word that it found bars it, and still does.
    #[inline(always)]
    pub(super) fn enter(&self, prefer: Prefer) -> bool {
        prefer.bars(self.count_in()) == 0 || !self.take_back(prefer)
    }

    #[inline(always)]
    fn count_in(&self) -> u32 {
        // ORDERING rwsem.read: pairs with rwsem.release; shows what the last writer wrote.
        self.word.fetch_add(1, Acquire)
    }

    /// Acquires the lock for reading, or gives up at the deadline if there is one (`None`); returns whether it met
    /// other readers, and no writer.
    #[inline]
    pub(crate) fn read_and_meet(&self, deadline: Option<Deadline>) -> Option<bool> {
        let found = self.count_in();
        let barred = found & Prefer::Writers.barred() != 0;
        let taken = !barred || !self.take_back(Prefer::Writers);
        let got = self.counters.acquisition_by(taken, || self.read_slow(Prefer::Writers, deadline, &Tuned::POLICY));
        got.then_some(!barred && found & COUNT != 0)
    }

    /// Undoes the addition of [`RawRwSem::enter`]; returns whether it did. If nothing bars the caller any longer, the
    /// addition stands, and it has the lock: else a writer that has left would find it held by a thread that leaves.
    #[cold]
    fn take_back(&self, prefer: Prefer) -> bool {
        loop {
            // ORDERING rwsem.read: pairs with rwsem.release, as in `count_in`.
            let word = self.word.load(Acquire);
            if prefer.bars(word - 1) == 0 {
                return false;
            }
            if self.word.compare_exchange(word, word - 1, Relaxed, Relaxed).is_ok() {
                // This thread then finds out for which thread the lock is reserved.
                let _ = left::<P>(&raw const self.word, word);
                return true;
            }
        }
    }

    /// Releases a read lock like [`RawRwLock::unlock_read`], with a choice of which side goes first.
    ///
    /// Where readers go first ([`Prefer::Readers`]) they enter despite sleeping writers, and each last reader to leave
    /// would wake one once more. So there the last reader clears the flags, at the price of a load before.
    ///
    /// # Safety
    /// The caller has a read lock.
    #[inline]
    pub unsafe fn unlock_read_with(&self, prefer: Prefer) {
        let address = &raw const self.word;
        if prefer == Prefer::Readers {
            let word = self.word.load(Relaxed);
            let last = word & (HELD | HANDOFF) == 1 && word & (READERS | WRITERS) != 0;
            // ORDERING rwsem.unlock_read: pairs with rwsem.write, as in `unlock_read`.
            if last && self.word.compare_exchange(word, 0, Release, Relaxed).is_ok() {
                return wake_all::<P>(address, word);
            }
        }
        // SAFETY: contract of `unlock_read_with`, which is that of `unlock_read`.
        unsafe { self.unlock_read() }
    }

    /// Acquires the lock for writing, or gives up at the deadline if there is one; returns whether it acquired it.
    /// Calls `before_sleep` each time between the announcement that this thread sleeps and its sleep.
    #[inline]
    pub(crate) fn write_between(&self, deadline: Option<Deadline>, settings: &Tuned, before_sleep: &dyn Fn()) -> bool {
        let taken = self.take(0, WRITER).is_ok() && self.own();
        self.counters.acquisition_by(taken, || self.write_slow(deadline, settings, before_sleep))
    }

    /// Returns the number of readers, threads included that are about to undo their addition.
    #[inline(always)]
    pub fn readers(&self) -> u32 {
        self.word.load(Relaxed) & COUNT
    }

    #[inline]
    pub(super) fn take_write(&self) -> bool {
        match self.take(0, WRITER) {
            Ok(_) => self.own(),
            Err(found) => self.take_write_past(found),
        }
    }

    /// Tries to acquire for writing a lock whose word had flags or a count: it may be free though threads sleep.
    #[cold]
    fn take_write_past(&self, found: u32) -> bool {
        let mut word = STAMP.clear_stale::<P>(&self.word, found);
        while word & (HELD | HANDOFF) == 0 {
            match self.take(word, word | WRITER) {
                Ok(_) => {
                    self.counters.count_if(word & (READERS | WRITERS) != 0, Event::Stole);
                    return self.own();
                }
                Err(found) => word = found,
            }
        }
        self.take_lapsed(word, WRITER) && self.own()
    }

    /// Acquires the lock for reading, with the right to upgrade: alongside readers, but not another upgradable reader.
    #[inline]
    pub fn upgradable_read(&self) {
        self.upgradable_read_with(None);
    }

    /// Acquires the lock for upgradable reading, or gives up at `deadline`; returns whether it acquired it.
    #[inline]
    pub fn upgradable_read_until(&self, deadline: Deadline) -> bool {
        self.upgradable_read_with(Some(deadline))
    }

    #[inline]
    fn upgradable_read_with(&self, deadline: Option<Deadline>) -> bool {
        self.counters.acquisition_by(self.take_upgradable(), || self.upgradable_slow(deadline))
    }

    /// Acquires the lock for upgradable reading if no writer and no other upgradable reader holds it.
    #[inline]
    pub fn try_upgradable_read(&self) -> bool {
        self.counters.attempt(self.take_upgradable())
    }

    #[inline]
    pub(super) fn take_upgradable(&self) -> bool {
        let mut word = 0;
        loop {
            match self.take(word, word | UPGRADABLE) {
                Ok(_) => return true,
                Err(found) if found & NOT_UPGRADABLE == 0 => word = found,
                Err(found) => word = STAMP.clear_stale::<P>(&self.word, found),
            }
            if word & NOT_UPGRADABLE != 0 {
                return self.take_lapsed(word, UPGRADABLE);
            }
        }
    }

    /// Performs the exchange by which all but ordinary readers acquire the lock.
    #[inline(always)]
    pub(super) fn take(&self, word: u32, new: u32) -> Result<u32, u32> {
        // ORDERING rwsem.write: pairs with rwsem.release and rwsem.unlock_read: all former owners are done.
        self.word.compare_exchange(word, new, Acquire, Relaxed)
    }

    /// Stores the caller as the writer; always returns `true`.
    #[inline(always)]
    pub(super) fn own(&self) -> bool {
        #[cfg(feature = "spin")]
        if self.owner.load(Relaxed) != P::current().get() {
            // A store before the next locked instruction costs more than a load.
            self.owner.store(P::current().get(), Relaxed);
        }
        true
    }

    /// Turns the write lock into a read lock, and lets waiting readers in.
    ///
    /// # Safety
    /// The caller has the write lock.
    #[inline]
    pub unsafe fn downgrade(&self) {
        self.release(WRITER, 1);
    }

    /// Turns the write lock into an upgradable read lock, and lets waiting readers in.
    ///
    /// # Safety
    /// The caller has the write lock.
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        self.release(WRITER, UPGRADABLE);
    }

    /// Releases the upgradable read lock, then wakes the next waiters.
    ///
    /// # Safety
    /// The caller has the upgradable read lock.
    #[inline]
    pub unsafe fn unlock_upgradable(&self) {
        self.release(UPGRADABLE, 0);
    }

    /// Turns the upgradable read lock into an ordinary read lock.
    ///
    /// # Safety
    /// The caller has the upgradable read lock.
    #[inline]
    pub unsafe fn downgrade_upgradable(&self) {
        self.release(UPGRADABLE, 1);
    }

    /// Turns the upgradable read lock into the write lock when the readers have left; no others enter meanwhile, except
    /// those that go first ([`Prefer::Readers`]). A thread that also has a read lock deadlocks: it waits for itself to
    /// leave.
    ///
    /// # Safety
    /// The caller has the upgradable read lock.
    #[inline]
    pub unsafe fn upgrade(&self) {
        let _ = self.try_upgrade_from(UPGRADABLE).is_ok() || self.upgrade_slow(None);
    }

    /// Turns the upgradable read lock into the write lock, or gives up at `deadline` and keeps the upgradable read
    /// lock; returns whether it acquired the write lock.
    ///
    /// # Safety
    /// The caller has the upgradable read lock.
    #[inline]
    pub unsafe fn upgrade_until(&self, deadline: Deadline) -> bool {
        self.try_upgrade_from(UPGRADABLE).is_ok() || self.upgrade_slow(Some(deadline))
    }

    /// Turns the upgradable read lock into the write lock if there are no other readers; returns whether it did.
    ///
    /// # Safety
    /// The caller has the upgradable read lock.
    #[inline]
    pub unsafe fn try_upgrade(&self) -> bool {
        let mut word = UPGRADABLE;
        loop {
            match self.try_upgrade_from(word) {
                Ok(_) => return true,
                Err(found) if found & COUNT != 0 => return false,
                Err(found) => word = found,
            }
        }
    }

    #[inline(always)]
    fn try_upgrade_from(&self, word: u32) -> Result<u32, u32> {
        let found = self.take(word, word & !UPGRADABLE | WRITER)?;
        self.own();
        Ok(found)
    }

    /// Returns whether a writer holds the lock.
    pub fn is_write_locked(&self) -> bool {
        self.word.load(Relaxed) & (WRITER | UPGRADABLE) == WRITER
    }

    /// Returns whether the number of read locks is at its maximum: a reader waits until one is released.
    pub fn is_full(&self) -> bool {
        self.word.load(Relaxed) & FULL != 0
    }

    /// Releases all that the caller holds except `keep`. `likely` is the word if no other thread has changed it.
    #[inline(always)]
    fn release(&self, likely: u32, keep: u32) {
        // ORDERING rwsem.release: pairs with rwsem.read and rwsem.write: shows what we wrote, and that we have read.
        if self.word.compare_exchange(likely, keep, Release, Relaxed).is_err() {
            self.release_slow(keep);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn release_slow(&self, keep: u32) {
        let address = &raw const self.word;
        let mut word = STAMP.clear_stale::<P>(&self.word, self.word.load(Relaxed));
        loop {
            // ORDERING rwsem.release: pairs with rwsem.read and rwsem.write, as in `release`.
            match self.word.compare_exchange(word, released(word) + keep, Release, Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        wake_after::<P>(address, word);
        if keep == UPGRADABLE && word & HANDOFF != 0 {
            wake_all::<P>(address, word & READERS); // the hand-off request no longer bars them
        }
    }
}

/// Returns the word after its writer or upgradable reader has left, except for the part that it keeps: all waiters are
/// let in, or only the hand-off waiter, and then the others stay announced.
fn released(word: u32) -> u32 {
    if word & HANDOFF != 0 { word & !(WRITER | UPGRADABLE) } else { word & COUNT }
}

#[cfg(test)]
mod tests;
