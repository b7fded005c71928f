//! The sleeping stage: how a thread waits for a lock that it could not take at once. All sleeping locks wait this way.
//!
//! ```text
//! spin (spin.rs), unless the settings forbid it
//! the lock is free for this thread, or a hand-off to another has lapsed: take it
//! else, the time is up: leave
//! else announce it in the word, with a request for a hand-off if woken past handoff_after_ns; park; again
//! ```

use super::{Lapse, Stamp, Tuned};
use crate::events::Event;
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{Deadline, Lane, Parked, Platform, Token, Word};
use core::sync::atomic::Ordering::Relaxed;

/// The state in which a thread finds a lock, by its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// It may take the lock.
    Free,
    /// The lock is reserved for a sleeper, which may need this CPU.
    Reserved,
    /// Other threads hold the lock; the owner, if there is one and it is known.
    Held(Option<Token>),
}

/// A lock for which threads spin and sleep.
pub(crate) trait SleepingLock: Sized {
    type Platform: Platform;
    /// The mode in which a thread acquires the lock.
    type Mode: Copy;
    /// The bits of the word that show that the lock is held, or appears to be.
    const HELD: u32;
    /// The bit that a waiter sets to be the next that takes the lock.
    const HANDOFF: u32;
    /// The bits of pending hand-offs: no other is requested meanwhile.
    const PENDING: u32;
    /// The stamp of the process in which flags were set.
    const STAMP: Stamp;

    fn word(&self) -> &<Self::Platform as Platform>::U32;

    /// Returns the queue of the lock's spinners.
    #[cfg(feature = "spin")]
    fn spinners(&self) -> &Osq<Self::Platform>;

    /// Returns whether threads that spin for this mode queue: not if others may share the lock.
    #[cfg(feature = "spin")]
    fn queues(_mode: Self::Mode) -> bool {
        true
    }

    /// Returns the word, after clearing stale flags.
    fn poll(&self) -> u32 {
        Self::STAMP.clear_stale::<Self::Platform>(self.word(), self.word().load(Relaxed))
    }

    /// Returns the flag by which a thread announces that it sleeps.
    fn flag(mode: Self::Mode) -> u32;

    /// Returns the lane in which a thread without a hand-off request sleeps.
    fn lane(mode: Self::Mode) -> Lane;

    /// Returns the state of the lock with this word for this thread.
    fn found(waiter: &Waiter<'_, Self>, word: u32) -> Found;

    /// Takes the lock for this thread if its word is still `word`; returns whether it did. With `lapsed`, it does so
    /// despite a hand-off.
    fn take_for(waiter: &Waiter<'_, Self>, word: u32, lapsed: bool) -> bool;

    /// Leaves without the lock; returns `false` if the word changed meanwhile, so that the lock may be the thread's.
    fn give_up(waiter: &Waiter<'_, Self>, word: u32) -> bool;

    /// Returns whether the thread, if it slept now, would be woken. If not, it has yielded its CPU instead.
    fn may_sleep(_waiter: &Waiter<'_, Self>, _word: u32) -> bool {
        true
    }

    fn count(&self, event: Event);

    fn count_sleep(&self, parked: Parked);
}

/// A thread in the sleeping stage.
pub(crate) struct Waiter<'a, L: SleepingLock> {
    pub(crate) lock: &'a L,
    pub(crate) mode: L::Mode,
    /// Whether it was woken since it arrived.
    pub(crate) woken: bool,
    /// Whether it was woken, and found the lock taken `handoff_after_ns` after its arrival.
    pub(crate) late: bool,
    /// `HANDOFF` as the thread set it, with the generation; 0 if it has not set it.
    pub(crate) request: u32,
    /// The pending hand-off to another thread for which it finds the lock reserved.
    lapse: Lapse,
    /// When it arrived, or first had time to read a clock; 0 until then.
    pub(super) since: u64,
    pub(super) settings: &'a Tuned,
    /// Called each time between the announcement that it sleeps and the sleep.
    pub(crate) before_sleep: &'a dyn Fn(),
}

impl<'a, L: SleepingLock> Waiter<'a, L> {
    pub(crate) fn new(lock: &'a L, mode: L::Mode, settings: &'a Tuned) -> Self {
        let before_sleep = &|| ();
        Waiter {
            lock,
            mode,
            woken: false,
            late: false,
            request: 0,
            lapse: Lapse::NONE,
            since: 0,
            settings,
            before_sleep,
        }
    }

    /// Returns whether its own hand-off request is in the word.
    pub(crate) fn is_first(&self) -> bool {
        self.request != 0
    }

    pub(super) fn address(&self) -> usize {
        core::ptr::from_ref(self.lock.word()).addr()
    }

    /// Takes the lock as [`SleepingLock::take_for`] does.
    pub(super) fn take(&mut self, word: u32, lapsed: bool) -> bool {
        let taken = L::take_for(self, word, lapsed);
        if taken {
            self.lapse.end::<L::Platform>(self.address());
        }
        taken
    }

    /// Drops its hand-off request if, by this word, that has lapsed or was its parent's.
    fn knows(&mut self, word: u32) {
        if word & (L::HANDOFF | L::STAMP.bits) != self.request {
            self.request = 0;
        }
    }

    /// Announces in the word that it is about to sleep; returns the word, or `None` if it changed meanwhile.
    pub(super) fn announce(&mut self, word: u32) -> Option<u32> {
        let requests = self.late && word & L::PENDING == 0;
        let flags = L::flag(self.mode) | if requests { L::HANDOFF } else { 0 };
        let new = L::STAMP.with::<L::Platform>(word, flags);
        if new != word && self.lock.word().compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        if requests {
            self.request = new & (L::HANDOFF | L::STAMP.bits);
            self.lock.count(Event::HandoffRequested);
        }
        Some(new)
    }

    fn sleep(&mut self, word: u32, deadline: Option<Deadline>) {
        if self.since == 0 {
            self.since = L::Platform::now();
        }
        (self.before_sleep)();
        let lane = if self.is_first() { Lane::First } else { L::lane(self.mode) };
        let parked = L::Platform::park(self.lock.word(), word, lane, self.lapse.or_at::<L::Platform>(deadline));
        self.lock.count_sleep(parked);
        self.woken |= parked == Parked::Woken;
    }

    /// Returns whether it is late from now on.
    fn becomes_late(&mut self) -> bool {
        let may_be = self.woken && !self.late && self.since != 0;
        self.late |= may_be && L::Platform::now().saturating_sub(self.since) >= self.settings.handoff_after_ns();
        may_be && self.late
    }

    /// Waits for the lock until the deadline, if there is one; returns whether it acquired it.
    pub(crate) fn wait(&mut self, deadline: Option<Deadline>) -> bool {
        let mut timed_out = false;
        loop {
            #[cfg(feature = "spin")]
            if !timed_out && self.settings.spins() {
                if self.is_first() {
                    self.knows(self.lock.poll());
                }
                if self.spin(deadline) {
                    return true;
                }
            }
            let word = self.lock.poll();
            self.knows(word);
            let is_free = L::found(self, word) == Found::Free;
            let is_reserved = !is_free && word & L::HELD == 0;
            let lapsed = self.lapse.has_come::<L::Platform>(self.address(), word, is_reserved);
            if is_free || lapsed {
                if self.take(word, lapsed) {
                    return true;
                }
            } else if timed_out {
                if L::give_up(self, word) {
                    return false;
                }
            } else if !self.becomes_late() {
                // One that is late may find the lock free where others do not.
                if L::may_sleep(self, word)
                    && let Some(word) = self.announce(word)
                {
                    self.sleep(word, deadline);
                }
                timed_out = deadline.is_some_and(Deadline::expired::<L::Platform>);
            }
        }
    }
}
