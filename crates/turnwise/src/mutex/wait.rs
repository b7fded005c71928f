//! How a thread waits for the mutex in the sleeping stage.

use super::raw::{BLOCKED, GENERATION, HANDOFF, OWNER, PROMISE, RawMutex, STAMP, WAITERS};
#[cfg(feature = "spin")]
use super::spin;
use crate::events::Event;
#[cfg(feature = "spin")]
use crate::platform::IntWord;
use crate::platform::{Deadline, Lane, Parked, Platform, PollBackoff, Word};
use crate::wait::{Lapse, Settings, policy};
use core::sync::atomic::Ordering::Relaxed;

/// A thread in the sleeping stage.
pub(super) struct Waiter<S> {
    /// Whether it was woken since it came (invariant 2).
    pub(super) woken: bool,
    /// Whether it stands in line again, since it was woken and the lock's owners have turns.
    pub(super) lines_up: bool,
    /// `HANDOFF` as the thread set it, with the generation; 0: it has not set it.
    pub(super) claim: u32,
    /// The promise to another for which it finds the lock kept.
    pub(super) lapse: Lapse,
    pub(super) since: u64,
    pub(super) settings: S,
}

impl<S: Settings> Waiter<S> {
    /// Whether it has the claim (invariant 3).
    pub(super) fn is_first(&self) -> bool {
        self.claim != 0
    }

    pub(super) fn wait<P: Platform>(&mut self, lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
        let (mut timed_out, mut backoff, mut restless) = (false, PollBackoff::new(), 0);
        loop {
            let word = lock.look();
            if word & (HANDOFF | GENERATION) != self.claim {
                self.claim = 0; // it has lapsed, or this is a child, and the claim was its parent's
            }
            if self.may_take(word) || self.outlasts(lock, word) {
                if self.take(lock, word) {
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
                    if !self.lines_up {
                        continue;
                    }
                    restless = policy().restless;
                }
            } else {
                // Another thread changed the word. Where dozens do, each loses most of its exchanges and keeps the
                // owner from its own: let some go first.
                P::rest(backoff.next_ns(0));
            }
            restless += 1;
            if restless >= policy().restless && !timed_out {
                restless = 0;
                self.lines_up = false;
                if self.spin_again(lock, deadline) {
                    return true;
                }
            }
        }
    }

    /// Goes back into the line of spinners: the lock changes hands too fast to fall asleep on it, and every attempt to
    /// do so keeps the word busy.
    #[cfg(feature = "spin")]
    fn spin_again<P: Platform>(&self, lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
        let spins = self.settings.spins() && !self.is_first();
        let acquired = spins && spin::spin_again(lock, deadline, self.settings);
        if acquired && self.woken {
            lock.word.fetch_or(WAITERS, Relaxed); // the duty of invariant 2, before any thread can unlock
        }
        acquired
    }

    #[cfg(not(feature = "spin"))]
    fn spin_again<P: Platform>(&self, _: &RawMutex<P>, _: Option<Deadline>) -> bool {
        false
    }

    fn sleep<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32, deadline: Option<Deadline>) -> Parked {
        #[cfg(feature = "spin")]
        if self.is_first() && self.settings.spins() && spin::claimed(lock, word, deadline, self.settings) {
            return Parked::Changed;
        }
        let lane = if self.is_first() { Lane::First } else { Lane::Waiters };
        let parked = P::park(&lock.word, word, lane, self.lapse.or_at::<P>(deadline));
        lock.counters.count_sleep(parked);
        if parked == Parked::Woken {
            self.woken = true;
            #[cfg(feature = "spin")]
            {
                let may_spin = word & OWNER != 0 && !self.is_first() && self.settings.spins();
                self.lines_up = may_spin && spin::spin_woken(lock, self.settings);
            }
        }
        parked
    }

    fn may_take(&self, word: u32) -> bool {
        let barred = if self.is_first() {
            OWNER
        } else if self.woken {
            OWNER | HANDOFF
        } else {
            BLOCKED
        };
        word & barred == 0
    }

    /// Whether a promise to another has lapsed, for which the lock is free and kept.
    fn outlasts<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> bool {
        self.lapse.has_come::<P>(lock.address(), word & OWNER == 0)
    }

    /// Takes a free lock, if its word is still `word`.
    fn take<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> bool {
        let duty = if self.woken { WAITERS } else { 0 };
        let kept = if word & PROMISE == 0 { 0 } else { word & WAITERS }; // invariant 2
        let taken = lock.take(word, kept | duty);
        if taken && word & PROMISE != 0 {
            lock.counters.count(if self.may_take(word) { Event::HandedOff } else { Event::Stole });
        }
        if taken {
            self.lapse.end::<P>(lock.address());
        }
        taken
    }

    /// Makes the word say that we are about to sleep; returns it, or `None` if it changed meanwhile.
    fn announce<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> Option<u32> {
        let claims = !self.is_first()
            && self.woken
            && word & PROMISE == 0
            && P::now().saturating_sub(self.since) >= self.settings.claim_after_ns();
        let claim = if claims { HANDOFF | STAMP.now::<P>() } else { 0 };
        let new = word | WAITERS | claim;
        if new != word && lock.word.compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        self.claim |= claim;
        lock.counters.count_if(claims, Event::Claimed);
        Some(new)
    }

    /// Leaves without the lock; `false` if the word changed meanwhile, so that it may be ours after all.
    fn give_up<P: Platform>(&self, lock: &RawMutex<P>, word: u32) -> bool {
        if !self.is_first() && !self.woken {
            return true;
        }
        let left = lock.word.compare_exchange(word, word & !self.claim | WAITERS, Relaxed, Relaxed).is_ok();
        if left && self.is_first() {
            P::wake(&raw const lock.word, Lane::First, u32::MAX);
        }
        left
    }
}
