//! How readers, upgradable readers and writers wait: a spin, then the sleeping stage, which all three share.

use super::Prefer;
use super::raw::{
    COUNT, FULL, GENERATION, HANDOFF, HELD, NOT_UPGRADABLE, READERS, RawRwSem, STAMP, UPGRADABLE, WRITER, WRITERS,
};
#[cfg(feature = "spin")]
use super::spin;
use super::wake::wake_all;
use crate::events::Event;
#[cfg(feature = "live")]
use crate::live;
use crate::platform::{Deadline, IntWord, Lane, Parked, Platform, Word, YieldThenSleep};
use crate::wait::{Lapse, Tuned};
use core::sync::atomic::Ordering::Relaxed;

impl<P: Platform> RawRwSem<P> {
    /// Acquires the lock for reading like [`RawRwSem::read_with`], with settings for this wait, if it must wait.
    pub fn read_tuned(&self, prefer: Prefer, deadline: Option<Deadline>, settings: Tuned) -> bool {
        self.counters.acquisition_by(self.poll_and_enter(prefer), || self.read_slow(prefer, deadline, &settings))
    }

    /// Acquires the lock for writing like [`RawRwSem::write_with`], with settings for this wait, if it must wait.
    pub fn write_tuned(&self, deadline: Option<Deadline>, settings: Tuned) -> bool {
        self.counters.acquisition_by(self.take_write(), || self.write_slow(deadline, &settings))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn read_slow(&self, prefer: Prefer, deadline: Option<Deadline>, settings: &Tuned) -> bool {
        let kind = Kind::Reader(prefer);
        watched!(P, self.waited_for(live::Kind::Read), settings, |set| Waiter::new(kind, set).wait(self, deadline))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn write_slow(&self, deadline: Option<Deadline>, settings: &Tuned) -> bool {
        watched!(P, self.waited_for(live::Kind::Write), settings, |set| {
            Waiter::new(Kind::Writer, set).wait(self, deadline) && self.own()
        })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn upgradable_slow(&self, deadline: Option<Deadline>) -> bool {
        watched!(P, self.waited_for(live::Kind::Read), &Tuned::POLICY, |_set| {
            Waiter::new(Kind::Upgradable, &Tuned::POLICY).wait(self, deadline)
        })
    }

    /// Returns what a watcher receives about a wait that begins now.
    #[cfg(feature = "live")]
    fn waited_for(&self, kind: live::Kind) -> live::Wait {
        #[cfg(feature = "spin")]
        let owner = self.writer();
        #[cfg(not(feature = "spin"))]
        let owner = 0;
        live::Wait { lock: core::ptr::from_ref(self).addr(), kind, owner }
    }

    /// Upgrades from `UPGRADABLE` to `WRITER`, with both set while readers are inside.
    #[cold]
    #[inline(never)]
    pub(super) fn upgrade_slow(&self, deadline: Option<Deadline>) -> bool {
        self.own();
        self.word.fetch_or(WRITER, Relaxed);
        #[cfg(feature = "spin")]
        spin::upgrade(self, deadline);
        let mut timed_out = false;
        loop {
            let word = self.word.load(Relaxed);
            if word & COUNT == 0 {
                if self.take(word, word & !UPGRADABLE).is_ok() {
                    return true;
                }
            } else if timed_out {
                self.release_slow(UPGRADABLE);
                return false;
            } else {
                P::park(&self.word, word, Lane::First, deadline);
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
            }
        }
    }
}

/// The mode that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Reader(Prefer),
    Upgradable,
    Writer,
}

/// A thread in the sleeping stage.
pub(super) struct Waiter {
    pub(super) kind: Kind,
    /// Whether it was woken since it arrived (invariant 3).
    woken: bool,
    /// `HANDOFF` as the thread set it, with the generation; 0 if it has not set it (invariant 5).
    request: u32,
    /// Whether it was woken `handoff_after_ns` after its arrival.
    late: bool,
    /// The pending hand-off to others for which it finds the lock reserved.
    lapse: Lapse,
    /// When it arrived, or first had time to read a clock; 0 until then.
    pub(super) since: u64,
    pub(super) settings: Tuned,
}

impl Waiter {
    fn new(kind: Kind, settings: &Tuned) -> Self {
        Waiter { kind, woken: false, request: 0, late: false, lapse: Lapse::NONE, since: 0, settings: *settings }
    }

    /// Returns whether its own hand-off request is in the word.
    pub(super) fn is_first(&self) -> bool {
        self.request != 0
    }

    fn wait<P: Platform>(&mut self, lock: &RawRwSem<P>, deadline: Option<Deadline>) -> bool {
        let (mut timed_out, mut yielder) = (false, YieldThenSleep::new());
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
            let barred = self.barred_by(word);
            let lapsed = self.lapse.has_come::<P>(lock.address(), word, barred != 0 && word & HELD == 0);
            if barred == 0 || lapsed {
                if self.take(lock, word, lapsed) {
                    return true;
                }
            } else if timed_out {
                if self.give_up(lock, word) {
                    return false;
                }
            } else if barred == FULL {
                yielder.wait::<P>(); // no thread would wake us
                timed_out = deadline.is_some_and(Deadline::expired::<P>);
            } else if let Some(word) = self.announce(lock, word) {
                self.sleep(lock, word, deadline);
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

    /// Returns the bits of `word` that keep this thread out.
    pub(super) fn barred_by(&self, word: u32) -> u32 {
        match self.kind {
            Kind::Reader(prefer) => prefer.keeps_out(word) & self.barred(),
            _ => word & self.barred(),
        }
    }

    /// Returns the bits that keep this thread out.
    fn barred(&self) -> u32 {
        let barred = match self.kind {
            Kind::Reader(prefer) if self.late => prefer.barred() & !WRITERS,
            Kind::Reader(prefer) => prefer.barred(),
            Kind::Upgradable => NOT_UPGRADABLE,
            Kind::Writer => HELD | HANDOFF,
        };
        if self.is_first() { barred & !HANDOFF } else { barred }
    }

    /// Returns the word of a lock that only this thread holds, in its mode.
    fn hold(&self) -> u32 {
        match self.kind {
            Kind::Reader(_) => 1,
            Kind::Upgradable => UPGRADABLE,
            Kind::Writer => WRITER,
        }
    }

    /// Takes the lock, if its word is still `word`. With `lapsed`, it does so despite a hand-off.
    pub(super) fn take<P: Platform>(&mut self, lock: &RawRwSem<P>, word: u32, lapsed: bool) -> bool {
        let taken = if lapsed { self.open(lock, word, self.hold()) } else { self.enter(lock, word) };
        if taken {
            lock.counters.count_if(self.is_first(), Event::HandedOff);
            self.lapse.end::<P>(lock.address());
        }
        taken
    }

    fn enter<P: Platform>(&self, lock: &RawRwSem<P>, word: u32) -> bool {
        match self.kind {
            Kind::Reader(_) if self.late && (self.is_first() || word & HANDOFF == 0) => {
                self.open(lock, word, (word & HELD) + 1)
            }
            // Alongside an upgradable reader, where an addition would be undone.
            Kind::Reader(_) if word & HANDOFF != 0 => lock.take(word, word + 1).is_ok(),
            Kind::Reader(prefer) => lock.enter(prefer),
            Kind::Upgradable if !self.is_first() => lock.take(word, word | UPGRADABLE).is_ok(),
            Kind::Upgradable => self.open(lock, word, word & COUNT | UPGRADABLE),
            Kind::Writer => {
                let others = if self.woken { WRITERS } else { 0 };
                lock.take(word, STAMP.with::<P>(STAMP.without(word, HANDOFF), others) | WRITER).is_ok()
            }
        }
    }

    /// Takes the lock and lets in others that can enter: a reader that waited long is followed by all others.
    fn open<P: Platform>(&self, lock: &RawRwSem<P>, word: u32, new: u32) -> bool {
        let taken = lock.take(word, new).is_ok();
        if taken {
            self.wake_others(lock, word);
        }
        taken
    }

    /// Wakes others after the flags of `word`, which stood for all of them, were cleared.
    fn wake_others<P: Platform>(&self, lock: &RawRwSem<P>, word: u32) {
        let duty = if self.woken && self.kind == Kind::Writer { WRITERS } else { 0 };
        wake_all::<P>(&raw const lock.word, word | duty);
    }

    /// Announces in the word that we are about to sleep; returns the word, or `None` if it changed meanwhile.
    fn announce<P: Platform>(&mut self, lock: &RawRwSem<P>, word: u32) -> Option<u32> {
        let request = self.late && word & HANDOFF == 0;
        let asleep = if self.kind == Kind::Writer { WRITERS } else { READERS };
        let new = STAMP.with::<P>(word, asleep | if request { HANDOFF } else { 0 });
        if new != word && lock.word.compare_exchange(word, new, Relaxed, Relaxed).is_err() {
            return None;
        }
        if request {
            self.request = new & (HANDOFF | GENERATION);
        }
        lock.counters.count_if(request, Event::HandoffRequested);
        Some(new)
    }

    fn sleep<P: Platform>(&mut self, lock: &RawRwSem<P>, word: u32, deadline: Option<Deadline>) {
        if self.since == 0 {
            self.since = P::now();
        }
        let lane = match self.kind {
            _ if self.is_first() => Lane::First,
            Kind::Reader(_) | Kind::Upgradable => Lane::Readers,
            Kind::Writer => Lane::Waiters,
        };
        let parked = P::park(&lock.word, word, lane, self.lapse.or_at::<P>(deadline));
        lock.counters.count_sleep(parked);
        if parked == Parked::Woken {
            self.woken = true;
            self.late |= P::now().saturating_sub(self.since) >= self.settings.handoff_after_ns();
        }
    }

    /// Leaves without the lock; returns `false` if the word changed meanwhile, so that the lock may be ours after all.
    fn give_up<P: Platform>(&self, lock: &RawRwSem<P>, word: u32) -> bool {
        if self.kind != Kind::Writer && !self.is_first() {
            return true; // they have no duty: they are woken together
        }
        // Invariant 4: perhaps we were the one that `WRITERS` stands for.
        let cleared = READERS | WRITERS | self.request & HANDOFF;
        if lock.word.compare_exchange(word, STAMP.without(word, cleared), Relaxed, Relaxed).is_err() {
            return false;
        }
        self.wake_others(lock, word & cleared);
        true
    }
}
