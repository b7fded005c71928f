//! How readers and writers spin before they sleep: with the mutex's budgets and its record of what came of it.
//!
//! None of this is needed for correctness: a thread without a slot skips it and sleeps.

use super::{HELD, Prefer, RawRwSem, WRITER, may_read};
use crate::mutex::{Notes, SPIN_NS, SPIN_WOKEN_NS, take_turns};
use crate::platform::{Clock, Deadline, Me, Platform, SpinEnd, SpinLimit, Token, Word};
use core::sync::atomic::Ordering::Relaxed;

/// When a spin that begins now ends.
fn end<P: Platform>(deadline: Option<Deadline>) -> u64 {
    let until = P::now().saturating_add(SPIN_NS);
    match deadline {
        Some(Deadline { clock: Clock::Monotonic, at }) => until.min(at),
        _ => until,
    }
}

/// Until then, and while the writer runs, if it is one.
fn limit(word: u32, until: u64) -> SpinLimit {
    let owner = if word & WRITER != 0 { Token::new(word & HELD & !WRITER) } else { None };
    SpinLimit { until: Some(until), owner, stay_away: true }
}

/// Notes what came of a spin; a holder found off the CPU says nothing about the length of sections.
fn learn(notes: &mut Notes<'_>, end: Result<(), SpinEnd>) -> bool {
    match end {
        Ok(()) => notes.learn(true),
        Err(SpinEnd::Deadline) => notes.learn(false),
        Err(SpinEnd::NotRunning) => {}
    }
    end.is_ok()
}

/// Spins for a read lock; `true`: acquired. Readers need no queue: one writer's release lets them all in.
pub(super) fn read<P: Platform>(lock: &RawRwSem<P>, prefer: Prefer, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else { return false };
    let address = core::ptr::from_ref(lock).addr();
    take_turns::<P>(&me.slot.private, address);
    let mut notes = Notes::of(&me.slot.private, address);
    notes.attempt() && learn(&mut notes, read_spinning(lock, prefer, end::<P>(deadline)))
}

fn read_spinning<P: Platform>(lock: &RawRwSem<P>, prefer: Prefer, until: u64) -> Result<(), SpinEnd> {
    loop {
        if lock.try_read_with(prefer) {
            return Ok(());
        }
        let word = lock.word.load(Relaxed);
        let held = word & HELD;
        if held & WRITER != 0 {
            P::spin_until(&lock.word, |now| now & HELD != held, limit(held, until))?;
        } else if !may_read(word, prefer) {
            return Err(SpinEnd::NotRunning); // a writer that sleeps goes first
        }
    }
}

/// Spins for the write lock behind the queue of spinners; `true`: acquired.
pub(super) fn write<P: Platform>(lock: &RawRwSem<P>, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else { return false };
    let private = &me.slot.private;
    let address = core::ptr::from_ref(lock).addr();
    take_turns::<P>(private, address);
    let mut notes = Notes::of(private, address);
    // The node is busy when a signal handler interrupted a wait.
    if !notes.attempt() || private.node_busy.replace(true) {
        return false;
    }
    let end = write_queued(lock, me, end::<P>(deadline));
    private.node_busy.set(false);
    learn(&mut notes, end)
}

fn write_queued<P: Platform>(lock: &RawRwSem<P>, me: Me<P>, until: u64) -> Result<(), SpinEnd> {
    lock.spinners.lock(me, Some(until))?;
    let end = write_first(lock, until);
    lock.spinners.unlock(me);
    end
}

/// Spins as the first of the queue.
fn write_first<P: Platform>(lock: &RawRwSem<P>, until: u64) -> Result<(), SpinEnd> {
    loop {
        if lock.try_write() {
            return Ok(());
        }
        let held = lock.word.load(Relaxed) & HELD;
        // Readers that come and go are one spell; a writer after another is a new one, with a new owner to look at.
        let over = |now: u32| now & HELD == 0 || (now | held) & WRITER != 0 && now & HELD != held;
        if held != 0 {
            P::spin_until(&lock.word, over, limit(held, until))?;
        }
    }
}

/// A waiter that was woken and finds itself barred once more spins a little before it sleeps again.
pub(super) fn woken<P: Platform>(lock: &RawRwSem<P>, barred: u32) {
    let word = lock.word.load(Relaxed);
    let Some(me) = P::me() else { return };
    if word & barred == 0 || word & HELD == 0 {
        return;
    }
    let mut notes = Notes::of(&me.slot.private, core::ptr::from_ref(lock).addr());
    if !notes.attempt() {
        return;
    }
    let limit = limit(word, P::now().saturating_add(SPIN_WOKEN_NS));
    if P::spin_until(&lock.word, |now| now & barred == 0, limit) == Err(SpinEnd::Deadline) {
        notes.learn(false);
    }
}
