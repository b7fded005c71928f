//! How long a thread spins for the mutex, and when it lets others have the CPU.
//!
//! All limits are in time. None of this is needed for correctness: a thread without a slot skips it and sleeps.

use super::raw::{BLOCKED, GRANTED, HANDOFF, OWNER, RawMutex, WAITERS, many_cpus, monotonic};
use crate::events::Event;
use crate::platform::slot::Private;
use crate::platform::{Deadline, Me, OnCpu, Platform, Rests, SpinEnd, SpinLimit, Token, Word};
use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// Longest spin before sleeping: about twice what a sleep and the wake-up cost both sides together (20 to 25 us on the
/// machines measured), since a long spin is mostly rest, away from the lock's line.
const SPIN_NS: u64 = 50_000;
/// A line of spinners is at most as long as there are CPUs. Where each has its turn within this, the last need not give
/// up and sleep: on 80 simulated CPUs most did otherwise, and waited milliseconds (`docs/design/mutex.md`).
const SPIN_NS_PER_CPU: u64 = 2_000;
/// Longest spin of a patient thread ([`Notes::is_patient`]), whose lock is taken again and again by the same owner: a
/// sleeper would be woken for nothing as often, at the owner's expense. The kernel's spinners have no limit at all
/// while the owner runs.
const SPIN_PATIENT_NS: u64 = 800_000;
/// So often the first of the queue offers its CPU ([`Platform::offer`]).
const OFFER_NS: u64 = 200_000;
/// A spin that lasts longer than this offers the CPU before it goes on.
pub(crate) const SPIN_SHORT_NS: u64 = 500;
/// So many exchanges lost in that time show that a crowd competes, which stands in line at less cost than it fights.
pub(crate) const SHORT_TRIES: u32 = 2;
/// Longest spin of a thread that was just woken, before it sleeps again.
pub(crate) const SPIN_WOKEN_NS: u64 = 10_000;
/// A thread that has contended for a lock for this long without sleeping offers its CPU once.
///
/// Where threads outnumber CPUs, the operating system would let each run for some milliseconds, so that each waits for
/// dozens of them; with this they take turns a hundred times as often, for one switch a turn.
pub const TURN_NS: u64 = 64_000;
/// The clock is asked once in so many contended acquisitions.
const TURN_TICKS: u32 = 4;

/// Longest spin before sleeping, on this machine.
pub(crate) fn spin_ns<P: Platform>() -> u64 {
    SPIN_NS.max(u64::from(P::cpus()) * SPIN_NS_PER_CPU)
}

/// How a spinner stays away from the lock's word. Rests leave the line to an owner that takes the lock again at once,
/// which pays where it mostly does; among many CPUs others come in between, and a lock that is free while the first in
/// line rests is one that all of them wait for.
pub(crate) fn away<P: Platform>(rests: Rests) -> Option<Rests> {
    (!many_cpus::<P>()).then_some(rests)
}

/// When a wait with this deadline must stop spinning, on [`Platform::now`].
pub(crate) fn spin_limit<P: Platform>(deadline: Option<Deadline>) -> u64 {
    deadline.map_or(u64::MAX, monotonic::<P>)
}

/// Whether a spin ended since the caller's deadline, `limit`, has come: its budget was not spent.
pub(crate) fn caller_is_late<P: Platform, T>(end: &Result<T, SpinEnd>, limit: u64) -> bool {
    matches!(end, Err(SpinEnd::Deadline)) && limit < u64::MAX && P::now() >= limit
}

/// What became of one thread's recent spins on one lock.
#[derive(Clone, Copy)]
pub(crate) struct SpinRecord {
    /// Which lock: bits of its address.
    tag: u32,
    /// Spins in a row that used up their budget for nothing.
    failures: u8,
    /// Share of spins that ended with the lock, lately: 255 is all.
    score: u8,
    /// Spins to leave out before the next attempt.
    skip: u8,
    /// Share of waits that did not end with the lock within [`SPIN_SHORT_NS`], lately: 255 is all.
    late: u8,
}

impl SpinRecord {
    /// Zero bytes, as all that is in a new slot: the table of slots takes no room in a file.
    pub(crate) const NEW: SpinRecord = SpinRecord { tag: 0, failures: 0, score: 0, skip: 0, late: 0 };

    /// Whether to spin this time: after failures only now and then.
    fn attempt(&mut self) -> bool {
        self.skip = self.skip.saturating_sub(1);
        self.skip == 0
    }

    fn learn(&mut self, success: bool) {
        /// One failure may be chance.
        const FORGIVEN: u8 = 1;
        /// One attempt in 64 finds out whether sections have become short.
        const SKIP_BITS_MAX: u8 = 6;
        self.failures = if success { 0 } else { self.failures.saturating_add(1) };
        self.skip = match self.failures.saturating_sub(FORGIVEN) {
            0 => 0,
            excess => 1 << excess.saturating_mul(2).min(SKIP_BITS_MAX),
        };
        self.rate(success);
    }

    fn rate(&mut self, success: bool) {
        self.score = moved(self.score, success);
    }

    /// Whether to look early. Where that hardly ever finds the lock free, its owner takes it again as soon as it has
    /// released it; then each early look that succeeds moves the lock and all that it guards for a section or two.
    fn looks_early(&mut self) -> bool {
        let early = self.early() >= EARLY_PAYS;
        if !early {
            self.late -= EARLY_AGAIN;
        }
        early
    }

    fn looked_early(&mut self, success: bool) {
        let (before, after) = (self.early(), moved(self.early(), success));
        let dropped = before >= EARLY_PAYS && after < EARLY_PAYS;
        self.late = 255 - if dropped { EARLY_PAYS - PATIENT_WAITS * EARLY_AGAIN } else { after };
    }

    /// Share of waits that ended with the lock within [`SPIN_SHORT_NS`], lately: 255 is all.
    fn early(&self) -> u8 {
        255 - self.late
    }
}

/// Moves a share by an eighth of the way.
fn moved(share: u8, success: bool) -> u8 {
    if success { share + (255 - share).div_ceil(8) } else { share - share / 8 }
}

/// A share of early successes from which on early looks pay.
const EARLY_PAYS: u8 = 140;
/// By how much each patient wait raises it, so that the next try comes after [`PATIENT_WAITS`].
const EARLY_AGAIN: u8 = 2;
/// Patient waits between two tries to look early.
const PATIENT_WAITS: u8 = 32;

/// A thread's notes about one lock.
pub(crate) struct Notes<'a> {
    cell: &'a Cell<SpinRecord>,
    record: SpinRecord,
}

impl<'a> Notes<'a> {
    pub(crate) fn of<P: Platform>(private: &'a Private, address: usize) -> Self {
        let tag = (P::name_of(address) >> 2) as u32;
        // Fibonacci hashing: the high bits of the product mix all bits of the address.
        let cell = &private.spins[tag.wrapping_mul(0x9e37_79b9) as usize >> 29 & (Private::SPINS - 1)];
        let record = cell.get();
        let record = if record.tag == tag { record } else { SpinRecord { tag, ..SpinRecord::NEW } };
        Notes { cell, record }
    }

    pub(crate) fn attempt(&mut self) -> bool {
        let yes = self.record.attempt();
        self.cell.set(self.record);
        yes
    }

    pub(crate) fn learn(&mut self, success: bool) {
        self.record.learn(success);
        self.cell.set(self.record);
    }

    /// Learns from how a spin ended. An owner found off its CPU says nothing about the length of sections, and the
    /// caller's deadline, `limit`, nothing at all.
    pub(crate) fn ended<P: Platform, T>(&mut self, end: &Result<T, SpinEnd>, limit: u64) {
        match end {
            end if caller_is_late::<P, T>(end, limit) => return,
            Ok(_) => self.record.learn(true),
            Err(SpinEnd::Deadline) => self.record.learn(false),
            Err(SpinEnd::NotRunning) => self.record.rate(false),
        }
        self.cell.set(self.record);
    }

    /// How to stay away in the next wait.
    pub(crate) fn rests(&mut self) -> Rests {
        let early = self.record.looks_early();
        self.cell.set(self.record);
        if early { Rests::new() } else { Rests::patient() }
    }

    /// Whether the last waits showed that it does not pay to look early.
    pub(crate) fn is_patient(&self) -> bool {
        self.record.early() < EARLY_PAYS
    }

    /// Learns whether an early look found the lock.
    pub(crate) fn looked_early(&mut self, success: bool) {
        self.record.looked_early(success);
        self.cell.set(self.record);
    }

    /// Most spins lately ended with the lock: its sections are short.
    pub(crate) fn pay(&self) -> bool {
        self.record.score >= 128
    }

    /// Whether the owner is off its CPU, and stays so. Where sections are short it was preempted in one, and runs on if
    /// others offer their CPU, which is cheaper than a sleep.
    pub(crate) fn owner_stays_off<P: Platform>(&mut self, is_off: impl Fn() -> bool) -> bool {
        if !is_off() {
            return false;
        }
        if self.pay() {
            P::offer();
        }
        let stays = is_off();
        if stays {
            self.ended::<P, ()>(&Err(SpinEnd::NotRunning), u64::MAX);
        }
        stays
    }
}

/// Spins for the lock behind the queue of spinners; `true`: acquired.
pub(super) fn spin<P: Platform>(lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    };
    let private = &me.slot.private;
    let address = core::ptr::from_ref(lock).addr();
    let mut notes = Notes::of::<P>(private, address);
    if notes.owner_stays_off::<P>(|| owner_is_off(lock)) {
        lock.counters.count(Event::SpinOffCpu);
        return false;
    }
    take_turns::<P>(private, address, notes.is_patient());
    // The node is busy when a signal handler interrupted a wait.
    if !notes.attempt() || private.node_busy.replace(true) {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    }
    let limit = spin_limit::<P>(deadline);
    let end = spin_queued(lock, me, limit, &mut notes);
    private.node_busy.set(false);
    notes.ended::<P, _>(&end, limit);
    lock.counters.count(match end {
        Ok(how) => how,
        Err(SpinEnd::Deadline) => Event::SpinTimedOut,
        Err(SpinEnd::NotRunning) => Event::SpinOffCpu,
    });
    end.is_ok()
}

/// Whether the lock has an owner that is known to be off its CPU.
fn owner_is_off<P: Platform>(lock: &RawMutex<P>) -> bool {
    let owner = Token::new(lock.word.load(Relaxed) & OWNER);
    owner.is_some_and(|owner| P::on_cpu(owner) == OnCpu::NotRunning)
}

/// `Ok`: acquired, and how.
fn spin_queued<P: Platform>(lock: &RawMutex<P>, me: Me<P>, limit: u64, notes: &mut Notes) -> Result<Event, SpinEnd> {
    let begin = P::now();
    let until = |spin_ns: u64| begin.saturating_add(spin_ns).min(limit);
    let rests = notes.rests();
    // The queue's word shares a line with the lock: a short wait that nobody shares leaves it alone.
    if rests == Rests::new() && lock.spinners.is_empty() {
        let end = spin_first(lock, me.token, until(SPIN_SHORT_NS), SHORT_TRIES, rests);
        if caller_is_late::<P, _>(&end, limit) {
            return Err(SpinEnd::Deadline);
        }
        notes.looked_early(end == Ok(true));
        match end {
            Err(SpinEnd::Deadline) => P::offer(),
            Ok(false) => {} // a crowd competes: stand in line
            end => return end.map(|_| Event::Spun),
        }
    }
    let patient_ns = if rests == Rests::patient() { SPIN_PATIENT_NS } else { 0 };
    spin_in_line(lock, me, until(spin_ns::<P>().max(patient_ns)), rests).map(|()| Event::SpunQueued)
}

fn spin_in_line<P: Platform>(lock: &RawMutex<P>, me: Me<P>, until: u64, rests: Rests) -> Result<(), SpinEnd> {
    lock.spinners.lock(me, Some(until))?;
    let end = spin_as_head(lock, me.token, until, rests);
    lock.spinners.unlock(me);
    end
}

fn spin_as_head<P: Platform>(lock: &RawMutex<P>, me: Token, until: u64, rests: Rests) -> Result<(), SpinEnd> {
    loop {
        let offer_at = P::now().saturating_add(OFFER_NS).min(until);
        match spin_first(lock, me, offer_at, u32::MAX, rests) {
            Err(SpinEnd::Deadline) if offer_at < until => P::offer(),
            end => return end.map(drop),
        }
    }
}

/// Joins the line of spinners; `true`: acquired. For a waiter that cannot fall asleep.
pub(super) fn spin_again<P: Platform>(lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else { return false };
    if me.slot.private.node_busy.replace(true) {
        return false;
    }
    let until = P::now().saturating_add(spin_ns::<P>()).min(spin_limit::<P>(deadline));
    let end = spin_in_line(lock, me, until, Rests::new());
    me.slot.private.node_busy.set(false);
    lock.counters.count_if(end.is_ok(), Event::SpunQueued);
    end.is_ok()
}

/// Spins as the first of the queue, or before there is one. `Ok(false)`: lost so many exchanges to others.
fn spin_first<P: Platform>(
    lock: &RawMutex<P>,
    me: Token,
    until: u64,
    tries: u32,
    rests: Rests,
) -> Result<bool, SpinEnd> {
    let mut left = tries;
    loop {
        let word = lock.word.load(Relaxed);
        if word & (HANDOFF | GRANTED) != 0 && !many_cpus::<P>() {
            return Err(SpinEnd::NotRunning); // promised to a sleeper, which may need this CPU
        }
        if word & BLOCKED == 0 {
            // ORDERING mutex.acquire: as in `RawMutex::lock`.
            if lock.word.compare_exchange(word, word | me.get(), Acquire, Relaxed).is_ok() {
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
        let limit = SpinLimit { until: Some(until), owner, stay_away: away::<P>(rests), ..SpinLimit::NONE };
        P::spin_until(&lock.word, |now| (now ^ word) & BLOCKED != 0, limit)?;
    }
}

/// [`Notes::pay`], for this thread.
pub(super) fn pays<P: Platform>(lock: &RawMutex<P>) -> bool {
    P::me().is_some_and(|me| Notes::of::<P>(&me.slot.private, core::ptr::from_ref(lock).addr()).pay())
}

/// A waiter that was woken and finds the lock taken spins a little before it sleeps again.
pub(super) fn spin_woken<P: Platform>(lock: &RawMutex<P>) {
    let owner = lock.word.load(Relaxed) & OWNER;
    let Some(owner) = Token::new(owner) else { return };
    let Some(me) = P::me() else { return };
    let mut notes = Notes::of::<P>(&me.slot.private, core::ptr::from_ref(lock).addr());
    if !notes.attempt() {
        return;
    }
    let until = Some(P::now().saturating_add(SPIN_WOKEN_NS));
    let limit = SpinLimit { until, owner: Some(owner), stay_away: Some(Rests::new()), ..SpinLimit::NONE };
    if P::spin_until(&lock.word, |now| now & OWNER == 0, limit) == Err(SpinEnd::Deadline) {
        notes.learn(false);
    }
}

/// The claimant of the next turn stays awake where there are many CPUs, while the owner runs and for no longer than any
/// other spin: if it slept, the lock would be idle while it is woken. `true`: the owner has left, or the claim is gone.
pub(super) fn claimed<P: Platform>(lock: &RawMutex<P>, word: u32, deadline: Option<Deadline>) -> bool {
    let owner = Token::new(word & OWNER);
    if owner.is_none() || !many_cpus::<P>() {
        return false;
    }
    let until = P::now().saturating_add(spin_ns::<P>()).min(spin_limit::<P>(deadline));
    let limit = SpinLimit { until: Some(until), owner, ..SpinLimit::NONE };
    P::spin_until(&lock.word, |now| (now ^ word) & BLOCKED != 0, limit).is_ok()
}

/// A thread's turn on a lock that it contends for.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// Which lock: its address.
    address: usize,
    since: u64,
    seen: u64,
    ticks: u32,
}

impl Turn {
    pub(crate) const NEW: Turn = Turn { address: 0, since: 0, seen: 0, ticks: 0 };
}

/// Offers the CPU at the end of a turn.
/// A thread that is `patient` contends seldom: it asks the clock each time, and a longer gap is none.
pub(crate) fn take_turns<P: Platform>(private: &Private, address: usize, patient: bool) {
    let (ticks, gap_ns) = if patient { (1, TURN_NS * 2) } else { (TURN_TICKS, TURN_NS / 2) };
    let mut turn = private.turn.get();
    turn.ticks = turn.ticks.wrapping_add(1);
    if turn.ticks.is_multiple_of(ticks) {
        let now = P::now();
        // After a gap the thread was off the CPU, or did something else: its turn begins anew.
        if turn.address != address || now.saturating_sub(turn.seen) > gap_ns {
            turn = Turn { address, since: now, ..turn };
        } else if now.saturating_sub(turn.since) > TURN_NS {
            P::offer();
            turn.since = P::now();
        }
        turn.seen = now.max(turn.since);
    }
    private.turn.set(turn);
}

#[cfg(test)]
mod tests {
    use super::SpinRecord;

    #[test]
    fn spinning_is_given_up_after_failures_and_tried_again_now_and_then() {
        let mut record = SpinRecord::NEW;
        assert!(record.attempt());
        record.learn(false);
        assert!(record.attempt(), "one failure is forgiven");
        (0..100_000).for_each(|_| record.learn(false));
        let left_out = (0..100).take_while(|_| !record.attempt()).count();
        assert_eq!(left_out, 63);
        record.learn(true);
        assert!(record.attempt());
    }

    #[test]
    fn the_score_follows_the_share_of_successes() {
        let mut record = SpinRecord::NEW;
        (0..100).for_each(|_| record.learn(true));
        assert_eq!(record.score, 255);
        record.rate(false);
        assert!(record.score >= 128, "one spin that was given up is forgiven: {}", record.score);
        (0..100).for_each(|_| record.rate(false));
        assert!(record.score < 8, "{}", record.score);
    }

    #[test]
    fn early_looks_that_fail_are_left_out_and_tried_again_now_and_then() {
        let mut record = SpinRecord::NEW;
        assert!(record.looks_early());
        let failures = (1..).find(|_| {
            record.looked_early(false);
            !record.looks_early()
        });
        assert!((3..=6).contains(&failures.unwrap()), "{failures:?}");
        for _ in 0..3 {
            let patient = 1 + (0..1000).take_while(|_| !record.looks_early()).count();
            assert!((30..=34).contains(&patient), "{patient}");
            record.looked_early(false);
        }
        (0..1000).take_while(|_| !record.looks_early()).for_each(drop);
        (0..20).for_each(|_| record.looked_early(true));
        record.looked_early(false);
        assert!(record.looks_early(), "one failure among successes is forgiven");
    }
}
