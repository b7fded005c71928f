//! A reference count and a lock in one word: while the lock is free, the count changes by one compare-exchange, which
//! also checks that the lock is free. (The kernel's lockref, W. Long and L. Torvalds, 2013.) Example: [`LockRef`].
//!
//! ```text
//! count    lock half 0, and the count allows it: + 1 or - 1 by one exchange; a race is lost: rest, try twice, again;
//!          the lock is held, or RETRIES races were lost: lock, change the count, unlock
//! lock     lock half 0 -> HELD and me; else the slow path: it polls free: fetch_or HELD; poll while the owner runs;
//!          set WAITERS; load the owner's count of releases; the lock half is the same: park on that count
//! try      as lock, without the waits of the slow path
//! unlock   clear the lock half; WAITERS was set: add to the count of releases in the owner's slot, wake all there
//! ```
//!
//! The word, 8 bytes (zero: unlocked, no references):
//!
//! | bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 0..16 | owner | token of the owner, if it stored one | the owner |
//! | 16 | `HELD` | the lock is held | the thread that takes it; the owner, on release |
//! | 17 | `WAITERS` | a thread may sleep for the lock | a waiter, before it sleeps; the owner, on release |
//! | 32..63 | count | references | `HELD` clear: any thread; set: the owner |
//! | 63 | `DEAD` | no new references for threads that find the object | the owner; never cleared |
//!
//! Invariants:
//! 1. The lock half is zero if and only if the lock is free. A thread that sets `HELD` when the half was zero has the
//!    lock until it sets the half to zero again.
//! 2. While `HELD` is set, only the owner changes the count half.
//! 3. The count never leaves `0..=COUNT_MAX`: every change checks that first.
//! 4. A waiter sleeps only after it has seen `WAITERS` and the owner's token set together; a thread that clears them
//!    wakes all that sleep at that token's slot. So no thread sleeps on a free lock.
//! 5. A release does not touch the word after the exchange that frees it: another thread may then free its memory.
//!
//! There is no room for a futex in the word's lock half, since a platform's words have one width; but a waiter knows
//! the owner, and all waiters for a lock held by that thread sleep on one word of its slot.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. One thread owns the lock, sees what earlier owners wrote (lockref.lock, lockref.unlock), and alone changes the
//!   count meanwhile (invariants 1 and 2).
//! - A2. The thread that drops the last reference sees what others did before they dropped theirs (lockref.put,
//!   lockref.last), and may free the object at once (invariant 5).
//! - A3. A thread that finds a reference sees what was written under the lock before the count rose (lockref.found).
//! - A4. One reference too many or too few is a panic that changes nothing (invariant 3).
//! - P1. A thread sleeps only if another one will wake it (invariant 4); there is no order among waiters.
//! - P2. A change of the count takes the lock, which keeps the others away, after [`RETRIES`] lost races.
//! - P3. No thread polls for an owner that is known to be off its CPU; a timed wait ends at its deadline.

mod make;

use super::LockRefGuard;
use crate::events::{Counters, Event, Kind};
use crate::order::{Class, How};
use crate::platform::{
    Deadline, DefaultPlatform, IntWord, Lane, Parked, Pause, Platform, SpinLimit, Token, Word, YieldThenSleep,
};
use crate::raw::{RawLock, RawTimedLock};
use crate::wait::policy;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

/// The maximum number of references. [`LockRef::get`] and similar operations panic rather than exceed it.
pub const COUNT_MAX: u32 = (1 << 31) - 1;

/// The number of compare-exchanges, after the first, that a change of the count loses before it takes the lock, which
/// keeps the others away.
pub const RETRIES: u32 = 100;

/// The number of exchanges that a thread tries in a row before it backs off again.
const AT_ONCE: u32 = 2;

/// How long a thread backs off: the first time, and at most; doubled in between.
const REST_NS: (u32, u32) = (200, 1_600);

const OWNER: u64 = 0xffff;
const HELD: u64 = 1 << 16;
pub(super) const WAITERS: u64 = 1 << 17;
/// The lock half of the word: zero if and only if the lock is free.
pub(super) const LOCK: u64 = 0xffff_ffff;
pub(super) const ONE: u64 = 1 << 32;
pub(super) const DEAD: u64 = 1 << 63;

pub(super) const fn count(word: u64) -> u32 {
    (word >> 32) as u32 & COUNT_MAX
}

/// The result of a change of the count without the lock.
enum Change {
    /// The change was made; the word before the change.
    Done(u64),
    /// This word does not allow the change.
    Refused(u64),
    /// The lock is held, or too many races were lost.
    Busy,
}

/// A reference count with a lock. Zero bytes: unlocked, no references.
///
/// It only counts; the object that the count keeps alive is up to the caller (see the example at [`super`]). No
/// operation wraps: one reference too many or too few causes a panic that leaves the count as it was. Each falls back
/// to the lock only if that is held, or after more than [`RETRIES`] lost races.
///
/// | operation | needs | count |
/// |---|---|---|
/// | [`get`](LockRef::get) | a reference | + 1 |
/// | [`get_not_zero`](LockRef::get_not_zero) | | + 1 if it is not 0, and not dead |
/// | [`get_not_dead`](LockRef::get_not_dead) | | + 1 if it is not dead |
/// | [`get_or_lock`](LockRef::get_or_lock) | | + 1 if it is not 0, and not dead; otherwise the lock |
/// | [`put`](LockRef::put) | a reference | - 1 |
/// | [`put_not_last`](LockRef::put_not_last) | a reference | - 1 if it is above 1 |
/// | [`put_or_lock`](LockRef::put_or_lock) | a reference | - 1 if it is above 1; otherwise the lock |
///
/// ```
/// use turnwise::LockRef;
///
/// let refs = LockRef::new(1);
/// refs.get();
/// assert!(refs.put_or_lock().is_none(), "another is left");
/// assert!(refs.put_or_lock().is_some(), "it is the last");
/// ```
#[repr(C)]
pub struct LockRef<P: Platform = DefaultPlatform> {
    pub(super) word: P::U64,
    class: Class,
    pub(super) counters: Counters<{ Kind::LockRef as usize }>,
}

#[cold]
#[inline(never)]
pub(super) fn too_many() -> ! {
    panic!("more references than a LockRef can count")
}

#[cold]
#[inline(never)]
pub(super) fn no_reference() -> ! {
    panic!("a LockRef without references was used as if the caller had one")
}

/// Operations on the count.
impl<P: Platform> LockRef<P> {
    /// Adds `delta` to the word if it is unlocked and `may` allows it.
    #[inline(always)]
    #[track_caller]
    fn change(&self, order: Ordering, delta: u64, may: impl Fn(u64) -> bool) -> Change {
        let mut word = self.word.load(Relaxed);
        let lost = word & LOCK == 0 && may(word);
        if lost {
            match self.word.compare_exchange(word, word.wrapping_add(delta), order, Relaxed) {
                Ok(_) => return Change::Done(word),
                Err(found) => word = found,
            }
        }
        self.change_slow(order, delta, may, (word, lost))
    }

    /// Retries the change, or returns why it failed. [`LockRef::change`] found `word`, and lost a race if `lost`.
    ///
    /// A thread that lost backs off for a while: the faster one makes many changes meanwhile. Then it tries as if
    /// nothing had changed: that exchange usually fails, but fetches the cache line, so that the next one, with the
    /// word found, follows at once and usually succeeds. A load would cost a transfer, and leave time to lose it.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn change_slow(
        &self,
        order: Ordering,
        delta: u64,
        may: impl Fn(u64) -> bool,
        (mut word, mut lost): (u64, bool),
    ) -> Change {
        let mut rest_ns = REST_NS.0;
        for tried in 0..RETRIES {
            if word & LOCK != 0 {
                return Change::Busy;
            }
            if !may(word) {
                return Change::Refused(word);
            }
            if lost && tried % AT_ONCE == 0 {
                P::pause(Pause::Rest(rest_ns));
                rest_ns = (rest_ns * 2).min(REST_NS.1);
            }
            match self.word.compare_exchange(word, word.wrapping_add(delta), order, Relaxed) {
                Ok(_) => return Change::Done(word),
                Err(found) => (word, lost) = (found, true),
            }
        }
        Change::Busy
    }

    /// Adds a reference; the caller already has one. Works even after [`LockRef::mark_dead`].
    ///
    /// # Panics
    /// If there is none, or there are [`COUNT_MAX`].
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn get(&self) {
        // Relaxed: the caller has a reference, and with it sees everything before that.
        match self.change(Relaxed, ONE, |word| (1..COUNT_MAX).contains(&count(word))) {
            Change::Done(_) => {}
            Change::Refused(word) if count(word) == 0 => no_reference(),
            Change::Refused(_) => too_many(),
            Change::Busy => self.get_slow(),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn get_slow(&self) {
        let guard = self.lock();
        if guard.count() == 0 {
            no_reference();
        }
        guard.get();
    }

    /// Adds a reference if the count is not 0 and the object is not dead; returns whether it did. If so, the caller
    /// sees what was written before the release of the lock under which the count rose from zero.
    ///
    /// # Panics
    /// If there are [`COUNT_MAX`].
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn get_not_zero(&self) -> bool {
        // ORDERING lockref.found: pairs with lockref.unlock: shows what was written under the lock.
        match self.change(Acquire, ONE, may_find) {
            Change::Done(_) => true,
            Change::Refused(word) if word & DEAD == 0 && count(word) == COUNT_MAX => too_many(),
            Change::Refused(_) => false,
            Change::Busy => self.get_or_lock_slow().is_none(),
        }
    }

    /// Adds a reference like [`LockRef::get_not_zero`] and returns `None`. If there is none, or the object is dead, it
    /// acquires the lock instead: the caller may revive the object by [`LockRefGuard::get`], or leave it.
    ///
    /// # Panics
    /// If there are [`COUNT_MAX`].
    #[inline]
    #[must_use = "the lock, if it was taken, is released at once"]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn get_or_lock(&self) -> Option<LockRefGuard<'_, P>> {
        // ORDERING lockref.found: pairs with lockref.unlock, as in `get_not_zero`.
        match self.change(Acquire, ONE, may_find) {
            Change::Done(_) => None,
            _ => self.get_or_lock_slow(),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn get_or_lock_slow(&self) -> Option<LockRefGuard<'_, P>> {
        let guard = self.lock();
        if guard.count() == 0 || guard.is_dead() {
            return Some(guard);
        }
        guard.get();
        None
    }

    /// Adds a reference, even if there is none, unless the object is dead; returns the previous count. If that is not
    /// 0, the caller sees what [`LockRef::get_not_zero`] would show.
    ///
    /// # Panics
    /// If there are [`COUNT_MAX`].
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn get_not_dead(&self) -> Option<u32> {
        // ORDERING lockref.found: pairs with lockref.unlock, as in `get_not_zero`.
        match self.change(Acquire, ONE, |word| word & DEAD == 0 && count(word) < COUNT_MAX) {
            Change::Done(word) => Some(count(word)),
            Change::Refused(word) if word & DEAD == 0 => too_many(),
            Change::Refused(_) => None,
            Change::Busy => Some(self.lock()).filter(|guard| !guard.is_dead()).map(|guard| guard.get()),
        }
    }

    /// Drops a reference; returns the number that remain. The thread that drops the last one sees what the others did
    /// before they dropped theirs. [`LockRef::get_or_lock`] may still revive the object afterwards; if no thread uses
    /// that, zero is final.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn put(&self) -> u32 {
        // ORDERING lockref.put: pairs with lockref.last, and with lockref.lock for a thread that locks instead.
        match self.change(Release, ONE.wrapping_neg(), |word| count(word) > 0) {
            Change::Done(word) if count(word) == 1 => {
                // ORDERING lockref.last: pairs with lockref.put: shows what others did before they dropped theirs.
                P::U32::fence(Acquire);
                0
            }
            Change::Done(word) => count(word) - 1,
            Change::Refused(_) => no_reference(),
            Change::Busy => self.put_slow(),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn put_slow(&self) -> u32 {
        self.lock().put()
    }

    /// Drops a reference unless it is the last; returns whether it did.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn put_not_last(&self) -> bool {
        // ORDERING lockref.put: as in `put`.
        match self.change(Release, ONE.wrapping_neg(), |word| count(word) > 1) {
            Change::Done(_) => true,
            Change::Refused(word) if count(word) == 0 => no_reference(),
            Change::Refused(_) => false,
            Change::Busy => self.put_or_lock_slow().is_none(),
        }
    }

    /// Drops a reference and returns `None`. If it is the last, the caller keeps it and has the lock; so it can remove
    /// the object from where other threads find it, mark it dead, and only then release the lock.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[must_use = "the lock, if it was taken, is released at once"]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn put_or_lock(&self) -> Option<LockRefGuard<'_, P>> {
        // ORDERING lockref.put: as in `put`.
        match self.change(Release, ONE.wrapping_neg(), |word| count(word) > 1) {
            Change::Done(_) => None,
            _ => self.put_or_lock_slow(),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn put_or_lock_slow(&self) -> Option<LockRefGuard<'_, P>> {
        let guard = self.lock();
        match guard.count() {
            0 => no_reference(),
            1 => Some(guard),
            _ => {
                guard.put();
                None
            }
        }
    }

    /// Marks the object dead: [`LockRef::get_not_zero`], [`LockRef::get_not_dead`] and [`LockRef::get_or_lock`] add no
    /// reference from now on. Existing ones stay, and a thread that has one can [`get`](LockRef::get) more.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn mark_dead(&self) {
        self.lock().mark_dead();
    }

    /// Returns the current number of references.
    pub fn count(&self) -> u32 {
        count(self.word.load(Relaxed))
    }

    /// Returns whether [`LockRef::mark_dead`] was called.
    pub fn is_dead(&self) -> bool {
        self.word.load(Relaxed) & DEAD != 0
    }
}

/// Returns whether a thread that found the object may get a reference.
fn may_find(word: u64) -> bool {
    word & DEAD == 0 && (1..COUNT_MAX).contains(&count(word))
}

/// Operations on the lock.
impl<P: Platform> LockRef<P> {
    acquisitions! {
        How::Write, |refs, deadline| LockRefGuard::new[refs] -> LockRefGuard<'_, P>, P;

        /// Acquires the lock: no other thread can lock it or change the count.
        lock: RawLock::lock(refs);
        /// Acquires the lock if it is free.
        try_lock: RawLock::try_lock(refs);
        try_lock_for, try_lock_until: refs.lock_until(deadline);
    }

    /// Returns the order checker's class of this lock, and its name.
    #[inline]
    pub(super) fn class(&self) -> (&Class, usize) {
        (&self.class, core::ptr::from_ref(self).addr())
    }

    /// Returns what has happened to the lock so far. Changes of the count that did not need it are not counted.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }

    /// Returns whether the lock is currently held.
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCK != 0
    }

    /// Takes a free lock, by a compare-exchange that may lose against changes of the count.
    #[inline]
    pub(super) fn take(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        for _ in 0..RETRIES {
            if word & LOCK != 0 {
                return false;
            }
            // ORDERING lockref.lock: pairs with lockref.unlock and lockref.put.
            match self.word.compare_exchange(word, word | HELD | owner::<P>(), Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    /// Takes a free lock, by an operation that no change of the count can make fail. If the lock is held, it sets only
    /// bits that are set already.
    pub(super) fn seize(&self) -> bool {
        if self.is_locked() {
            return false;
        }
        // ORDERING lockref.lock: pairs with lockref.unlock and lockref.put, as in `take`.
        let free = self.word.fetch_or(HELD, Acquire) & LOCK == 0;
        if free {
            self.word.fetch_or(owner::<P>(), Relaxed);
        }
        free
    }

    #[cold]
    #[inline(never)]
    pub(super) fn lock_slow(&self, deadline: Option<Deadline>) -> bool {
        let (mut slept, mut yielder) = (false, YieldThenSleep::new());
        loop {
            if self.seize() {
                self.counters.count_if(!slept, Event::Spun);
                return true;
            }
            if deadline.is_some_and(Deadline::expired::<P>) {
                return false;
            }
            if !self.spin(deadline) {
                slept |= self.sleep(deadline, &mut yielder);
            }
        }
    }

    /// Polls until the lock is free (`true`), or for `still_ns`, or until the owner is found off its CPU, or until the
    /// deadline.
    #[inline(never)]
    fn spin(&self, deadline: Option<Deadline>) -> bool {
        let end = P::now().saturating_add(2 * policy().still_ns);
        let until = deadline.map_or(end, |deadline| deadline.monotonic::<P>().min(end));
        let owner = named(self.word.load(Relaxed));
        let limit = SpinLimit { until: Some(until), owner, still_ns: Some(u32::MAX), ..SpinLimit::NONE };
        P::spin_until(&self.word, |word| word & LOCK == 0, limit).is_ok()
    }

    /// Sleeps until the owner releases the lock; returns whether it slept. It cannot sleep for an owner without a slot.
    #[inline(never)]
    fn sleep(&self, deadline: Option<Deadline>, yielder: &mut YieldThenSleep) -> bool {
        let word = self.word.load(Relaxed);
        if word & LOCK == 0 {
            return false;
        }
        let Some(owner) = named(word) else {
            yielder.wait::<P>();
            return false;
        };
        // Step A: announce ourselves to the owner, if it is still this one.
        let announced = word | WAITERS;
        if announced != word && self.word.compare_exchange(word, announced, Relaxed, Relaxed).is_err() {
            return false;
        }
        // Step B: read its count of releases.
        let released = &P::slot(owner).released;
        // ORDERING lockref.seen: pairs with lockref.wake: if we see a release counted, we see it in step C.
        let seen = released.load(Acquire);
        // Step C: it has not released the lock, or not counted that yet.
        if self.word.load(Relaxed) & LOCK != announced & LOCK {
            return false;
        }
        let parked = P::park(released, seen, Lane::Waiters, deadline);
        self.counters.count_sleep(parked);
        parked != Parked::Changed
    }

    /// Creates a guard of a lock that is held without one, for adapters that cannot keep a guard. Dropping it releases
    /// the lock.
    ///
    /// # Safety
    /// The calling thread has the lock; one guard of it is in use at a time, and one at most is dropped.
    #[inline]
    pub unsafe fn guard_unchecked(&self) -> LockRefGuard<'_, P> {
        // SAFETY: contract of `new`: that of `guard_unchecked`.
        unsafe { LockRefGuard::new(self) }
    }
}

/// Wakes the sleepers of the owner that `word` names. Touches only its slot, which is static (invariant 5).
#[cold]
pub(super) fn wake_after<P: Platform>(word: u64) {
    if let Some(owner) = named(word) {
        let released = &P::slot(owner).released;
        // ORDERING lockref.wake: pairs with lockref.seen: the release of the lock comes before it is counted.
        released.fetch_add(1, Release);
        P::wake(released, Lane::Waiters, u32::MAX);
    }
}

/// Returns the owner in `word`, if it is known and has a slot.
fn named(word: u64) -> Option<Token> {
    Token::new((word & OWNER) as u32).filter(|token| *token != Token::ANONYMOUS)
}

/// Returns the token that the calling thread writes into the word. It takes a slot if it has none, so others can sleep.
#[inline]
fn owner<P: Platform>() -> u64 {
    let token = P::current();
    let token = if token == Token::ANONYMOUS { named_now::<P>() } else { token };
    u64::from(token.get())
}

#[cold]
fn named_now<P: Platform>() -> Token {
    P::me().map_or(Token::ANONYMOUS, |me| me.token)
}

#[cfg(not(any(feature = "stats", feature = "order-check")))]
const _: () = assert!(size_of::<LockRef>() == 8, "one word");

#[cfg(test)]
mod tests;
