//! How readers, upgradable readers and writers wait: the parts of [`crate::wait::Waiter`] that are this lock's own, and
//! the upgrade.

use super::Prefer;
use super::raw::{COUNT, FULL, HANDOFF, HELD, NOT_UPGRADABLE, READERS, RawRwSem, STAMP, UPGRADABLE, WRITER, WRITERS};
use super::wake::wake_all;
use crate::events::Event;
#[cfg(feature = "live")]
use crate::live;
#[cfg(feature = "spin")]
use crate::osq::Osq;
#[cfg(feature = "spin")]
use crate::platform::SpinLimit;
use crate::platform::{Deadline, IntWord, Lane, Parked, Platform, Token, Word, YieldThenSleep};
#[cfg(feature = "spin")]
use crate::wait::policy;
use crate::wait::{Found, SleepingLock, Stamp, Tuned, Waiter};
use core::sync::atomic::Ordering::Relaxed;

impl<P: Platform> RawRwSem<P> {
    /// Acquires the lock for reading like [`RawRwSem::read_with`], with settings for this wait, if it must wait.
    pub fn read_tuned(&self, prefer: Prefer, deadline: Option<Deadline>, settings: Tuned) -> bool {
        self.counters.acquisition_by(self.poll_and_enter(prefer), || self.read_slow(prefer, deadline, &settings))
    }

    /// Acquires the lock for writing, or gives up at the deadline if there is one, with settings for this wait, if it
    /// must wait; returns whether it acquired it.
    pub fn write_tuned(&self, deadline: Option<Deadline>, settings: Tuned) -> bool {
        self.counters.acquisition_by(self.take_write(), || self.write_slow(deadline, &settings, &|| ()))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn read_slow(&self, prefer: Prefer, deadline: Option<Deadline>, settings: &Tuned) -> bool {
        let kind = Kind::Reader(prefer);
        watched!(P, self.waited_for(live::Kind::Read), settings, |set| Waiter::new(self, kind, set).wait(deadline))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn write_slow(&self, deadline: Option<Deadline>, settings: &Tuned, before_sleep: &dyn Fn()) -> bool {
        watched!(P, self.waited_for(live::Kind::Write), settings, |set| {
            let mut waiter = Waiter::new(self, Kind::Writer, set);
            waiter.before_sleep = before_sleep;
            waiter.wait(deadline) && self.own()
        })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn upgradable_slow(&self, deadline: Option<Deadline>) -> bool {
        watched!(P, self.waited_for(live::Kind::Read), &Tuned::POLICY, |_set| {
            Waiter::new(self, Kind::Upgradable, &Tuned::POLICY).wait(deadline)
        })
    }

    /// Returns what a watcher receives about a wait that begins now.
    #[cfg(feature = "live")]
    fn waited_for(&self, kind: live::Kind) -> live::Wait {
        let owner = self.writer_of(self.word.load(Relaxed));
        live::Wait { lock: core::ptr::from_ref(self).addr(), kind, owner }
    }

    /// Returns the token number of the writer that has the lock, 0 if none has it, for diagnostics. A writer that has
    /// just acquired the lock may not have stored its own yet.
    #[cfg(feature = "spin")]
    pub fn writer(&self) -> u32 {
        self.writer_of(self.word.load(Relaxed))
    }

    /// Returns the token number of the writer in `word`, as noted next to the word; 0 if there is none, or no note.
    fn writer_of(&self, word: u32) -> u32 {
        match word & WRITER {
            #[cfg(feature = "spin")]
            WRITER => self.owner.load(Relaxed),
            _ => 0,
        }
    }

    /// Upgrades from `UPGRADABLE` to `WRITER`, with both set while readers are inside.
    #[cold]
    #[inline(never)]
    pub(super) fn upgrade_slow(&self, deadline: Option<Deadline>) -> bool {
        self.own();
        self.word.fetch_or(WRITER, Relaxed);
        #[cfg(feature = "spin")]
        self.spin_for_upgrade(deadline);
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

    /// Spins briefly for the upgrader: the readers may leave.
    #[cfg(feature = "spin")]
    fn spin_for_upgrade(&self, deadline: Option<Deadline>) {
        let end = P::now().saturating_add(2 * policy().still_ns);
        let until = Some(deadline.map_or(end, |deadline| deadline.monotonic::<P>().min(end)));
        let limit = SpinLimit { until, still_ns: Some(u32::MAX), ..SpinLimit::NONE };
        let _ = P::spin_until(&self.word, |now| now & COUNT == 0, limit);
    }
}

/// The mode that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Reader(Prefer),
    Upgradable,
    Writer,
}

impl<P: Platform> SleepingLock for RawRwSem<P> {
    type Platform = P;
    type Mode = Kind;
    const HELD: u32 = HELD;
    const HANDOFF: u32 = HANDOFF;
    const PENDING: u32 = HANDOFF;
    const STAMP: Stamp = STAMP;

    fn word(&self) -> &P::U32 {
        &self.word
    }

    #[cfg(feature = "spin")]
    fn spinners(&self) -> &Osq<P> {
        &self.spinners
    }

    /// Writers, and threads that wait to be upgradable, queue. Readers need not: one writer's release lets them all in.
    #[cfg(feature = "spin")]
    fn queues(kind: Kind) -> bool {
        !matches!(kind, Kind::Reader(_))
    }

    fn flag(kind: Kind) -> u32 {
        if kind == Kind::Writer { WRITERS } else { READERS }
    }

    fn lane(kind: Kind) -> Lane {
        if kind == Kind::Writer { Lane::Waiters } else { Lane::Readers }
    }

    /// Successive readers count as one section; each successive writer is a new one, with a new owner to watch.
    fn found(waiter: &Waiter<'_, Self>, word: u32) -> Found {
        let barred = waiter.barred_by(word);
        let held = match waiter.mode {
            Kind::Reader(_) => WRITER,
            _ => HELD,
        };
        if barred == 0 {
            Found::Free
        } else if barred & !HELD != 0 || word & held == 0 {
            Found::Reserved
        } else {
            Found::Held(Token::new(waiter.lock.writer_of(word)))
        }
    }

    fn take_for(waiter: &Waiter<'_, Self>, word: u32, lapsed: bool) -> bool {
        let taken = if lapsed { waiter.open(word, waiter.hold()) } else { waiter.enter(word) };
        waiter.lock.counters.count_if(taken && waiter.is_first(), Event::HandedOff);
        taken
    }

    fn give_up(waiter: &Waiter<'_, Self>, word: u32) -> bool {
        if waiter.mode != Kind::Writer && !waiter.is_first() {
            return true; // they have no duty: they are woken together
        }
        // Invariant 4: perhaps we were the one that `WRITERS` stands for.
        let cleared = READERS | WRITERS | waiter.request & HANDOFF;
        if waiter.lock.word.compare_exchange(word, STAMP.without(word, cleared), Relaxed, Relaxed).is_err() {
            return false;
        }
        waiter.wake_others(word & cleared);
        true
    }

    /// No thread wakes a reader that waits for one of too many others to leave.
    fn may_sleep(waiter: &Waiter<'_, Self>, word: u32) -> bool {
        let too_many = waiter.barred_by(word) == FULL;
        if too_many {
            YieldThenSleep::new().wait::<P>();
        }
        !too_many
    }

    fn count(&self, event: Event) {
        self.counters.count(event);
    }

    fn count_sleep(&self, parked: Parked) {
        self.counters.count_sleep(parked);
    }
}

impl<P: Platform> Waiter<'_, RawRwSem<P>> {
    /// Returns the bits of `word` that keep this thread out.
    fn barred_by(&self, word: u32) -> u32 {
        match self.mode {
            Kind::Reader(prefer) => prefer.keeps_out(word) & self.barred(),
            _ => word & self.barred(),
        }
    }

    /// Returns the bits that keep this thread out.
    fn barred(&self) -> u32 {
        let barred = match self.mode {
            Kind::Reader(prefer) if self.late => prefer.barred() & !WRITERS,
            Kind::Reader(prefer) => prefer.barred(),
            Kind::Upgradable => NOT_UPGRADABLE,
            Kind::Writer => HELD | HANDOFF,
        };
        if self.is_first() { barred & !HANDOFF } else { barred }
    }

    /// Returns the word of a lock that only this thread holds, in its mode.
    fn hold(&self) -> u32 {
        match self.mode {
            Kind::Reader(_) => 1,
            Kind::Upgradable => UPGRADABLE,
            Kind::Writer => WRITER,
        }
    }

    fn enter(&self, word: u32) -> bool {
        let lock = self.lock;
        match self.mode {
            Kind::Reader(_) if self.late && (self.is_first() || word & HANDOFF == 0) => {
                self.open(word, (word & HELD) + 1)
            }
            // Alongside an upgradable reader, where an addition would be undone.
            Kind::Reader(_) if word & HANDOFF != 0 => lock.take(word, word + 1).is_ok(),
            Kind::Reader(prefer) => lock.enter(prefer),
            Kind::Upgradable if !self.is_first() => lock.take(word, word | UPGRADABLE).is_ok(),
            Kind::Upgradable => self.open(word, word & COUNT | UPGRADABLE),
            Kind::Writer => {
                let others = if self.woken { WRITERS } else { 0 };
                lock.take(word, STAMP.with::<P>(STAMP.without(word, HANDOFF), others) | WRITER).is_ok()
            }
        }
    }

    /// Takes the lock and lets in others that can enter: a reader that waited long is followed by all others.
    fn open(&self, word: u32, new: u32) -> bool {
        let taken = self.lock.take(word, new).is_ok();
        if taken {
            self.wake_others(word);
        }
        taken
    }

    /// Wakes others after the flags of `word`, which stood for all of them, were cleared.
    fn wake_others(&self, word: u32) {
        let duty = if self.woken && self.mode == Kind::Writer { WRITERS } else { 0 };
        wake_all::<P>(&raw const self.lock.word, word | duty);
    }
}
