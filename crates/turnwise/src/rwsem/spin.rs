//! How readers and writers spin before they sleep: with the budgets and the record of [`crate::wait`].
//!
//! None of this is needed for correctness: a thread without a slot skips it and sleeps.

use super::Prefer;
use super::raw::{COUNT, HANDOFF, HELD, NOT_UPGRADABLE, RawRwSem, WRITER};
use crate::events::Event;
use crate::platform::{Deadline, Platform, PollBackoff, SpinEnd, SpinLimit, Token, Word};
use crate::wait::{ByPolicy, Settings, SpinHistory, spin_limit, yield_quantum};
use core::sync::atomic::Ordering::Relaxed;

/// When a spin that begins now ends.
#[derive(Clone, Copy)]
struct Until {
    end: u64,
    /// The caller's deadline: the end is not later.
    limit: u64,
}

impl Until {
    fn of<P: Platform>(begin: u64, deadline: Option<Deadline>, settings: impl Settings) -> Self {
        let limit = spin_limit::<P>(deadline);
        Until { end: begin.saturating_add(settings.spin_ns::<P>()).min(limit), limit }
    }
}

/// Returns the token number of the writer that has the lock, as far as `word` and the note beside it say; else 0.
fn owner<P: Platform>(lock: &RawRwSem<P>, word: u32) -> u32 {
    if word & WRITER != 0 { lock.owner.load(Relaxed) } else { 0 }
}

/// Returns what [`owner`] says now: 0 also while readers have the lock, whose whole spell counts as one owner's.
fn owner_now<P: Platform>(lock: &RawRwSem<P>) -> u32 {
    owner(lock, lock.word.load(Relaxed))
}

impl<P: Platform> RawRwSem<P> {
    /// Returns the token number of the writer that has the lock, 0 if none has it: for diagnosis. A writer that has
    /// just got the lock may not have written its own yet.
    pub fn writer(&self) -> u32 {
        owner_now(self)
    }
}

/// Limits a spin to the time `until`, and to while the writer runs, if there is one.
fn limit(owner: u32, until: u64, backoff: PollBackoff) -> SpinLimit {
    SpinLimit { until: Some(until), owner: Token::new(owner), backoff: Some(backoff), ..SpinLimit::NONE }
}

/// Spins for a read lock; `true`: acquired. Readers need no queue: one writer's release lets them all in.
pub(super) fn read<P: Platform, S: Settings>(
    lock: &RawRwSem<P>,
    prefer: Prefer,
    deadline: Option<Deadline>,
    settings: S,
) -> bool {
    let Some(me) = P::me() else { return false };
    let address = core::ptr::from_ref(lock).addr();
    let mut history = SpinHistory::of::<P>(&me.slot.private, address);
    let writer = || Token::new(owner_now(lock));
    if history.owner_stays_off::<P>(writer(), writer) {
        lock.counters.count(Event::SpinOffCpu);
        return false;
    }
    let begin = yield_quantum::<P>(&me.slot.private, address, P::now(), settings);
    if !history.attempt() {
        return false;
    }
    let until = Until::of::<P>(begin, deadline, settings);
    let before = owner_now(lock);
    let end = read_spinning(lock, prefer, until.end);
    history.ended::<P, _>(&end, until.limit, owner_now(lock) == before);
    count_end(lock, &end);
    end.is_ok()
}

/// Counts a spin that was given up; the caller counts one that ended with the lock.
fn count_end<P: Platform, T>(lock: &RawRwSem<P>, end: &Result<T, SpinEnd>) {
    match end {
        Ok(_) => {}
        Err(SpinEnd::Deadline) => lock.counters.count(Event::SpinTimedOut),
        Err(SpinEnd::NotRunning) => lock.counters.count(Event::SpinOffCpu),
    }
}

fn read_spinning<P: Platform>(lock: &RawRwSem<P>, prefer: Prefer, until: u64) -> Result<(), SpinEnd> {
    loop {
        let word = lock.word.load(Relaxed);
        if prefer.bars(word) == 0 {
            if lock.enter(prefer) {
                return Ok(());
            }
        } else if word & WRITER == 0 {
            return Err(SpinEnd::NotRunning); // a sleeper goes first
        } else {
            let owner = owner(lock, word);
            let over = |now: u32| now & WRITER == 0 || lock.owner.load(Relaxed) != owner;
            P::spin_until(&lock.word, over, limit(owner, until, PollBackoff::new()))?;
        }
    }
}

/// Spins for the write lock behind the queue of spinners; `true`: acquired.
pub(super) fn write<P: Platform, S: Settings>(lock: &RawRwSem<P>, deadline: Option<Deadline>, settings: S) -> bool {
    queued(lock, HELD, deadline, settings, RawRwSem::take_write)
}

/// Spins for the upgradable read lock behind the queue of spinners; `true`: acquired.
pub(super) fn upgradable<P: Platform>(lock: &RawRwSem<P>, deadline: Option<Deadline>) -> bool {
    queued(lock, NOT_UPGRADABLE & !HANDOFF, deadline, ByPolicy, RawRwSem::take_upgradable)
}

fn queued<P: Platform, S: Settings>(
    lock: &RawRwSem<P>,
    barred: u32,
    deadline: Option<Deadline>,
    settings: S,
    take: fn(&RawRwSem<P>) -> bool,
) -> bool {
    let Some(me) = P::me() else { return false };
    let private = &me.slot.private;
    let address = core::ptr::from_ref(lock).addr();
    let mut history = SpinHistory::of::<P>(private, address);
    let writer = || Token::new(owner_now(lock));
    if history.owner_stays_off::<P>(writer(), writer) {
        lock.counters.count(Event::SpinOffCpu);
        return false;
    }
    let begin = yield_quantum::<P>(private, address, P::now(), settings);
    // The node is busy when a signal handler interrupted a wait.
    if !history.attempt() || private.node_busy.replace(true) {
        return false;
    }
    let until = Until::of::<P>(begin, deadline, settings);
    let before = owner_now(lock);
    let end = lock.spinners.lock(me, Some(until.end)).and_then(|()| {
        let end = first(lock, barred, until.end, take);
        lock.spinners.unlock(me);
        end
    });
    me.slot.node_is_back();
    history.ended::<P, _>(&end, until.limit, owner_now(lock) == before);
    count_end(lock, &end);
    end.is_ok()
}

/// Joins the line of spinners; `true`: acquired. For a writer that cannot fall asleep.
pub(super) fn write_again<P: Platform, S: Settings>(
    lock: &RawRwSem<P>,
    deadline: Option<Deadline>,
    settings: S,
) -> bool {
    let Some(me) = P::me() else { return false };
    if me.slot.private.node_busy.replace(true) {
        return false;
    }
    let until = Until::of::<P>(P::now(), deadline, settings).end;
    let mut end = lock.spinners.lock(me, Some(until));
    if end.is_ok() {
        end = first(lock, HELD, until, RawRwSem::take_write);
        lock.spinners.unlock(me);
    }
    me.slot.node_is_back();
    lock.counters.count_if(end.is_ok(), Event::SpunQueued);
    end.is_ok()
}

/// Spins as the first of the queue until `take` succeeds. It leaves an owner batches after a single short rest: looks
/// take the line from whoever has the lock, and from its next owner. But a thread that joined the queue wrote the line,
/// too, which says nothing of the owner (`docs/lab/0075-newcomers-told-apart.md`).
fn first<P: Platform>(
    lock: &RawRwSem<P>,
    barred: u32,
    until: u64,
    take: fn(&RawRwSem<P>) -> bool,
) -> Result<(), SpinEnd> {
    loop {
        let word = lock.word.load(Relaxed);
        if word & HANDOFF != 0 {
            return Err(SpinEnd::NotRunning); // promised to a sleeper
        }
        if word & barred == 0 {
            if take(lock) {
                return Ok(());
            }
            continue;
        }
        let last = lock.spinners.last();
        let owner = owner(lock, word);
        // Readers that come and go are one spell; a writer after another is a new one, with a new owner to look at.
        let over = |now: u32| {
            now & barred == 0
                || (now ^ word) & (WRITER | HANDOFF) != 0
                || owner != 0 && lock.owner.load(Relaxed) != owner
                || lock.spinners.last() != last
        };
        P::spin_until(&lock.word, over, limit(owner, until, PollBackoff::newcomers_apart()))?;
    }
}

/// Spins for a moment for the upgrader: the readers may leave.
pub(super) fn upgrade<P: Platform>(lock: &RawRwSem<P>, deadline: Option<Deadline>) {
    let Some(me) = P::me() else { return };
    let mut history = SpinHistory::of::<P>(&me.slot.private, core::ptr::from_ref(lock).addr());
    if history.attempt() {
        let until = Until::of::<P>(P::now(), deadline, ByPolicy);
        let end = P::spin_until(&lock.word, |now| now & COUNT == 0, limit(0, until.end, PollBackoff::new()));
        history.ended::<P, _>(&end, until.limit, true);
    }
}

/// Spins a little for a waiter that was woken and finds itself barred once more, before it sleeps again.
pub(super) fn woken<P: Platform, S: Settings>(lock: &RawRwSem<P>, barred: u32, settings: S) {
    let word = lock.word.load(Relaxed);
    let Some(me) = P::me() else { return };
    if word & barred & HELD == 0 {
        return;
    }
    let mut history = SpinHistory::of::<P>(&me.slot.private, core::ptr::from_ref(lock).addr());
    if !history.attempt() {
        return;
    }
    let before = owner(lock, word);
    let limit = limit(before, P::now().saturating_add(settings.spin_woken_ns()), PollBackoff::new());
    let end = P::spin_until(&lock.word, |now| now & barred == 0, limit);
    if end.is_err_and(|end| end != SpinEnd::NotRunning) && owner_now(lock) == before {
        history.learn(false);
    }
}
