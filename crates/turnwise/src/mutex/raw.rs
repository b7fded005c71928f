//! The adaptive mutex, without data.
//!
//! The word, 4 bytes (zero: unlocked):
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0..16 | owner | token of the owner, 0: free | whoever takes the lock | the owner, in `unlock` |
//! | 28 | `CROWD` | many sleep, though sections are short | a waiter past [`CROWD_AFTER_NS`], as it takes the lock | `unlock`, which wakes several |
//! | 29 | `GRANTED` | free, but only a woken waiter may take it | `unlock_fair` | the taker |
//! | 30 | `HANDOFF` | only the waiter that set it may take the lock next | a waiter past [`HANDOFF_AFTER_NS`] | it |
//! | 31 | `WAITERS` | somebody sleeps, and nobody who was woken is on the way | a waiter, before it sleeps | `unlock`, which wakes one |
//!
//! With feature `spin` four more bytes follow: the queue of spinners ([`crate::osq`]).
//!
//! Invariants:
//! 1. A thread sleeps only while `WAITERS` is set, or a woken thread is on the way, or (in lane `First`) `HANDOFF` is
//!    set.
//! 2. A woken thread either takes the lock with `WAITERS` set again, or sets `WAITERS` before it sleeps or gives up:
//!    the duty to wake the next passes on and is never lost. One that gives up while the lock is free, but promised,
//!    wakes the next itself: the claimant may have vanished in a `fork`, and then nobody unlocks. For the same reason
//!    `unlock` wakes an ordinary waiter where it finds no claimant asleep: that one waits for the promise to lapse.
//! 3. While `HANDOFF` or `GRANTED` is set and the lock is free, only the waiter that was promised it takes it; a
//!    promise not taken up for [`PROMISE_NS`] lapses (a thread may vanish in a `fork`). A claimant that finds
//!    `HANDOFF` gone is an ordinary waiter again. One that was away for longer (in a signal handler, off its CPU)
//!    cannot tell another's `HANDOFF` from its own, so that several may sleep in lane `First`: they are woken together,
//!    by every `unlock` that leaves `HANDOFF` set, and by a claimant that gives up.
//! 4. `unlock` does not touch the lock after the compare-exchange that frees it: another thread may then free its
//!    memory. The wake-up that follows uses the address alone.
//!
//! Waiting has three stages: a short look without the queue if it is empty; then one thread at a time spins on the
//! word, at the head of the queue, while the owner may be running; then it sleeps. A sleeper that was woken
//! [`HANDOFF_AFTER_NS`] after it came, and finds the lock taken once more, claims the next turn; on [`MANY_CPUS`] only
//! if it was woken before, too.

#[cfg(feature = "spin")]
use super::spin;
use crate::events::{Counters, Event, Kind};
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{Clock, Deadline, DefaultPlatform, IntWord, Lane, Parked, Platform, Rests, Word};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A waiter that has waited this long, was woken, and finds the lock taken again claims the next turn. On [`MANY_CPUS`]
/// it must have been woken before, too.
pub const HANDOFF_AFTER_NS: u64 = 4_000_000;

/// A promise of the next turn that was not taken up for this long lapses: its thread may have vanished in a `fork`.
pub const PROMISE_NS: u64 = 50_000_000;

/// A waiter that failed so often in a row to take the lock, to announce itself or to fall asleep joins the line of
/// spinners again.
pub(crate) const RESTLESS: u32 = 3;

/// About what moving the word's line costs a waiter whose exchange failed.
pub(crate) const LINE_NS: u32 = 100;

/// A waiter that slept and has waited this long, though sections are short, shows that a crowd sleeps. Waking one at a
/// time, each of which must be scheduled before the next is woken, would then take a time slice a head.
pub const CROWD_AFTER_NS: u64 = 1_000_000;

/// How many of a crowd are woken at once.
pub const CROWD_WAKES: u32 = 8;

pub(super) const OWNER: u32 = 0xffff;
pub(super) const CROWD: u32 = 1 << 28;
pub(super) const GRANTED: u32 = 1 << 29;
pub(super) const HANDOFF: u32 = 1 << 30;
pub(super) const WAITERS: u32 = 1 << 31;
/// While any of these is set, a thread that merely comes along may not take the lock.
pub(super) const BLOCKED: u32 = OWNER | HANDOFF | GRANTED;

/// From so many CPUs on, a crowd can compete for a lock without sharing CPUs. There more threads may sleep than get the
/// lock within [`HANDOFF_AFTER_NS`], and a lock that is promised to a sleeper, or not looked at, leaves many CPUs idle.
pub const MANY_CPUS: u32 = 16;

/// Whether threads may run on [`MANY_CPUS`].
#[inline]
pub(crate) fn many_cpus<P: Platform>() -> bool {
    P::cpus() >= MANY_CPUS
}

/// The lock without data. Zero bytes = unlocked.
#[repr(C)]
pub struct RawMutex<P: Platform = DefaultPlatform> {
    pub(super) word: P::U32,
    #[cfg(feature = "spin")]
    pub(super) spinners: Osq<P>,
    pub(crate) counters: Counters<{ Kind::Mutex as usize }>,
}

impl RawMutex {
    /// An unlocked mutex.
    #[must_use]
    pub const fn new() -> Self {
        RawMutex {
            word: core::sync::atomic::AtomicU32::new(0),
            #[cfg(feature = "spin")]
            spinners: Osq::new(),
            counters: Counters::new(),
        }
    }
}

impl Default for RawMutex {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawMutex<P> {
    /// An unlocked mutex on any platform.
    pub fn new_in() -> Self {
        RawMutex {
            word: P::U32::new(0),
            #[cfg(feature = "spin")]
            spinners: Osq::new_in(),
            counters: Counters::new(),
        }
    }

    /// Acquires the lock.
    #[inline]
    pub fn lock(&self) {
        // ORDERING mutex.acquire: pairs with mutex.release; shows what the last owner wrote.
        if self.word.compare_exchange(0, P::current().get(), Acquire, Relaxed).is_ok() {
            self.counters.count(Event::Acquired);
        } else {
            self.lock_slow(None);
        }
    }

    /// Acquires the lock, or gives up at `deadline`; says whether it got it.
    #[inline]
    pub fn lock_until(&self, deadline: Deadline) -> bool {
        // ORDERING mutex.acquire: as in `lock`.
        if self.word.compare_exchange(0, P::current().get(), Acquire, Relaxed).is_err() {
            return self.lock_slow(Some(deadline));
        }
        self.counters.count(Event::Acquired);
        true
    }

    /// Acquires the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        match self.try_take(0) {
            Ok(_) => {
                self.counters.count(Event::Acquired);
                true
            }
            Err(found) => self.try_past(found),
        }
    }

    /// `word`, whose owner is nobody -> ours.
    #[inline(always)]
    fn try_take(&self, word: u32) -> Result<u32, u32> {
        // ORDERING mutex.acquire: as in `lock`.
        self.word.compare_exchange(word, word | P::current().get(), Acquire, Relaxed)
    }

    /// A try that found flags or an owner: the lock may be free though threads sleep.
    #[cold]
    fn try_past(&self, found: u32) -> bool {
        let mut word = found;
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
        self.counters.count(Event::TryFailed);
        false
    }

    /// Releases the lock, then wakes a waiter if there is one.
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Also fails when the thread locked as `Token::ANONYMOUS` and has a token of its own by now.
        // ORDERING mutex.release: pairs with mutex.acquire.
        if self.word.compare_exchange(P::current().get(), 0, Release, Relaxed).is_err() {
            self.unlock_slow();
        }
    }

    /// Releases the lock to the thread that has slept longest, if any sleeps: nobody can overtake it.
    ///
    /// The one place that wakes before it releases: afterwards it could not tell whether anybody sleeps without
    /// touching a lock that is no longer its own (invariant 4).
    ///
    /// # Safety
    /// The caller has the lock.
    pub unsafe fn unlock_fair(&self) {
        loop {
            // An exchange reads the newest value; a plain load may miss a sleeper that announced itself long ago.
            let word = self.word.fetch_or(0, Relaxed);
            if word & WAITERS == 0 || word & HANDOFF != 0 {
                return self.unlock_slow();
            }
            // The duty to wake (invariant 2) is ours while the bit is off.
            self.word.fetch_and(!(WAITERS | CROWD), Relaxed);
            if P::wake(&raw const self.word, Lane::Waiters, 1) == 0 {
                continue; // the sleepers' time was out
            }
            // Fails if a thread announced itself meanwhile: it may be the one that we woke, asleep again.
            // ORDERING mutex.release: as in `unlock`.
            if self.word.compare_exchange(word & OWNER, GRANTED, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// What has happened to this lock so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }

    /// Whether somebody has the lock or was promised it.
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & BLOCKED != 0
    }

    /// The owner's token number as of now, 0 when free: for diagnosis.
    pub fn owner(&self) -> u32 {
        self.word.load(Relaxed) & OWNER
    }

    /// The futex word, for a condition variable to move waiters to.
    pub(crate) fn word(&self) -> &P::U32 {
        &self.word
    }

    #[cold]
    fn unlock_slow(&self) {
        let address = &raw const self.word;
        let mut word = self.word.load(Relaxed);
        loop {
            // The claimant keeps HANDOFF and WAITERS; otherwise the woken waiter sets WAITERS again (invariant 2).
            let new = if word & HANDOFF != 0 { word & !OWNER } else { 0 };
            // ORDERING mutex.release: as in `unlock`.
            match self.word.compare_exchange(word, new, Release, Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        let promised = word & HANDOFF != 0;
        if promised && P::wake(address, Lane::First, u32::MAX) > 0 {
            return;
        }
        if word & WAITERS != 0 {
            // A claimant that does not sleep may have vanished in a `fork`: one waiter must await the promise's lapse.
            P::wake(address, Lane::Waiters, if word & CROWD != 0 && !promised { CROWD_WAKES } else { 1 });
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, deadline: Option<Deadline>) -> bool {
        self.counters.count(Event::Contended);
        #[cfg(feature = "spin")]
        if spin::spin(self, deadline) {
            return true;
        }
        self.lock_parked(deadline, false)
    }

    /// Acquires the lock as a thread that was woken on it: for a condition variable's waiter, which may leave others
    /// asleep here that only the next `unlock` will wake.
    pub fn lock_as_woken(&self) {
        self.counters.count(Event::Contended);
        self.lock_parked(None, true);
    }

    /// The sleeping stage. `woken`: this thread has the duty of invariant 2.
    pub(super) fn lock_parked(&self, deadline: Option<Deadline>, woken: bool) -> bool {
        Waiter { woken, woken_again: false, first: false, since: P::now() }.wait(self, deadline)
    }
}

/// Sleeps in `lane` of a lock that is free but, as flags `promise` of its `word` say, promised to another; takes the
/// flags back if the promise is not taken up for [`PROMISE_NS`].
pub(crate) fn await_promised<P: Platform>(
    lock: &P::U32,
    word: u32,
    promise: u32,
    lane: Lane,
    deadline: Option<Deadline>,
) -> Parked {
    let own = deadline.map_or(u64::MAX, monotonic::<P>);
    let lapse = P::now().saturating_add(PROMISE_NS);
    let limit = Deadline { clock: Clock::Monotonic, at: lapse.min(own) };
    let parked = loop {
        match P::park(lock, word, lane, Some(limit)) {
            Parked::Interrupted => {} // by a signal: the promise is no younger for that
            parked => break parked,
        }
    };
    if parked == Parked::TimedOut && lapse <= own {
        // Fails if anything happened meanwhile. The other flags stay: others may sleep.
        let _ = lock.compare_exchange(word, word & !promise, Relaxed, Relaxed);
    }
    parked
}

/// When a deadline comes, on the clock of [`Platform::now`], unless somebody sets the wall clock meanwhile.
fn monotonic<P: Platform>(deadline: Deadline) -> u64 {
    match deadline.clock {
        Clock::Monotonic => deadline.at,
        Clock::Realtime => {
            let left = deadline.at.saturating_sub(P::wall());
            P::now().saturating_add(left)
        }
    }
}

/// A thread in the sleeping stage.
struct Waiter {
    /// It was woken since it came (invariant 2).
    woken: bool,
    /// It was woken more than once: it was overtaken, and has not merely waited for its turn to wake up.
    woken_again: bool,
    /// It has `HANDOFF`, or so it believes (invariant 3).
    first: bool,
    since: u64,
}

impl Waiter {
    fn wait<P: Platform>(&mut self, lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
        let (mut timed_out, mut rests, mut restless) = (false, Rests::new(), 0);
        loop {
            let word = lock.word.load(Relaxed);
            self.first &= word & HANDOFF != 0;
            if self.may_take(word) {
                if self.take(lock, word) {
                    lock.counters.count_if(self.first || word & GRANTED != 0, Event::HandedOff);
                    return true;
                }
            } else if timed_out {
                if self.give_up(lock, word) {
                    lock.counters.count(Event::TimedOut);
                    return false;
                }
            } else if let Some(word) = self.announce(lock, word) {
                let slept = self.sleep(lock, word, deadline) != Parked::Changed;
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
                if slept {
                    restless = 0;
                    continue;
                }
            } else {
                // Somebody else changed the word. Where dozens do, each loses most of its exchanges and keeps the owner
                // from its own: let some go first.
                P::rest(rests.next_ns(LINE_NS));
            }
            restless += 1;
            if restless >= RESTLESS && !timed_out {
                restless = 0;
                if self.spin_again(lock, deadline) {
                    return true;
                }
            }
        }
    }

    /// Back into the line of spinners: the lock changes hands too fast to fall asleep on it, and whoever tries keeps
    /// the word busy.
    #[cfg(feature = "spin")]
    fn spin_again<P: Platform>(&self, lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
        let acquired = !self.first && spin::spin_again(lock, deadline);
        if acquired && self.woken {
            lock.word.fetch_or(WAITERS, Relaxed); // the duty of invariant 2, before anybody can unlock
        }
        acquired
    }

    #[cfg(not(feature = "spin"))]
    fn spin_again<P: Platform>(&self, _: &RawMutex<P>, _: Option<Deadline>) -> bool {
        false
    }

    fn sleep<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32, deadline: Option<Deadline>) -> Parked {
        #[cfg(feature = "spin")]
        if self.first && spin::claimed(lock, word, deadline) {
            return Parked::Changed;
        }
        let lane = if self.first { Lane::First } else { Lane::Waiters };
        let promised = word & OWNER == 0;
        let parked = if promised {
            await_promised::<P>(&lock.word, word, HANDOFF | GRANTED, lane, deadline)
        } else {
            P::park(&lock.word, word, lane, deadline)
        };
        lock.counters.count_sleep(parked);
        if parked == Parked::Woken {
            self.woken_again = self.woken;
            self.woken = true;
            #[cfg(feature = "spin")]
            if !promised {
                spin::spin_woken(lock);
            }
        }
        parked
    }

    fn may_take(&self, word: u32) -> bool {
        let barred = if self.first {
            OWNER
        } else if self.woken {
            OWNER | HANDOFF
        } else {
            BLOCKED
        };
        word & barred == 0
    }

    /// Free -> ours.
    fn take<P: Platform>(&self, lock: &RawMutex<P>, word: u32) -> bool {
        let duty = if self.woken { WAITERS | self.crowd(lock) } else { 0 };
        let keep = word & (WAITERS | CROWD) | duty;
        // ORDERING mutex.acquire: as in `lock`.
        lock.word.compare_exchange(word, keep | P::current().get(), Acquire, Relaxed).is_ok()
    }

    /// `CROWD`, if the wait shows that many sleep.
    #[cfg(feature = "spin")]
    fn crowd<P: Platform>(&self, lock: &RawMutex<P>) -> u32 {
        let long = P::now().saturating_sub(self.since) >= CROWD_AFTER_NS;
        if long && spin::pays(lock) { CROWD } else { 0 }
    }

    /// Without spins nobody knows whether sections are short.
    #[cfg(not(feature = "spin"))]
    fn crowd<P: Platform>(&self, _: &RawMutex<P>) -> u32 {
        0
    }

    /// Makes the word say that we are about to sleep; returns it, or `None` if it changed meanwhile.
    fn announce<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> Option<u32> {
        let overtaken = if many_cpus::<P>() { self.woken_again } else { self.woken };
        let claim = !self.first
            && overtaken
            && word & (HANDOFF | GRANTED) == 0
            && P::now().saturating_sub(self.since) >= HANDOFF_AFTER_NS;
        let new = word | WAITERS | if claim { HANDOFF } else { 0 };
        if new != word && lock.word.compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        self.first |= claim;
        lock.counters.count_if(claim, Event::Claimed);
        Some(new)
    }

    /// Leaves without the lock; `false` if the word changed meanwhile, so that it may be ours after all.
    fn give_up<P: Platform>(&self, lock: &RawMutex<P>, word: u32) -> bool {
        if !self.first && !self.woken {
            return true;
        }
        let address = &raw const lock.word;
        let handoff = if self.first { HANDOFF } else { 0 };
        if lock.word.compare_exchange(word, word & !handoff | WAITERS, Relaxed, Relaxed).is_err() {
            return false;
        }
        if self.first {
            P::wake(address, Lane::First, u32::MAX); // invariant 3: perhaps another had claimed
        } else if word & OWNER == 0 {
            P::wake(address, Lane::Waiters, 1); // invariant 2: perhaps nobody unlocks any more
        }
        true
    }
}
