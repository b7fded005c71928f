//! How a thread spins for the mutex.
//!
//! None of this is needed for correctness: a thread without a slot skips it and sleeps.

use super::raw::{BLOCKED, GRANTED, HANDOFF, OWNER, RawMutex, WAITERS};
use crate::events::Event;
use crate::platform::{Deadline, Me, OnCpu, Platform, PollBackoff, SpinEnd, SpinLimit, Token, Word};
use crate::wait::{SpinHistory, caller_is_late, many_cpus, policy, spin_limit, spin_ns, yield_quantum};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// Spins for the lock behind the queue of spinners; `true`: acquired.
pub(super) fn spin<P: Platform>(lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    };
    let private = &me.slot.private;
    let address = core::ptr::from_ref(lock).addr();
    let mut history = SpinHistory::of::<P>(private, address);
    if history.owner_stays_off::<P>(|| owner_is_off(lock)) {
        lock.counters.count(Event::SpinOffCpu);
        return false;
    }
    yield_quantum::<P>(private, address, history.is_patient());
    // The node is busy when a signal handler interrupted a wait.
    if !history.attempt() || private.node_busy.replace(true) {
        lock.counters.count(Event::SpinLeftOut);
        return false;
    }
    let limit = spin_limit::<P>(deadline);
    let owner = || lock.word.load(Relaxed) & OWNER;
    let before = owner();
    let end = spin_queued(lock, me, limit, &mut history);
    private.node_busy.set(false);
    history.ended::<P, _>(&end, limit, owner() == before && before != 0);
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

/// Spins behind the queue; `Ok`: acquired, and how.
fn spin_queued<P: Platform>(
    lock: &RawMutex<P>,
    me: Me<P>,
    limit: u64,
    history: &mut SpinHistory,
) -> Result<Event, SpinEnd> {
    let policy = policy();
    let begin = P::now();
    let until = |spin_ns: u64| begin.saturating_add(spin_ns).min(limit);
    let backoff = history.backoff();
    // The queue's word shares a line with the lock: a short wait of a single thread leaves it alone.
    if backoff == PollBackoff::new() && lock.spinners.is_empty() {
        let end = spin_first(lock, me.token, until(policy.spin_short_ns), policy.short_tries, backoff);
        if caller_is_late::<P, _>(&end, limit) {
            return Err(SpinEnd::Deadline);
        }
        history.tried_early(end == Ok(true));
        match end {
            Err(SpinEnd::Deadline) => P::offer(),
            Ok(false) => {} // a crowd competes: stand in line
            end => return end.map(|_| Event::Spun),
        }
    }
    let patient_ns = if backoff == PollBackoff::patient() { policy.spin_patient_ns } else { 0 };
    spin_in_line(lock, me, until(spin_ns::<P>().max(patient_ns)), backoff).map(|()| Event::SpunQueued)
}

fn spin_in_line<P: Platform>(lock: &RawMutex<P>, me: Me<P>, until: u64, backoff: PollBackoff) -> Result<(), SpinEnd> {
    lock.spinners.lock(me, Some(until))?;
    let end = spin_first(lock, me.token, until, u64::MAX, backoff);
    lock.spinners.unlock(me);
    end.map(drop)
}

/// Joins the line of spinners; `true`: acquired. For a waiter that cannot fall asleep.
pub(super) fn spin_again<P: Platform>(lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else { return false };
    if me.slot.private.node_busy.replace(true) {
        return false;
    }
    let until = P::now().saturating_add(spin_ns::<P>()).min(spin_limit::<P>(deadline));
    let end = spin_in_line(lock, me, until, PollBackoff::new());
    me.slot.private.node_busy.set(false);
    lock.counters.count_if(end.is_ok(), Event::SpunQueued);
    end.is_ok()
}

/// Spins as the first of the queue, or before there is one. `Ok(false)`: it lost `tries` exchanges to others.
fn spin_first<P: Platform>(
    lock: &RawMutex<P>,
    me: Token,
    until: u64,
    tries: u64,
    backoff: PollBackoff,
) -> Result<bool, SpinEnd> {
    let mut left = tries;
    loop {
        let word = lock.word.load(Relaxed);
        if word & (HANDOFF | GRANTED) != 0 && !many_cpus::<P>() {
            return Err(SpinEnd::NotRunning); // promised to a sleeper, which may need this CPU
        }
        if word & BLOCKED == 0 {
            // ORDERING mutex.acquire: pairs with mutex.release, as in `RawMutex::lock_fast`.
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
        let limit = SpinLimit { until: Some(until), owner, backoff: Some(backoff), ..SpinLimit::NONE };
        P::spin_until(&lock.word, |now| (now ^ word) & BLOCKED != 0, limit)?;
    }
}

/// Spins a little for a waiter that was woken and finds the lock taken, before it sleeps again.
pub(super) fn spin_woken<P: Platform>(lock: &RawMutex<P>) {
    let owner = lock.word.load(Relaxed) & OWNER;
    let Some(owner) = Token::new(owner) else { return };
    let Some(me) = P::me() else { return };
    let mut history = SpinHistory::of::<P>(&me.slot.private, core::ptr::from_ref(lock).addr());
    if !history.attempt() {
        return;
    }
    let until = Some(P::now().saturating_add(policy().spin_woken_ns));
    let limit = SpinLimit { until, owner: Some(owner), backoff: Some(PollBackoff::new()), ..SpinLimit::NONE };
    let end = P::spin_until(&lock.word, |now| now & OWNER == 0, limit);
    if end == Err(SpinEnd::Deadline) && lock.word.load(Relaxed) & OWNER == owner.get() {
        history.learn(false);
    }
}

/// Keeps the claimant of the next turn awake where there are many CPUs, while the owner runs and for no longer than any
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
