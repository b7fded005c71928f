//! The adaptive mutex, without data: a waiter spins in a queue while the owner runs, then sleeps. (The queue of
//! spinners, 2013, and the hand-off: Linux's mutex. Spinning only while the owner runs: OSv, 2014.) Example:
//! [`RawMutex`].
//!
//! ```text
//! lock     0 -> owner me; else the slow path:
//!          steal: free, nothing but WAITERS set -> me
//!          optimistic spin (wait/spin.rs): the head of the queue polls while the owner runs, and takes a free lock
//!          set WAITERS, and HANDOFF if woken past handoff_after_ns; park; woken: spin again, take it with WAITERS set
//! try      free, and not pending to another thread for less than reserved_ns -> me (lock does so, too); else fail
//! timeout  woken before, or HANDOFF mine: set WAITERS, clear my HANDOFF and wake lane First; leave
//! unlock   clear owner; HANDOFF is set: wake lane First, or one waiter if none sleeps there; else WAITERS is: wake one
//! fair     no WAITERS, or HANDOFF: unlock. Clear WAITERS, wake one waiter, owner me -> GRANTED; if either fails: again
//! ```
//!
//! The word, 4 bytes (zero: unlocked):
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0..16 | owner | token of the owner, 0: free | the thread that takes the lock | the owner, in `unlock` |
//! | 16..28 | generation | of the process in which `GRANTED` or `HANDOFF` was set ([`Platform::generation`], low bits); else 0 | with the flag | with the flag |
//! | 28 | | unused | | |
//! | 29 | `GRANTED` | free, but only a woken waiter may take it | `unlock_fair` | the taker |
//! | 30 | `WAITERS` | a thread sleeps; while the lock is free with no hand-off pending, its releaser wakes one | a waiter before it sleeps, or a woken waiter that takes the lock | a taker that was not woken |
//! | 31 | `HANDOFF` | only the waiter that set it may take the lock next | a waiter past `handoff_after_ns` | the taker, or the waiter that set it |
//!
//! With feature `spin` four more bytes follow: the queue of spinners ([`crate::osq`]). While the queue is empty, it
//! holds a hint: whether the last spin ended behind a long section.
//!
//! Invariants:
//! 1. A thread sleeps only while `WAITERS` is set in a word with an owner or a pending hand-off, or a releaser that has
//!    found it set is about to wake one, or a woken thread is on its way, or (in lane `First`) `HANDOFF` is set.
//! 2. `WAITERS` in a free lock without a pending hand-off is a wake-up that its releaser owes and does by address,
//!    without reading the word again: so the thread that takes the lock clears it. A woken thread either takes the lock
//!    with `WAITERS` set, or sets `WAITERS` before it sleeps or gives up: the duty to wake the next is passed on, never
//!    lost. A thread that takes the lock despite a hand-off keeps `WAITERS`: the thread woken for it may be stopped.
//! 3. `HANDOFF` with the generation of this process was set by one thread; `GRANTED` with it is for a woken thread that
//!    is on its way. While either is set and the lock is free, no other thread takes it until it has found it so for
//!    the lifetime of a hand-off ([`Lapse`]): then it takes the lock and clears the hand-off. With another generation
//!    they are stale: they were inherited in a `fork`, without the thread. A thread that reads the word clears them
//!    before anything else ([`Stamp::clear_stale`]).
//! 4. `unlock` is one operation, which clears the owner and returns the remaining bits. It does not touch the lock
//!    after that: another thread may free its memory then. The wake-up that follows uses only the address.
//! 5. A releaser that finds `HANDOFF` set wakes all of lane `First` and, if none sleeps there, one of lane `Waiters`. A
//!    thread that clears `HANDOFF` in an owned lock wakes lane `First`. So a hand-off waiter that mistakes another's
//!    request for its own, which has lapsed, leaves no thread asleep, and one stopped in its sleep has a substitute.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread at a time owns the lock; it sees what earlier owners wrote (mutex.acquire, mutex.release).
//! - A2. The release is the owner's last access to the lock (invariant 4).
//! - P1. A thread sleeps only if another one will wake it (invariants 1 and 2).
//! - P2. A waiter that finds the lock taken when it is woken past
//!   [`handoff_after_ns`](crate::wait::Policy::handoff_after_ns) requests the next turn; requests are granted one by
//!   one, each with the next release. So no waiter is overtaken for ever.
//! - P3. A hand-off lapses: a thread that is stopped or that a fork left out bars no other (invariants 3 and 5).
//! - P4. `try_lock` does not wait; a timed wait ends at its deadline, and passes on a wake-up that it received.
//! - P5. `unlock_fair` lets the longest sleeper go next, but for the case that it names.

use crate::events::{Counters, Event, Kind};
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{Deadline, DefaultPlatform, IntWord, Lane, Platform, Word};
use crate::raw::{GuardNoSend, RawLock, RawTimedLock};
use crate::wait::{Lapse, Stamp, Tuned, Waiter};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(super) const OWNER: u32 = 0xffff;
pub(super) const GENERATION: u32 = 0xfff << 16;
pub(super) const GRANTED: u32 = 1 << 29;
pub(super) const WAITERS: u32 = 1 << 30;
/// The highest bit: [`IntWord::clear_low_half`] distinguishes it from the others.
pub(super) const HANDOFF: u32 = 1 << 31;
/// The flags of a pending hand-off: the lock is reserved for a thread that does not own it yet.
pub(super) const HANDOFF_MASK: u32 = HANDOFF | GRANTED;
/// The bits that keep a newcomer from taking the lock.
pub(super) const BLOCKED: u32 = OWNER | HANDOFF | GRANTED;

/// The stamp of the process in which a hand-off was made pending.
pub(super) const STAMP: Stamp = Stamp { bits: GENERATION, flags: HANDOFF_MASK };

/// A wake-up that a release owes.
///
/// ```
/// use turnwise::RawMutex;
///
/// let lock = RawMutex::new();
/// assert!(lock.lock_fast());
/// // SAFETY: this thread has just acquired it.
/// assert_eq!(unsafe { lock.unlock_fast() }, None, "no thread sleeps");
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Owed {
    /// To the waiter that has requested a hand-off.
    HandoffWaiter,
    /// To the longest-sleeping waiter.
    Waiter,
}

/// A mutex without data. All-zero bytes are an unlocked mutex.
///
/// ```
/// use turnwise::{RawLock, RawMutex};
///
/// static LOCK: RawMutex = RawMutex::new();
/// LOCK.lock();
/// // SAFETY: this thread has just acquired it.
/// unsafe { LOCK.unlock() };
/// ```
#[repr(C)]
pub struct RawMutex<P: Platform = DefaultPlatform> {
    pub(super) word: P::U32,
    #[cfg(feature = "spin")]
    pub(super) spinners: Osq<P>,
    pub(crate) counters: Counters<{ Kind::Mutex as usize }>,
}

raw_constructors!(default RawMutex, "an unlocked mutex", {
    word: U32,
    #[cfg(feature = "spin")]
    spinners: [Osq<P>],
    counters: (Counters::new()),
});

// SAFETY: the word has one owner (invariant 1), which acquired (mutex.acquire) what its predecessor released
// (mutex.release); the word names the owner's thread, so guards stay on it.
unsafe impl<P: Platform> RawLock for RawMutex<P> {
    const NAME: &'static str = "Mutex";
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::new_in()
    }

    /// Acquires the lock.
    #[inline]
    fn lock(&self) {
        if !self.lock_fast() {
            self.lock_contended();
        }
    }

    /// Acquires the lock if it is free.
    #[inline]
    fn try_lock(&self) -> bool {
        match self.try_take(0) {
            Ok(_) => {
                self.counters.count(Event::Acquired);
                true
            }
            Err(found) => self.try_past(found),
        }
    }

    /// Releases the lock, then wakes a waiter if there is one.
    #[inline]
    unsafe fn unlock(&self) {
        let lock = core::ptr::from_ref(self);
        // SAFETY: contract of `RawLock::unlock`: the caller has the lock.
        if let Some(owed) = unsafe { self.unlock_fast() } {
            Self::wake_owed(lock, owed);
        }
    }

    /// Returns whether a thread owns the lock or a hand-off is pending.
    fn is_locked(&self) -> bool {
        let word = self.word.load(Relaxed);
        word & OWNER != 0 || word & HANDOFF_MASK != 0 && !STAMP.is_stale::<P>(word)
    }

    /// Returns what has happened to this lock so far.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }
}

// SAFETY: invariant 1 and the orderings mutex.acquire and mutex.release hold for `lock_until` as for `try_lock`.
unsafe impl<P: Platform> RawTimedLock for RawMutex<P> {
    /// Acquires the lock, or gives up at `deadline`; returns whether it acquired it.
    #[inline]
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.lock_fast() || self.lock_slow(Some(deadline), &Tuned::POLICY)
    }
}

impl<P: Platform> RawMutex<P> {
    /// Acquires the lock if it is free and no thread waits for it; returns whether it did. This is the first half of
    /// [`RawMutex::lock`], for adapters that tail-call the second half, and so need no stack frame.
    #[inline(always)]
    pub fn lock_fast(&self) -> bool {
        // ORDERING mutex.acquire: pairs with mutex.release; shows what the last owner wrote.
        let taken = self.word.compare_exchange(0, P::current().get(), Acquire, Relaxed).is_ok();
        self.counters.count_if(taken, Event::Acquired);
        taken
    }

    /// Acquires a lock that is free, but whose `WAITERS` flag says that a thread sleeps for it, or did so last
    /// (invariant 2): [`RawMutex::lock_fast`] fails on that flag, though there is no need to wait.
    /// [`RawMutex::lock_contended`] does this, too.
    pub fn lock_flagged(&self) -> bool {
        let taken = self.word.load(Relaxed) == WAITERS && self.try_take(WAITERS).is_ok();
        self.counters.count_if(taken, Event::Acquired);
        self.counters.count_if(taken, Event::Stole);
        taken
    }

    /// Acquires the lock after [`RawMutex::lock_fast`] has failed: the second half of [`RawMutex::lock`].
    #[inline]
    pub fn lock_contended(&self) {
        self.lock_slow(None, &Tuned::POLICY);
    }

    /// Acquires the lock like [`RawMutex::lock_contended`], with settings specific to this wait.
    pub fn lock_tuned(&self, settings: Tuned) {
        self.lock_slow(None, &settings);
    }

    /// Acquires the lock after an attempt has failed, or gives up at `deadline`, with settings specific to this wait;
    /// returns whether it acquired it.
    pub fn lock_tuned_until(&self, deadline: Deadline, settings: Tuned) -> bool {
        self.lock_slow(Some(deadline), &settings)
    }

    /// Takes the lock if its word is still `word`, without owner or hand-off, for a thread that was not woken.
    #[inline(always)]
    pub(super) fn try_take(&self, word: u32) -> Result<u32, u32> {
        // Clears `WAITERS`: the releaser of the lock wakes a sleeper, which sets it again (invariant 2).
        // ORDERING mutex.acquire: pairs with mutex.release, as in `lock_fast`.
        self.word.compare_exchange(word, P::current().get(), Acquire, Relaxed)
    }

    /// Tries to take a lock whose word had flags or an owner: it may be free though threads sleep.
    #[cold]
    fn try_past(&self, found: u32) -> bool {
        let mut word = STAMP.clear_stale::<P>(&self.word, found);
        while word & BLOCKED == 0 {
            match self.try_take(word) {
                Ok(_) => {
                    self.counters.count(Event::Acquired);
                    self.counters.count_if(word & WAITERS != 0, Event::Stole);
                    return true;
                }
                Err(found) => word = found,
            }
        }
        let mut lapse = Lapse::NONE;
        if lapse.has_come::<P>(self.address(), word, word & OWNER == 0) && self.take(word, word & WAITERS) {
            lapse.end::<P>(self.address());
            self.counters.count(Event::Acquired);
            self.counters.count(Event::Stole);
            return true;
        }
        self.counters.count(Event::TryFailed);
        false
    }

    /// Takes a free lock if its word is still `word`, leaving the flags `keep` set.
    pub(super) fn take(&self, word: u32, keep: u32) -> bool {
        // ORDERING mutex.acquire: pairs with mutex.release, as in `lock_fast`.
        self.word.compare_exchange(word, keep | P::current().get(), Acquire, Relaxed).is_ok()
    }

    pub(super) fn address(&self) -> usize {
        (&raw const self.word).addr()
    }

    /// Releases the lock; returns the wake-up that is then owed. This is the first half of [`RawMutex::unlock`].
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline(always)]
    pub unsafe fn unlock_fast(&self) -> Option<Owed> {
        // ORDERING mutex.release: pairs with mutex.acquire: publishes what we wrote.
        match self.word.clear_low_half(Release) {
            0 => None,
            pending if pending < 0 => Some(Owed::HandoffWaiter),
            _ => Some(Owed::Waiter),
        }
    }

    /// Performs the wake-up that [`RawMutex::unlock_fast`] returned: the second half of [`RawMutex::unlock`]. It uses
    /// only the address (invariant 4).
    #[cold]
    #[inline(never)]
    pub fn wake_owed(lock: *const Self, owed: Owed) {
        let address = lock.cast::<P::U32>();
        match owed {
            Owed::HandoffWaiter => {
                if P::wake(address, Lane::First, u32::MAX) == 0 {
                    P::wake(address, Lane::Waiters, 1);
                }
            }
            Owed::Waiter => {
                P::wake(address, Lane::Waiters, 1);
            }
        }
        #[cfg(feature = "live")]
        if let Some(watcher) = crate::live::watcher::<P>() {
            (watcher.released)(address.addr());
        }
        #[cfg(feature = "spin")]
        crate::wait::owner_yields::<P>();
    }

    /// Releases the lock and hands it to the longest-sleeping waiter, if there is one; newcomers cannot take it.
    ///
    /// In one case this is no better than an ordinary release: the woken thread reads the word before the lock is
    /// granted, and is on its way back to sleep when the grant comes. Then the next sleeper gets the lock or, if none
    /// sleeps, the first thread to arrive.
    ///
    /// This is the only release that wakes first: afterwards it could not find out whether a thread sleeps without
    /// touching a lock that it no longer owns (invariant 4).
    ///
    /// # Safety
    /// The caller has the lock.
    pub unsafe fn unlock_fair(&self) {
        // Read first: a hand-off to a thread woken before a signal handler of this thread forks is stale after the
        // fork.
        let granted = GRANTED | STAMP.now::<P>();
        loop {
            // An exchange reads the newest value; a plain load may miss a sleeper that announced itself long ago.
            let word = self.word.fetch_or(0, Relaxed);
            if word & WAITERS == 0 || word & HANDOFF != 0 {
                // SAFETY: contract of `unlock_fair`: the caller has the lock.
                return unsafe { self.unlock() };
            }
            // The duty to wake (invariant 2) is ours while the bit is off.
            self.word.fetch_and(!WAITERS, Relaxed);
            if P::wake(&raw const self.word, Lane::Waiters, 1) == 0 {
                continue; // the sleepers timed out
            }
            // Fails if a thread announced itself meanwhile: it may be the one that we woke, going back to sleep.
            // ORDERING mutex.release: pairs with mutex.acquire, as in `unlock_fast`.
            if self.word.compare_exchange(word & OWNER, granted, Release, Relaxed).is_ok() {
                #[cfg(feature = "live")]
                if let Some(watcher) = crate::live::watcher::<P>() {
                    (watcher.released)((&raw const self.word).addr());
                }
                return;
            }
        }
    }

    /// Returns the current owner's token number, 0 when free, for diagnostics.
    pub fn owner(&self) -> u32 {
        self.word.load(Relaxed) & OWNER
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, deadline: Option<Deadline>, settings: &Tuned) -> bool {
        self.lock_flagged() || self.lock_watched(deadline, false, settings)
    }

    /// Acquires the lock as a thread that was woken on it, for a condition variable's waiter: it may leave other
    /// threads asleep here that only the next `unlock` will wake.
    pub fn lock_as_woken(&self) {
        self.lock_watched(None, true, &Tuned::POLICY);
    }

    #[inline(always)]
    fn lock_watched(&self, deadline: Option<Deadline>, woken: bool, settings: &Tuned) -> bool {
        let wait = || watched!(P, self.waited_for(), settings, |set| self.lock_parked(deadline, woken, set));
        self.counters.acquisition_by(false, wait)
    }

    /// Returns what a watcher receives about a wait that begins now.
    #[cfg(feature = "live")]
    fn waited_for(&self) -> crate::live::Wait {
        let lock = (&raw const self.word).addr();
        crate::live::Wait { lock, kind: crate::live::Kind::Mutex, owner: self.owner() }
    }

    /// Waits in the sleeping stage. `woken`: this thread has the duty of invariant 2.
    pub(super) fn lock_parked(&self, deadline: Option<Deadline>, woken: bool, settings: &Tuned) -> bool {
        let mut waiter = Waiter::new(self, (), settings);
        waiter.woken = woken;
        waiter.wait(deadline)
    }
}

shows!([P: Platform] RawMutex<P>, |lock| locked: lock.is_locked());

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::Native;

    /// Stamps a hand-off with the generation of another process.
    fn elsewhere(pending: u32) -> u32 {
        pending | STAMP.now::<Native>() ^ GENERATION
    }

    #[test]
    fn the_bits_are_disjoint() {
        let parts = [OWNER, GENERATION, GRANTED, HANDOFF, WAITERS];
        assert_eq!(
            parts.iter().map(|part| part.count_ones()).sum::<u32>(),
            parts.iter().fold(0, |a, b| a | b).count_ones()
        );
        assert_eq!(OWNER + 1, crate::platform::Token::LIMIT);
    }

    #[test]
    fn a_handoff_of_another_process_is_stale_to_all() {
        for pending in [HANDOFF, GRANTED] {
            let lock = RawMutex::new();
            lock.word.store(elsewhere(pending) | WAITERS, Relaxed);
            assert!(!lock.is_locked());
            assert!(lock.try_lock() && lock.is_locked());
            assert_eq!(lock.word.load(Relaxed) & !OWNER, 0);
            lock.word.store(pending | STAMP.now::<Native>(), Relaxed);
            assert!(lock.is_locked() && !lock.try_lock());
        }
    }

    #[test]
    fn an_owner_that_inherited_a_request_leaves_none() {
        let lock = RawMutex::new();
        lock.lock();
        lock.word.fetch_or(elsewhere(HANDOFF) | WAITERS, Relaxed);
        // SAFETY: contract of `RawLock::unlock`: this thread has just acquired the lock.
        unsafe { lock.unlock() };
        assert!(!lock.is_locked() && lock.try_lock());
        assert_eq!(lock.word.load(Relaxed) & !OWNER, 0);
    }

    #[test]
    fn a_handoff_waiter_of_before_a_fork_is_an_ordinary_waiter_after_it() {
        let lock = RawMutex::new();
        lock.word.store(elsewhere(HANDOFF) | WAITERS, Relaxed);
        let mut waiter = Waiter::new(&lock, (), &Tuned::POLICY);
        (waiter.woken, waiter.request) = (true, elsewhere(HANDOFF));
        assert!(waiter.wait(None) && !waiter.is_first());
        assert_eq!(lock.word.load(Relaxed) & !OWNER, WAITERS);
    }
}
