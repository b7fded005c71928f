//! How a thread waits for the mutex in the sleeping stage.

use super::raw::{BLOCKED, GENERATION, HANDOFF, HANDOFF_MASK, OWNER, RawMutex, STAMP, WAITERS};
use crate::events::Event;
use crate::platform::{Deadline, Lane, Parked, Platform, Word};
use crate::wait::{Lapse, Tuned};
use core::sync::atomic::Ordering::Relaxed;

/// A thread in the sleeping stage.
pub(super) struct Waiter {
    /// Whether it was woken since it arrived (invariant 2).
    pub(super) woken: bool,
    /// `HANDOFF` as the thread set it, with the generation; 0 if it has not set it.
    pub(super) request: u32,
    /// The pending hand-off to another thread for which it finds the lock reserved.
    pub(super) lapse: Lapse,
    /// When it arrived, or first had time to read a clock; 0 until then.
    pub(super) since: u64,
    pub(super) settings: Tuned,
}

impl Waiter {
    /// Returns whether its own hand-off request is in the word (invariant 3).
    pub(super) fn is_first(&self) -> bool {
        self.request != 0
    }

    pub(super) fn wait<P: Platform>(&mut self, lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
        let mut timed_out = false;
        loop {
            #[cfg(feature = "spin")]
            if !timed_out && self.settings.spins() {
                if self.is_first() {
                    self.knows(lock.poll());
                }
                if self.spin(lock, deadline) {
                    return true;
                }
            }
            let word = lock.poll();
            self.knows(word);
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
                if self.since == 0 {
                    self.since = P::now();
                }
                let lane = if self.is_first() { Lane::First } else { Lane::Waiters };
                let parked = P::park(&lock.word, word, lane, self.lapse.or_at::<P>(deadline));
                lock.counters.count_sleep(parked);
                self.woken |= parked == Parked::Woken;
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
            }
        }
    }

    /// Drops its hand-off request if, by this word, that has lapsed or was its parent's.
    fn knows(&mut self, word: u32) {
        if word & (HANDOFF | GENERATION) != self.request {
            self.request = 0;
        }
    }

    pub(super) fn may_take(&self, word: u32) -> bool {
        let barred = if self.is_first() {
            OWNER
        } else if self.woken {
            OWNER | HANDOFF
        } else {
            BLOCKED
        };
        word & barred == 0
    }

    /// Returns whether a hand-off to another, for which the lock is free but reserved, has lapsed.
    fn outlasts<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> bool {
        self.lapse.has_come::<P>(lock.address(), word, word & OWNER == 0)
    }

    /// Takes a free lock, if its word is still `word`.
    pub(super) fn take<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> bool {
        let duty = if self.woken { WAITERS } else { 0 };
        let kept = if word & HANDOFF_MASK == 0 { 0 } else { word & WAITERS }; // invariant 2
        let taken = lock.take(word, kept | duty);
        if taken && word & HANDOFF_MASK != 0 {
            lock.counters.count(if self.may_take(word) { Event::HandedOff } else { Event::Stole });
        }
        if taken {
            self.lapse.end::<P>(lock.address());
        }
        taken
    }

    /// Announces in the word that we are about to sleep; returns the word, or `None` if it changed meanwhile.
    fn announce<P: Platform>(&mut self, lock: &RawMutex<P>, word: u32) -> Option<u32> {
        let requests = !self.is_first()
            && self.woken
            && word & HANDOFF_MASK == 0
            && P::now().saturating_sub(self.since) >= self.settings.handoff_after_ns();
        let request = if requests { HANDOFF | STAMP.now::<P>() } else { 0 };
        let new = word | WAITERS | request;
        if new != word && lock.word.compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        self.request |= request;
        lock.counters.count_if(requests, Event::HandoffRequested);
        Some(new)
    }

    /// Leaves without the lock; returns `false` if the word changed meanwhile, so that the lock may be ours after all.
    fn give_up<P: Platform>(&self, lock: &RawMutex<P>, word: u32) -> bool {
        if !self.is_first() && !self.woken {
            return true;
        }
        let left = lock.word.compare_exchange(word, word & !self.request | WAITERS, Relaxed, Relaxed).is_ok();
        if left && self.is_first() {
            P::wake(&raw const lock.word, Lane::First, u32::MAX);
        }
        left
    }
}
