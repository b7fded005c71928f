//! The readers-writer lock, without data: any number of readers, or one writer.
//!
//! The word, 4 bytes (zero: unlocked):
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0..28 | count | readers; with `WRITER`: the writer's token | whoever takes the lock | whoever releases it |
//! | 28 | `WRITER` | a writer has the lock | it | it, in `unlock_write` |
//! | 29 | `CLAIM` | a writer with preference waits: readers that respect it stay out | it, before it sleeps | a writer that set it, when it takes the lock or gives up |
//! | 30 | `READERS` | a reader may sleep | it, before it sleeps | a release that wakes them all |
//! | 31 | `WRITERS` | a writer may sleep, and none that was woken is on the way | it, before it sleeps | a release that wakes one |
//!
//! With feature `spin` four more bytes follow: the queue of spinning writers ([`crate::osq`]).
//!
//! Invariants:
//! 1. A reader sleeps only while `READERS` is set; a release clears it and wakes all of them, unless `CLAIM` is set.
//! 2. A writer sleeps only while `WRITERS` is set or a woken writer is on the way. A woken writer either takes the lock
//!    with `WRITERS` set again, or sets it before it sleeps or gives up: the duty to wake the next is never lost.
//! 3. While `CLAIM` is set, a writer that set it has not left. It clears the bit when it leaves, on behalf of all that
//!    set it (they set it again before they next sleep), and if it leaves without the lock it wakes the readers.
//!    (Only a `fork` can break this: readers let a claim on a free lock lapse after [`crate::mutex::PROMISE_NS`].)
//! 4. A release does not touch the lock after the exchange that frees it: another thread may then free its memory.
//!    The wake-ups that follow use the address alone.
//!
//! Readers enter by compare-exchange, not by an addition that is taken back if a writer is in: a count that is never
//! wrong lets a writer take a free lock at the first try, and a release sees exactly whether it was the last.
//! The price is a retry for each reader that comes or goes in between.

#[cfg(feature = "spin")]
mod spin;

use crate::mutex::await_promised;
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{Deadline, DefaultPlatform, Lane, Parked, Platform, Word};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const COUNT: u32 = (1 << 28) - 1;
const WRITER: u32 = 1 << 28;
const CLAIM: u32 = 1 << 29;
const READERS: u32 = 1 << 30;
const WRITERS: u32 = 1 << 31;
/// Somebody has the lock.
const HELD: u32 = COUNT | WRITER;

/// Where readers sleep: apart from the writers, so that either can be woken alone.
const READERS_LANE: Lane = Lane::First;
const WRITERS_LANE: Lane = Lane::Waiters;

/// Who goes first when a writer waits and a reader comes. All users of one lock should pass the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefer {
    /// The reader: a thread that reads may read again, whoever waits. Readers can starve a writer for ever.
    #[default]
    Readers,
    /// The writer, once it sleeps: readers cannot starve it, and a thread that reads must not read again.
    Writers,
}

impl Prefer {
    /// What keeps a reader out.
    const fn barred(self) -> u32 {
        match self {
            Prefer::Readers => WRITER,
            Prefer::Writers => WRITER | CLAIM,
        }
    }
}

/// The readers-writer lock without data. Zero bytes = unlocked.
///
/// There is no typed lock on top of it yet. At most 2^28 - 1 read locks can be held at a time; one more waits.
#[repr(C)]
pub struct RawRwSem<P: Platform = DefaultPlatform> {
    word: P::U32,
    #[cfg(feature = "spin")]
    spinners: Osq<P>,
}

impl RawRwSem {
    /// An unlocked lock.
    #[must_use]
    pub const fn new() -> Self {
        RawRwSem {
            word: core::sync::atomic::AtomicU32::new(0),
            #[cfg(feature = "spin")]
            spinners: Osq::new(),
        }
    }
}

impl Default for RawRwSem {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawRwSem<P> {
    /// An unlocked lock on any platform.
    pub fn new_in() -> Self {
        RawRwSem {
            word: P::U32::new(0),
            #[cfg(feature = "spin")]
            spinners: Osq::new_in(),
        }
    }

    /// Acquires the lock for reading.
    #[inline]
    pub fn read(&self) {
        self.read_with(Prefer::Readers, None);
    }

    /// Acquires the lock for reading, or gives up at `deadline`; says whether it got it.
    #[inline]
    pub fn read_until(&self, deadline: Deadline) -> bool {
        self.read_with(Prefer::Readers, Some(deadline))
    }

    /// Acquires the lock for reading if no writer has it.
    #[inline]
    pub fn try_read(&self) -> bool {
        self.try_read_with(Prefer::Readers)
    }

    /// Acquires the lock for writing.
    #[inline]
    pub fn write(&self) {
        self.write_with(Prefer::Readers, None);
    }

    /// Acquires the lock for writing, or gives up at `deadline`; says whether it got it.
    #[inline]
    pub fn write_until(&self, deadline: Deadline) -> bool {
        self.write_with(Prefer::Readers, Some(deadline))
    }

    /// Like [`RawRwSem::read`] or [`RawRwSem::read_until`], with a choice of who goes first.
    #[inline]
    pub fn read_with(&self, prefer: Prefer, deadline: Option<Deadline>) -> bool {
        self.try_read_with(prefer) || self.read_slow(prefer, deadline)
    }

    /// Like [`RawRwSem::try_read`], with a choice of who goes first.
    #[inline]
    pub fn try_read_with(&self, prefer: Prefer) -> bool {
        let mut word = 0;
        loop {
            // ORDERING rwsem.read: pairs with rwsem.unlock_write; shows what the last writer wrote.
            match self.word.compare_exchange(word, word + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) if !may_read(found, prefer) => return false,
                Err(found) => word = found,
            }
        }
    }

    /// Like [`RawRwSem::write`] or [`RawRwSem::write_until`], with a choice of who goes first.
    #[inline]
    pub fn write_with(&self, prefer: Prefer, deadline: Option<Deadline>) -> bool {
        self.try_write() || self.write_slow(prefer, deadline)
    }

    /// Acquires the lock for writing if it is free.
    #[inline]
    pub fn try_write(&self) -> bool {
        let mut word = 0;
        loop {
            match self.take(word, 0) {
                Ok(_) => return true,
                Err(found) if found & HELD != 0 => return false,
                Err(found) => word = found,
            }
        }
    }

    /// Free, as `word` says -> ours for writing, with flags `extra` set.
    #[inline(always)]
    fn take(&self, word: u32, extra: u32) -> Result<u32, u32> {
        // ORDERING rwsem.write: pairs with rwsem.unlock_write and rwsem.unlock_read: all who had the lock are done.
        self.word.compare_exchange(word, word | WRITER | P::current().get() | extra, Acquire, Relaxed)
    }

    /// Releases a read lock; the last reader wakes whoever waits.
    ///
    /// # Safety
    /// The caller has a read lock.
    #[inline]
    pub unsafe fn unlock_read(&self) {
        let address = &raw const self.word;
        let mut word = 1;
        loop {
            let new = if word & COUNT == 1 { freed(word) } else { word - 1 };
            // ORDERING rwsem.unlock_read: pairs with rwsem.write: the writer comes after our reads.
            match self.word.compare_exchange(word, new, Release, Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        if word & COUNT == 1 && word & (READERS | WRITERS) != 0 {
            wake_after::<P>(address, word);
        }
    }

    /// Releases the write lock, then wakes whoever waits.
    ///
    /// # Safety
    /// The caller has the write lock.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        let address = &raw const self.word;
        // Also fails when the thread locked as `Token::ANONYMOUS` and has a token of its own by now.
        let mut word = WRITER | P::current().get();
        loop {
            // ORDERING rwsem.unlock_write: pairs with rwsem.read and rwsem.write.
            match self.word.compare_exchange(word, freed(word), Release, Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        if word & (READERS | WRITERS) != 0 {
            wake_after::<P>(address, word);
        }
    }

    /// Whether a writer has the lock.
    pub fn is_write_locked(&self) -> bool {
        self.word.load(Relaxed) & WRITER != 0
    }

    /// Whether anybody has the lock.
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }

    #[cold]
    #[inline(never)]
    fn read_slow(&self, prefer: Prefer, deadline: Option<Deadline>) -> bool {
        #[cfg(feature = "spin")]
        if spin::read(self, prefer, deadline) {
            return true;
        }
        let mut timed_out = false;
        loop {
            let word = self.word.load(Relaxed);
            if may_read(word, prefer) {
                if self.try_read_with(prefer) {
                    return true;
                }
            } else if timed_out {
                return false; // readers have no duty: they are woken together
            } else {
                self.sleep_reading(word, prefer, deadline);
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
            }
        }
    }

    /// A reader's sleep, unless the word is no longer `word`.
    fn sleep_reading(&self, word: u32, prefer: Prefer, deadline: Option<Deadline>) {
        if word & prefer.barred() == 0 {
            return P::yield_now(); // the count is full, and nobody would wake us
        }
        let announced = word | READERS;
        if announced != word && self.word.compare_exchange(word, announced, Relaxed, Relaxed).is_err() {
            return;
        }
        if word & HELD == 0 {
            await_promised::<P>(&self.word, announced, CLAIM, READERS_LANE, deadline);
            return;
        }
        if P::park(&self.word, announced, READERS_LANE, deadline) == Parked::Woken {
            #[cfg(feature = "spin")]
            spin::woken(self, prefer.barred());
        }
    }

    #[cold]
    #[inline(never)]
    fn write_slow(&self, prefer: Prefer, deadline: Option<Deadline>) -> bool {
        #[cfg(feature = "spin")]
        if spin::write(self, deadline) {
            return true;
        }
        let claim = if prefer == Prefer::Writers { CLAIM } else { 0 };
        Writer { woken: false, claim, claimed: false }.wait(self, deadline)
    }
}

fn may_read(word: u32, prefer: Prefer) -> bool {
    word & prefer.barred() == 0 && word & COUNT != COUNT
}

/// What the word becomes when the lock falls free.
#[inline]
fn freed(word: u32) -> u32 {
    if word & CLAIM != 0 { word & (CLAIM | READERS) } else { 0 }
}

/// Wakes whom the release of `word` leaves to be woken. Uses the address alone (invariant 4).
#[cold]
fn wake_after<P: Platform>(address: *const P::U32, word: u32) {
    if word & READERS != 0 && word & CLAIM == 0 {
        P::wake(address, READERS_LANE, u32::MAX);
    }
    if word & WRITERS != 0 {
        P::wake(address, WRITERS_LANE, 1);
    }
}

/// A writer in the sleeping stage.
struct Writer {
    /// It was woken since it came (invariant 2).
    woken: bool,
    /// `CLAIM` if it has preference, or 0.
    claim: u32,
    /// It has set `CLAIM` since it came (invariant 3).
    claimed: bool,
}

impl Writer {
    fn wait<P: Platform>(&mut self, lock: &RawRwSem<P>, deadline: Option<Deadline>) -> bool {
        let mut timed_out = false;
        loop {
            let word = lock.word.load(Relaxed);
            if word & HELD == 0 {
                if self.take(lock, word) {
                    return true;
                }
            } else if timed_out {
                if self.give_up(lock, word) {
                    return false;
                }
            } else if let Some(word) = self.announce(lock, word) {
                self.sleep(lock, word, deadline);
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
            }
        }
    }

    fn sleep<P: Platform>(&mut self, lock: &RawRwSem<P>, word: u32, deadline: Option<Deadline>) {
        if P::park(&lock.word, word, WRITERS_LANE, deadline) == Parked::Woken {
            self.woken = true;
            #[cfg(feature = "spin")]
            spin::woken(lock, HELD);
        }
    }

    fn take<P: Platform>(&self, lock: &RawRwSem<P>, word: u32) -> bool {
        let others = if self.woken { WRITERS } else { 0 };
        let claim = if self.claimed { CLAIM } else { 0 };
        // ORDERING rwsem.write: as in `RawRwSem::take`.
        let new = word & !claim | others | WRITER | P::current().get();
        lock.word.compare_exchange(word, new, Acquire, Relaxed).is_ok()
    }

    /// Makes the word say that we are about to sleep; returns it, or `None` if it changed meanwhile.
    fn announce<P: Platform>(&mut self, lock: &RawRwSem<P>, word: u32) -> Option<u32> {
        let new = word | WRITERS | self.claim;
        if new != word && lock.word.compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        self.claimed |= self.claim != 0;
        Some(new)
    }

    /// Leaves without the lock; `false` if the word changed meanwhile, so that it may be ours after all.
    fn give_up<P: Platform>(&self, lock: &RawRwSem<P>, word: u32) -> bool {
        if !self.claimed && !self.woken {
            return true;
        }
        let withdrawn = self.claimed && word & CLAIM != 0;
        let cleared = if withdrawn { CLAIM | READERS } else { 0 };
        if lock.word.compare_exchange(word, word & !cleared | WRITERS, Relaxed, Relaxed).is_err() {
            return false;
        }
        if withdrawn && word & READERS != 0 {
            P::wake(&raw const lock.word, READERS_LANE, u32::MAX);
        }
        true
    }
}
