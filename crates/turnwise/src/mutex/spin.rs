//! How a thread spins for the mutex.
//!
//! None of this is needed for correctness: a thread without a slot skips it and sleeps.

use super::raw::{BLOCKED, GRANTED, HANDOFF, OWNER, RawMutex, WAITERS};
use crate::events::Event;
use crate::platform::slot::Private;
use crate::platform::{Deadline, Me, Platform, PollBackoff, SpinEnd, SpinLimit, Token, Word};
use crate::wait::{
    Known, Note, OwnTurn, Settings, SpinHistory, caller_is_late, many_cpus, policy, spin_limit, yield_quantum,
};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// Spins for the lock behind the queue of spinners; `true`: acquired.
pub(super) fn spin<P: Platform, S: Settings>(lock: &RawMutex<P>, deadline: Option<Deadline>, settings: S) -> bool {
    let Some(me) = P::me() else {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    };
    let private = &me.slot.private;
    let address = core::ptr::from_ref(lock).addr();
    let mut history = history_of(lock, private);
    let alone = history.looks_at_once() && lock.spinners.is_empty();
    let looked = alone.then(|| look_at_once(lock, me, &mut history));
    if looked == Some(Ok(true)) {
        lock.counters.count(Event::Spun);
        return true;
    }
    let came = P::now();
    let owner = || Token::new(lock.word.load(Relaxed) & OWNER);
    let first = owner();
    if looked.is_none() {
        history.comes(came, first);
    }
    if history.owner_stays_off::<P>(first, owner) {
        lock.counters.count(Event::SpinOffCpu);
        return false;
    }
    let turn = OwnTurn::of::<P>(private, address, came);
    // Else it would have the lock again after one section of the claimant's, and so ahead of all who sleep.
    if turn.would_take_it_back() {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    }
    // In its own turn it needs its CPU for the lock.
    let begin = if turn.end().is_some() { came } else { yield_quantum::<P>(private, address, came, settings) };
    // The node is busy when a signal handler interrupted a wait.
    if !history.attempt() || private.node_busy.replace(true) {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    }
    let failures = history.failures();
    let spin = Spin { lock, me, looked, failures, turn, limit: spin_limit::<P>(deadline), settings };
    let before = owner();
    let end = spin.queued(begin, &mut history);
    me.slot.node_is_back();
    history.ended::<P, _>(&end, spin.limit, before.is_some() && owner() == before);
    if end == Ok(Event::Spun) && spin.failures > 0 {
        lock.spinners.leave_note(Note::of_failures(0).to_bits());
    }
    lock.counters.count(match end {
        Ok(how) => how,
        Err(SpinEnd::Deadline) => Event::SpinTimedOut,
        Err(SpinEnd::NotRunning) => Event::SpinOffCpu,
    });
    end.is_ok()
}

/// Returns the notes of this thread on a lock, or else the lock's own.
fn history_of<'a, P: Platform>(lock: &RawMutex<P>, private: &'a Private) -> SpinHistory<'a> {
    let note = || lock.spinners.note().map_or(Note::NOTHING, Note::from_bits);
    SpinHistory::with_note::<P>(private, core::ptr::from_ref(lock).addr(), note)
}

/// Looks at the lock many times at once, before anything else: who first reads the clock, asks whether the owner is on
/// its CPU, and then rests, comes late where sections are short. Ends as [`spin_first`] does, when the platform would
/// read the clock.
fn look_at_once<P: Platform>(lock: &RawMutex<P>, me: Me<P>, history: &mut SpinHistory<'_>) -> Result<bool, SpinEnd> {
    /// A time that has passed.
    const UNTIL: u64 = 0;
    let end = spin_first(lock, me.token, UNTIL, 1, None);
    history.looked_at_once(end == Ok(true));
    end
}

/// Notes that this thread has left the lock at `address` to the one that claimed it.
pub(super) fn left_to_claimant<P: Platform>(address: usize) {
    if let Some(me) = P::me() {
        OwnTurn::leaves::<P>(&me.slot.private, address, P::now());
    }
}

/// A thread's spin for the mutex.
struct Spin<'a, P: Platform, S> {
    lock: &'a RawMutex<P>,
    me: Me<P>,
    /// How many looks at once have ended, if it began with such.
    looked: Option<Result<bool, SpinEnd>>,
    /// How many of its spins in a row have failed.
    failures: u8,
    turn: OwnTurn<'a>,
    /// When the caller must be back.
    limit: u64,
    settings: S,
}

impl<'a, P: Platform, S: Settings> Spin<'a, P, S> {
    /// Spins behind the queue; `Ok`: acquired, and how.
    fn queued(&self, begin: u64, history: &mut SpinHistory) -> Result<Event, SpinEnd> {
        let (policy, lock, settings) = (policy(), self.lock, self.settings);
        let until = |spin_ns: u64| begin.saturating_add(spin_ns).min(self.limit);
        // In its own turn another came in between: it does not stand in line again.
        if let Some(end) = self.turn.end()
            && self.snatch(end)
        {
            self.turn.goes_on();
            return Ok(Event::Spun);
        }
        let backoff = history.backoff();
        // The queue's word shares a line with the lock: a short wait of a single thread leaves it alone.
        let end = match self.looked {
            None if backoff == PollBackoff::new() && lock.spinners.is_empty() => {
                let until = until(settings.spin_short_ns());
                let end = spin_first(lock, self.me.token, until, policy.short_tries, Some(backoff));
                if caller_is_late::<P, _>(&end, self.limit) {
                    return Err(SpinEnd::Deadline);
                }
                history.tried_early(end == Ok(true));
                end
            }
            looked => looked.unwrap_or(Ok(false)),
        };
        match end {
            Err(SpinEnd::Deadline) => P::offer(),
            Ok(false) => {} // a crowd competes: stand in line
            end => return end.map(|_| Event::Spun),
        }
        let patient_ns = if backoff == PollBackoff::patient() { settings.spin_patient_ns() } else { 0 };
        self.in_line(until(settings.spin_ns::<P>().max(patient_ns)), backoff).map(|()| Event::SpunQueued)
    }

    /// Waits in line until `until`, then as the first in it. Waits longer while owners have turns, and once more if the
    /// lock changes hands and nobody sleeps.
    fn in_line(&self, until: u64, backoff: PollBackoff) -> Result<(), SpinEnd> {
        /// How often it waits longer at most: a line goes round in four or five times, with a turn for each CPU. The
        /// bound is for a thread that keeps the one before from its CPU, where no platform knows that.
        const LONGER: u32 = 8;
        let (lock, spinners) = (self.lock, &self.lock.spinners);
        let owner = lock.word.load(Relaxed) & OWNER;
        let mut left = LONGER;
        spinners.lock_longer(self.me, Some(until), || {
            let (now, word) = (P::now(), lock.word.load(Relaxed));
            let moves = left == LONGER && word & WAITERS == 0 && word & OWNER != owner;
            if left == 0 || now >= self.limit || !moves && !line_has_turns(lock, now) {
                return None;
            }
            left -= 1;
            Some(now.saturating_add(self.settings.spin_ns::<P>()).min(self.limit))
        })?;
        let Some(told) = self.me.slot.node.told() else {
            let end = spin_first(lock, self.me.token, until, u64::MAX, Some(backoff));
            spinners.unlock_noting(self.me, 0, self.note_after(&end, owner));
            return end.map(drop);
        };
        let known = Known::from_told(told);
        // Turns give an owner that comes back its batches, too.
        let backoff = match backoff {
            patient if patient != PollBackoff::new() => patient,
            _ if known.has_long_sections::<P>() => PollBackoff::close(),
            _ => PollBackoff::in_line(),
        };
        let (end, next) = match known.turn_ns() {
            0 => self.first_without_turns(until, backoff, known),
            turn_ns => self.first_after_turn(until, turn_ns, known),
        };
        spinners.unlock_noting(self.me, next.to_tell(), self.note_after(&end, owner));
        if end.is_ok() {
            let turn_ns = next.turn_ns();
            self.turn.begins(if turn_ns > 0 { P::now() } else { 0 }, turn_ns);
        }
        end.map(drop)
    }

    /// Returns the note to leave in the line after a spin that ended so; `owner` had the lock at its beginning.
    fn note_after(&self, end: &Result<bool, SpinEnd>, owner: u32) -> u16 {
        let one_owner = owner != 0 && end.is_err() && self.lock.word.load(Relaxed) & OWNER == owner;
        let shows_nothing = caller_is_late::<P, _>(end, self.limit);
        Note::after(end, one_owner && !shows_nothing, self.failures).to_bits()
    }

    /// Spins as the first behind an owner that has no turn. Returns what the line knows then, too: the clock is read
    /// while the lock is not to be had, and not by its owner.
    fn first_without_turns(
        &self,
        until: u64,
        mut backoff: PollBackoff,
        known: Known,
    ) -> (Result<bool, SpinEnd>, Known) {
        /// What reading the clock takes.
        const CLOCK_NS: u32 = 25;
        let spin = |backoff| spin_first(self.lock, self.me.token, until, u64::MAX, Some(backoff));
        if self.lock.word.load(Relaxed) & BLOCKED == 0 {
            return (spin(backoff), known.and::<P>(None, self.turn));
        }
        let next = known.and::<P>(Some(P::now()), self.turn);
        P::rest(backoff.next_ns(0).saturating_sub(CLOCK_NS));
        (spin(backoff), next)
    }

    /// Leaves the owner its turn, and does not look: it might take the lock, and all that it guards, for a section or
    /// two. Then takes the lock as soon as it can: rests that grow with each look in vain would make turns as uneven as
    /// luck is. Returns what the line knows then, too.
    fn first_after_turn(&self, until: u64, turn_ns: u64, known: Known) -> (Result<bool, SpinEnd>, Known) {
        P::rest(turn_ns as u32);
        let now = P::now();
        let next = known.and::<P>(Some(now), self.turn);
        if self.snatch(now + turn_ns / 2) {
            return (Ok(true), next);
        }
        // It was not late before it had a chance.
        let until = until.max(now + turn_ns).min(self.limit);
        (spin_first(self.lock, self.me.token, until, u64::MAX, None), next)
    }

    /// Takes, before `end`, a lock that its owner takes again and again: by exchanges without a look before, since from
    /// look to exchange the line would travel twice, while the owner needs it once to have the lock again. `false`: not
    /// acquired.
    fn snatch(&self, end: u64) -> bool {
        /// As many as their rests leave room for in a turn.
        const TRIES: u32 = 7;
        let (mut free, mut rests) = (0, PollBackoff::in_line());
        for _ in 0..TRIES {
            if P::now() >= end.min(self.limit) {
                break;
            }
            match self.lock.try_take(free) {
                Ok(_) => {
                    self.lock.counters.count_if(free & WAITERS != 0, Event::Stole);
                    return true;
                }
                Err(found) if found & (HANDOFF | GRANTED) != 0 => break,
                Err(found) => free = found & WAITERS,
            }
            P::rest(rests.next_ns(0));
        }
        false
    }
}

/// Whether the owner that this word names stood in a line that has turns when it last became first.
fn owner_has_turn<P: Platform>(word: u32) -> bool {
    // A thread without a slot was in no line.
    let owner = Token::new(word & OWNER).filter(|&owner| owner != Token::ANONYMOUS);
    let told = owner.and_then(|owner| P::slot(owner).node.told());
    told.is_some_and(|told| Known::from_told(told).has_turns())
}

/// Whether owners have turns, for a thread in line: an owner leaves the lock for moments, so it is waited for.
fn line_has_turns<P: Platform>(lock: &RawMutex<P>, now: u64) -> bool {
    let limit = SpinLimit { until: Some(now.saturating_add(policy().spin_short_ns)), ..SpinLimit::NONE };
    P::spin_until(&lock.word, |now| now & OWNER != 0, limit).is_ok_and(owner_has_turn::<P>)
}

/// Joins the line of spinners; `true`: acquired. For a waiter that cannot fall asleep, or would sleep for long.
pub(super) fn spin_again<P: Platform, S: Settings>(
    lock: &RawMutex<P>,
    deadline: Option<Deadline>,
    settings: S,
) -> bool {
    let Some(me) = P::me() else { return false };
    if me.slot.private.node_busy.replace(true) {
        return false;
    }
    let now = P::now();
    let turn = OwnTurn::of::<P>(&me.slot.private, core::ptr::from_ref(lock).addr(), now);
    let spin = Spin { lock, me, looked: None, failures: 0, turn, limit: spin_limit::<P>(deadline), settings };
    let end = spin.in_line(now.saturating_add(settings.spin_ns::<P>()).min(spin.limit), PollBackoff::new());
    me.slot.node_is_back();
    lock.counters.count_if(end.is_ok(), Event::SpunQueued);
    end.is_ok()
}

/// Spins as the first of the queue, or before there is one. `Ok(false)`: it lost `tries` exchanges to others.
fn spin_first<P: Platform>(
    lock: &RawMutex<P>,
    me: Token,
    until: u64,
    tries: u64,
    backoff: Option<PollBackoff>,
) -> Result<bool, SpinEnd> {
    let mut left = tries;
    loop {
        let word = lock.word.load(Relaxed);
        if word & (HANDOFF | GRANTED) != 0 && !many_cpus::<P>() {
            return Err(SpinEnd::NotRunning); // promised to a sleeper, which may need this CPU
        }
        if word & BLOCKED == 0 {
            // Without `WAITERS`, as in `RawMutex::try_take`.
            // ORDERING mutex.acquire: pairs with mutex.release, as in `RawMutex::lock_fast`.
            if lock.word.compare_exchange(word, me.get(), Acquire, Relaxed).is_ok() {
                lock.counters.count_if(word & WAITERS != 0, Event::Stole);
                return Ok(true);
            }
            left -= 1;
            if left == 0 {
                return Ok(false);
            }
            continue;
        }
        let owner = Token::new(word & OWNER);
        let limit = SpinLimit { until: Some(until), owner, backoff, ..SpinLimit::NONE };
        P::spin_until(&lock.word, |now| (now ^ word) & BLOCKED != 0, limit)?;
    }
}

/// Spins a little for a waiter that was woken and finds the lock taken, before it sleeps again. `true`: it should stand
/// in line instead, since the lock's owners have turns, and one after another would take the lock before it.
pub(super) fn spin_woken<P: Platform, S: Settings>(lock: &RawMutex<P>, settings: S) -> bool {
    let word = lock.word.load(Relaxed);
    let Some(owner) = Token::new(word & OWNER) else { return false };
    let Some(me) = P::me() else { return false };
    if owner_has_turn::<P>(word) {
        return true;
    }
    let mut history = history_of(lock, &me.slot.private);
    if !history.attempt() {
        return false;
    }
    let until = Some(P::now().saturating_add(settings.spin_woken_ns()));
    let limit = SpinLimit { until, owner: Some(owner), backoff: Some(PollBackoff::new()), ..SpinLimit::NONE };
    let end = P::spin_until(&lock.word, |now| now & OWNER == 0, limit);
    if end.is_err_and(|end| end != SpinEnd::NotRunning) && lock.word.load(Relaxed) & OWNER == owner.get() {
        history.learn(false);
    }
    false
}

/// Keeps the claimant of the next turn awake where there are many CPUs, while the owner runs and for no longer than any
/// other spin: if it slept, the lock would be idle while it is woken. Where that was in vain, the next claims sleep.
/// `true`: the owner has left, or the claim is gone.
pub(super) fn claimed<P: Platform, S: Settings>(
    lock: &RawMutex<P>,
    word: u32,
    deadline: Option<Deadline>,
    settings: S,
) -> bool {
    let owner = Token::new(word & OWNER);
    if owner.is_none() || !many_cpus::<P>() {
        return false;
    }
    let Some(me) = P::me() else { return false };
    let mut history = history_of(lock, &me.slot.private);
    if !history.stays_awake() {
        return false;
    }
    let until = P::now().saturating_add(settings.spin_ns::<P>()).min(spin_limit::<P>(deadline));
    let limit = SpinLimit { until: Some(until), owner, ..SpinLimit::NONE };
    let end = P::spin_until(&lock.word, |now| (now ^ word) & BLOCKED != 0, limit);
    history.saw(end.as_ref().err());
    end.is_ok()
}
