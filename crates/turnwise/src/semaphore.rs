//! A counting semaphore in one word, with a queue of waiters in which large requests are not starved. (E. Dijkstra's
//! semaphore, 1965; the first of the queue is handed its permits as in [`crate::mutex`].) Example: [`Semaphore`].
//!
//! ```text
//! acquire  newcomer: enough permits, and no flag that bars it: permits - n; barging: poll for two microseconds; else
//!          queue: no FIRST, and no PASSED unless woken for it: set FIRST; else set WAITERS, park in lane Waiters
//! first    enough permits: permits - n, leave; else set PASSED (barging, past handoff_after_ns: HANDOFF), park in lane
//!          First
//! leave    clear all flags; WAITERS was set: set PASSED, wake one of lane Waiters: the next first; none: clear PASSED
//! release  permits + n; FIRST and PASSED: clear PASSED, wake lane First, or one of lane Waiters if none sleeps there
//! timeout  first: leave without permits; woken: set WAITERS
//! ```
//!
//! The word, 4 bytes (zero: no permits, no waiters):
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0..24 | permits | number available | `release` adds | acquiring subtracts |
//! | 24..28 | generation | of the process in which flags were set ([`Platform::generation`], low bits); else 0 | with the flags | with the flags |
//! | 28 | `HANDOFF` | the first in the queue has waited too long: no other thread may take permits | the first | the first, when it leaves |
//! | 29 | `PASSED` | alone: the first place is free, and a thread woken for it is on its way; with `FIRST`: the first sleeps, or is about to | the first, when it leaves or before it sleeps | the woken thread; `release` |
//! | 30 | `FIRST` | a thread is first: it sleeps in lane `First` | that thread | that thread, when it leaves |
//! | 31 | `WAITERS` | others may sleep behind the first, in lane `Waiters` | a waiter, before it sleeps | the first, when it leaves |
//!
//! A newcomer of a fair semaphore is barred by any flag, one of a barging semaphore by `HANDOFF`. A semaphore has no
//! owner, so it is unknown whether a wait will be short.
//!
//! Invariants:
//! 1. A thread sleeps in lane `Waiters` only while `FIRST` or `PASSED` is set, or a thread that was woken there is on
//!    its way. One that sets `FIRST` after it was woken sets `WAITERS` too: others may sleep.
//! 2. A thread that leaves the first place, with its permits or without, either sees `WAITERS` clear, or wakes the
//!    next, or finds that no thread sleeps and none has gone to sleep since (step B of `pass_on`).
//! 3. A woken thread that finds `FIRST` set sets `WAITERS`, if it is clear, before it sleeps or gives up: the first
//!    then wakes the next.
//! 4. A thread sleeps in lane `First` only while `PASSED` is set along with `FIRST`, or the thread that cleared it is
//!    about to wake all of the lane.
//! 5. `release` does not touch the semaphore after the exchange that adds the permits: the thread that acquires them
//!    may free its memory. The wake-up that follows uses only the address.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. No more permits are out than were given; a thread that takes one sees what the releasing threads did before
//!   (semaphore.acquire, semaphore.release).
//! - A2. `release` ends with its exchange (invariant 5); more than [`PERMITS_MAX`] is a panic that changes nothing.
//! - P1. A thread in the queue sleeps only if another one will wake it (invariants 1 to 4).
//! - P2. The queue moves in order, however many permits each thread wants. Fair: no newcomer overtakes it. Barging:
//!   newcomers do until the first, past `handoff_after_ns`, claims.
//! - P3. The place of a first that does not come lapses (`Lapse`): a release that finds it not asleep wakes a
//!   substitute, which then becomes the first. The former one mistakes the flag for its own if it comes while that is
//!   set, so all of lane `First` is woken (invariant 4); else it queues at the end.
//! - P4. In a forked child flags of the parent are void: `poll` clears them. Permits that the parent's threads had are
//!   not given back there.
//! - P5. Tries do not wait, and a wait that ends passes on its wake-up. A signal handler may release; one that
//!   interrupted a wait on the same semaphore must not wait on it: it would queue behind its own thread.

use crate::events::{Counters, Event, Kind};
use crate::platform::{Deadline, DefaultPlatform, Hint, Lane, Parked, Pause, Platform, Word};
use crate::wait::{Lapse, Stamp, policy};
use core::mem;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

const PERMITS: u32 = (1 << 24) - 1;
const GENERATION: u32 = 0xf << 24;
const HANDOFF: u32 = 1 << 28;
const PASSED: u32 = 1 << 29;
const FIRST: u32 = 1 << 30;
const WAITERS: u32 = 1 << 31;
/// With both set, the first sleeps, or is about to; with one of the two, it is on its way.
const ASLEEP: u32 = FIRST | PASSED;
/// All flags about threads in the queue.
const FLAGS: u32 = HANDOFF | PASSED | FIRST | WAITERS;

/// The maximum number of permits of a semaphore.
pub const PERMITS_MAX: u32 = PERMITS;

/// Returns the word after the first has left, apart from permits: the place is passed on if others may sleep.
const fn left_by_first(word: u32) -> u32 {
    let passed = if word & WAITERS != 0 { PASSED | word & GENERATION } else { 0 };
    word & PERMITS | passed
}

/// Returns whether the first is on its way: it is awake, or another thread was woken to be the first.
const fn is_on_its_way(word: u32) -> bool {
    word & ASLEEP == FIRST || word & ASLEEP == PASSED
}

/// The stamp of the process in which the flags were set.
const STAMP: Stamp = Stamp { bits: GENERATION, flags: FLAGS };

/// A counting semaphore: it admits `permits` threads at a time, or fewer if they want several permits each.
///
/// A `FAIR` one ([`FairSemaphore`], [`Semaphore::new_fair`]) is first come, first served. Any other lets newcomers take
/// permits past the waiters, which is faster under contention, until the first in the queue has waited for
/// [`handoff_after_ns`](crate::wait::Policy::handoff_after_ns); from then on permits are reserved for it. Either way a
/// request for many permits is not starved by requests for few. All-zero bytes: no permits.
///
/// ```
/// use turnwise::Semaphore;
///
/// static CONNECTIONS: Semaphore = Semaphore::new(2);
/// let (one, other) = (CONNECTIONS.acquire(), CONNECTIONS.acquire());
/// assert!(CONNECTIONS.try_acquire().is_none());
/// drop((one, other));
/// assert_eq!(CONNECTIONS.available(), 2);
/// ```
#[repr(C)]
pub struct Semaphore<const FAIR: bool = false, P: Platform = DefaultPlatform> {
    word: P::U32,
    counters: Counters<{ Kind::Semaphore as usize }>,
}

/// A semaphore that is first come, first served.
///
/// The order is that in which threads fall asleep. A thread queues again at the end if a signal interrupts it, if its
/// sleep is refused since the word has just changed, or if it was woken as a substitute for a first that was about to
/// sleep.
///
/// ```
/// let connections = turnwise::FairSemaphore::new_fair(2);
/// let _permit = connections.acquire();
/// ```
pub type FairSemaphore<P = DefaultPlatform> = Semaphore<true, P>;

impl Semaphore {
    /// Creates a semaphore with this number of permits, at most [`PERMITS_MAX`]; newcomers may overtake waiters, within
    /// bounds.
    ///
    /// # Panics
    /// With more than [`PERMITS_MAX`] permits.
    #[must_use]
    pub const fn new(permits: u32) -> Self {
        Self::const_new_in(permits)
    }
}

impl FairSemaphore {
    /// Creates a semaphore with this number of permits, at most [`PERMITS_MAX`], that is first come, first served.
    ///
    /// # Panics
    /// With more than [`PERMITS_MAX`] permits.
    #[must_use]
    pub const fn new_fair(permits: u32) -> Self {
        Self::const_new_in(permits)
    }
}

raw_constructors!(
    Semaphore [const FAIR: bool,] [FAIR,] of permits or "With more than [`PERMITS_MAX`] permits.",
    "a semaphore with this number of permits",
    { word: { U32 = checked(permits) }, counters: (Counters::new()), }
);

const fn checked(permits: u32) -> u32 {
    assert!(permits <= PERMITS_MAX, "a semaphore has at most PERMITS_MAX permits");
    permits
}

impl<const FAIR: bool, P: Platform> Semaphore<FAIR, P> {
    /// Waits for a permit.
    #[inline]
    pub fn acquire(&self) -> Permits<'_, FAIR, P> {
        self.acquire_many(1)
    }

    /// Waits for `n` permits, and takes them all at once: a thread never waits while holding some of them. If the
    /// semaphore never has that many, the wait never ends.
    ///
    /// # Panics
    /// With `n` above [`PERMITS_MAX`].
    #[inline]
    pub fn acquire_many(&self, n: u32) -> Permits<'_, FAIR, P> {
        self.counters.acquisition(self.take(n), || self.acquire_slow(n, None), Event::Queued);
        Permits { semaphore: self, n }
    }

    /// Takes a permit, if there is one and no waiter must go first.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permits<'_, FAIR, P>> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits, if that many are available and no waiter must go first.
    #[inline]
    pub fn try_acquire_many(&self, n: u32) -> Option<Permits<'_, FAIR, P>> {
        self.counters.attempt(self.take(n) || self.take_past(n)).then(|| Permits { semaphore: self, n })
    }

    /// Waits for `n` permits for at most `timeout`.
    ///
    /// # Panics
    /// With `n` above [`PERMITS_MAX`].
    pub fn try_acquire_for(&self, n: u32, timeout: Duration) -> Option<Permits<'_, FAIR, P>> {
        self.try_acquire_until(n, Deadline::after::<P>(timeout))
    }

    /// Waits for `n` permits until `deadline` at most.
    ///
    /// # Panics
    /// With `n` above [`PERMITS_MAX`].
    pub fn try_acquire_until(&self, n: u32, deadline: Deadline) -> Option<Permits<'_, FAIR, P>> {
        let wait = || self.acquire_slow(n, Some(deadline));
        self.counters.acquisition(self.take(n), wait, Event::Queued).then(|| Permits { semaphore: self, n })
    }

    /// Adds `n` permits: new ones, or those of [`Permits`] that were forgotten. Any thread may call this, and so may a
    /// signal handler.
    ///
    /// # Panics
    /// If there would be more than [`PERMITS_MAX`]; nothing changes then.
    #[inline]
    pub fn release(&self, n: u32) {
        let address = &raw const self.word;
        let mut word = self.word.load(Relaxed);
        loop {
            let permits = (word & PERMITS).checked_add(n).filter(|&permits| permits <= PERMITS_MAX);
            let Some(permits) = permits else { overflow() };
            let woken = if word & ASLEEP == ASLEEP { PASSED } else { 0 };
            // ORDERING semaphore.release: pairs with semaphore.acquire.
            match self.word.compare_exchange(word, word & !(PERMITS | woken) | permits, Release, Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        if word & ASLEEP == ASLEEP {
            Self::wake_first(address, word);
        }
    }

    /// Wakes the first, which sleeps according to `word`, or a substitute. Uses only the address (invariant 5).
    #[cold]
    fn wake_first(address: *const P::U32, word: u32) {
        if P::wake(address, Lane::First, u32::MAX) == 0 && word & WAITERS != 0 {
            P::wake(address, Lane::Waiters, 1);
        }
    }

    /// Returns the number of permits currently available, even if threads wait for them.
    pub fn available(&self) -> u32 {
        self.word.load(Relaxed) & PERMITS
    }

    /// Returns what has happened to this semaphore so far.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }

    /// The flags that keep a newcomer from taking available permits.
    const BARRED: u32 = if FAIR { HANDOFF | PASSED | FIRST | WAITERS } else { HANDOFF };

    /// Takes `n` permits as a newcomer, if it may.
    #[inline]
    fn take(&self, n: u32) -> bool {
        let mut word = self.word.load(Relaxed);
        while word & Self::BARRED == 0 && word & PERMITS >= n {
            // ORDERING semaphore.acquire: pairs with semaphore.release: shows what the releasing threads did before.
            match self.word.compare_exchange(word, word - n, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    /// Takes `n` permits as a newcomer that found itself kept out, perhaps by stale flags.
    #[cold]
    fn take_past(&self, n: u32) -> bool {
        let word = self.poll();
        word & PERMITS >= n && (self.take(n) || Waiter::new(self, n).wait(None, true))
    }

    /// Returns the word, after clearing stale flags.
    fn poll(&self) -> u32 {
        STAMP.clear_stale::<P>(&self.word, self.word.load(Relaxed))
    }

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, n: u32, deadline: Option<Deadline>) -> bool {
        let n = checked(n);
        self.spin(n) || Waiter { since: P::now(), ..Waiter::new(self, n) }.wait(deadline, false)
    }

    /// Polls for permits a few times as a newcomer, with the pause doubling each time: a holder whose sections are
    /// short is soon done, and one that takes permits again and again is disturbed less and less.
    fn spin(&self, n: u32) -> bool {
        let may_spin =
            || !FAIR && cfg!(feature = "spin") && P::hint(Hint::Cpus) > 1 && self.word.load(Relaxed) & HANDOFF == 0;
        let mut rest = policy().poll_ns;
        while may_spin() && rest <= policy().still_ns / 8 {
            P::pause(Pause::Rest(rest as u32));
            if self.take(n) {
                return true;
            }
            rest *= 2;
        }
        false
    }

    /// Wakes the next in the queue, after the first has just left it with [`left_by_first`] of `word`.
    fn pass_on(&self, word: u32) {
        let wake = || P::wake(&raw const self.word, Lane::Waiters, 1);
        // Step A: the woken thread becomes first (`PASSED` -> `FIRST`).
        if word & WAITERS == 0 || wake() != 0 {
            return;
        }
        // Step B: no thread slept. One that was about to reads the word again, since that changed. It may have gone to
        // sleep since, though not without setting `WAITERS` again; since that bit is cleared first, none is missed.
        let mut word = self.word.load(Relaxed);
        // A thread that woke for another reason may have taken the place.
        while word & ASLEEP == PASSED {
            // With `PASSED` alone there is neither `FIRST` nor `HANDOFF`: no flag remains.
            match self.word.compare_exchange(word, word & PERMITS, Relaxed, Relaxed) {
                Ok(_) if word & WAITERS != 0 => {
                    wake();
                    return;
                }
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
    }
}

#[cold]
fn overflow() -> ! {
    panic!("a semaphore has at most {PERMITS_MAX} permits");
}

/// A thread in the queue.
struct Waiter<'a, const FAIR: bool, P: Platform> {
    semaphore: &'a Semaphore<FAIR, P>,
    n: u32,
    /// `FIRST` as the thread set it, with the generation; 0 if it is not the first.
    first: u32,
    /// Whether it was woken in lane `Waiters` since it last slept there (invariant 1), or as a substitute.
    woken: bool,
    /// The wait for the first, or for a thread woken to be the first, that does not come.
    lapse: Lapse,
    since: u64,
}

impl<'a, const FAIR: bool, P: Platform> Waiter<'a, FAIR, P> {
    fn new(semaphore: &'a Semaphore<FAIR, P>, n: u32) -> Self {
        Waiter { semaphore, n, first: 0, woken: false, lapse: Lapse::NONE, since: 0 }
    }

    fn is_first(&self) -> bool {
        self.first != 0
    }

    fn wait(&mut self, deadline: Option<Deadline>, mut timed_out: bool) -> bool {
        loop {
            let word = self.semaphore.poll();
            self.knows(word);
            if self.is_first() && (timed_out || word & PERMITS >= self.n) {
                let taken = word & PERMITS >= self.n;
                if self.leave(word, taken) {
                    return taken;
                }
            } else if !self.is_first() && (self.may_be_first(word) || self.outlasts(word)) {
                self.become_first(word);
            } else if timed_out {
                if self.give_up(word) {
                    return false;
                }
            } else if let Some(word) = self.announce(word) {
                self.sleep(word, deadline);
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
            }
        }
    }

    /// Gives up its place if, by this word, another has taken it or it was the parent's.
    fn knows(&mut self, word: u32) {
        if self.is_first() && word & (FIRST | GENERATION) != self.first {
            (self.first, self.woken) = (0, false);
        }
    }

    fn may_be_first(&self, word: u32) -> bool {
        word & FIRST == 0 && (self.woken || word & PASSED == 0)
    }

    /// Returns whether the first fails to come: then another may take its place.
    fn outlasts(&mut self, word: u32) -> bool {
        self.lapse.has_come::<P>((&raw const self.semaphore.word).addr(), word, is_on_its_way(word))
    }

    fn become_first(&mut self, word: u32) {
        let others = if self.woken || word & PASSED != 0 { WAITERS } else { 0 };
        let new = STAMP.with::<P>(word, FIRST | others) & !PASSED;
        if self.semaphore.word.compare_exchange(word, new, Relaxed, Relaxed).is_ok() {
            self.first = new & (FIRST | GENERATION);
            self.lapse.end::<P>((&raw const self.semaphore.word).addr());
        }
    }

    /// Leaves the first place, with its permits if `taken`; returns `false` if the word changed meanwhile.
    fn leave(&self, word: u32, taken: bool) -> bool {
        let new = left_by_first(word) - if taken { self.n } else { 0 };
        // ORDERING semaphore.acquire: pairs with semaphore.release, as in `take`.
        let left = self.semaphore.word.compare_exchange(word, new, Acquire, Relaxed).is_ok();
        if left {
            if word & ASLEEP == ASLEEP {
                P::wake(&raw const self.semaphore.word, Lane::First, u32::MAX);
            }
            self.semaphore.pass_on(word);
        }
        left
    }

    /// Leaves without having been first; returns `false` if the word changed meanwhile.
    fn give_up(&self, word: u32) -> bool {
        if !self.woken {
            return true;
        }
        // Invariant 3. The exchange also shows that the word is current: `FIRST` may be gone. If it was woken as a
        // substitute, the first may be stopped, and needs another one.
        let left = self.semaphore.word.compare_exchange(word, STAMP.with::<P>(word, WAITERS), Relaxed, Relaxed).is_ok();
        if left && is_on_its_way(word) {
            P::wake(&raw const self.semaphore.word, Lane::Waiters, 1);
        }
        left
    }

    /// Announces in the word that we are about to sleep; returns the word, or `None` if it changed meanwhile.
    fn announce(&self, word: u32) -> Option<u32> {
        let new = if !self.is_first() {
            STAMP.with::<P>(word, WAITERS)
        } else if !FAIR && P::now().saturating_sub(self.since) >= policy().handoff_after_ns {
            word | HANDOFF | PASSED
        } else {
            word | PASSED
        };
        if new != word && self.semaphore.word.compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        self.semaphore.counters.count_if((new & !word) & HANDOFF != 0, Event::HandoffRequested);
        Some(new)
    }

    fn sleep(&mut self, word: u32, deadline: Option<Deadline>) {
        let lane = if self.is_first() { Lane::First } else { Lane::Waiters };
        let parked = P::park(&self.semaphore.word, word, lane, self.lapse.or_at::<P>(deadline));
        self.semaphore.counters.count_sleep(parked);
        self.woken = match parked {
            Parked::Woken => true,
            Parked::Changed => self.woken, // it did not sleep: its duty to wake remains
            Parked::TimedOut | Parked::Interrupted => self.woken && is_on_its_way(word), // perhaps as a substitute
        };
    }
}

/// Permits of a semaphore, given back when dropped.
///
/// ```
/// use turnwise::Semaphore;
///
/// let connections = Semaphore::new(3);
/// let mut all = connections.acquire_many(3);
/// let one = all.split(1);
/// drop(all);
/// assert_eq!((connections.available(), one.count()), (2, 1));
/// ```
#[must_use = "the permits are given back at once if this is dropped"]
pub struct Permits<'a, const FAIR: bool = false, P: Platform = DefaultPlatform> {
    semaphore: &'a Semaphore<FAIR, P>,
    n: u32,
}

impl<const FAIR: bool, P: Platform> Permits<'_, FAIR, P> {
    /// Returns the number of permits.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.n
    }

    /// Drops the guard without giving the permits back: any thread may do so later by [`Semaphore::release`], or none.
    pub fn forget(self) {
        mem::forget(self);
    }

    /// Splits off `n` of these permits.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(&mut self, n: u32) -> Self {
        assert!(n <= self.n, "{n} permits of {}", self.n);
        self.n -= n;
        Permits { semaphore: self.semaphore, n }
    }
}

impl<const FAIR: bool, P: Platform> Drop for Permits<'_, FAIR, P> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.release(self.n);
    }
}

shows!([const FAIR: bool, P: Platform] Permits<'_, FAIR, P>, |permits| count: permits.n);

shows!([const FAIR: bool, P: Platform] Semaphore<FAIR, P>, |semaphore| available: semaphore.available(), fair: FAIR);

#[cfg(not(feature = "stats"))]
const _: () = assert!(size_of::<Semaphore>() == 4, "one word");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_leaves_permits_and_passes_its_place_on_to_those_that_sleep() {
        assert_eq!(left_by_first(7 | FIRST | HANDOFF), 7);
        assert_eq!(left_by_first(7 | FIRST | HANDOFF | WAITERS), 7 | PASSED);
        assert_eq!(left_by_first(7 | FIRST | WAITERS | GENERATION), 7 | PASSED | GENERATION);
        assert_eq!(left_by_first(7 | FIRST | GENERATION), 7);
    }

    #[test]
    fn a_newcomer_of_a_fair_semaphore_queues_behind_all_others() {
        let (fair, barging) = (FairSemaphore::new_fair(0), Semaphore::new(0));
        for flag in [PASSED, FIRST, WAITERS, HANDOFF] {
            fair.word.store(2 | flag, Relaxed);
            barging.word.store(2 | flag, Relaxed);
            assert!(!fair.take(1));
            assert_eq!(barging.take(1), flag != HANDOFF);
        }
    }

    #[test]
    fn a_place_whose_thread_does_not_come_lapses_but_not_that_of_a_sleeper() {
        let semaphore = FairSemaphore::new_fair(1);
        for (flags, lapses) in [(FIRST, true), (PASSED, true), (FIRST | HANDOFF, true), (ASLEEP, false)] {
            semaphore.word.store(1 | flags | STAMP.now::<DefaultPlatform>(), Relaxed);
            assert!(semaphore.try_acquire().is_none(), "{flags:x}");
            let timeout = Duration::from_nanos(2 * policy().reserved_ns);
            assert_eq!(semaphore.try_acquire_for(1, timeout).is_some(), lapses, "{flags:x}");
        }
    }

    #[test]
    fn a_try_finds_no_lapse_that_began_with_another_waiter() {
        let semaphore = FairSemaphore::new_fair(0);
        let on_its_way = FIRST | WAITERS | STAMP.now::<DefaultPlatform>();
        for (pause, words) in [(1, [1, 2]), (2, [1, 1])] {
            for permits in words {
                semaphore.word.store(permits | on_its_way, Relaxed);
                assert!(semaphore.try_acquire().is_none(), "{permits} permits");
                std::thread::sleep(Duration::from_nanos(pause * policy().reserved_ns));
            }
        }
    }

    #[test]
    fn a_waiter_becomes_first_when_the_place_is_free_or_it_was_woken_for_it() {
        let semaphore = Semaphore::new(0);
        let waiter = |woken| Waiter { woken, ..Waiter::new(&semaphore, 1) };
        assert!(waiter(false).may_be_first(3) && waiter(true).may_be_first(PASSED));
        assert!(!waiter(false).may_be_first(PASSED | WAITERS) && !waiter(true).may_be_first(FIRST));
        semaphore.word.store(3 | PASSED, Relaxed);
        let mut woken = waiter(true);
        woken.become_first(3 | PASSED);
        assert!(woken.is_first());
        assert_eq!(semaphore.word.load(Relaxed), 3 | FIRST | WAITERS);
    }
}
