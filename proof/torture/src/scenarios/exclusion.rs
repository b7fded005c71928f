//! One owner at a time, however the lock is acquired and released.

use crate::arena::{Arena, Guarded, Worker, dawdle, spin, threads};
use crate::ops::{Change, Exclusive, LockRecord, Shared, Until};
use rand::RngExt;
use std::time::Duration;
use turnwise::platform::{Clock, Deadline, Native, Platform};

/// Runs a short section with a few random instructions.
pub(super) fn briefly(worker: &mut Worker) {
    let looks = worker.rng.random_range(0..8);
    spin(looks);
}

/// How threads use a lock: alone, or also as readers.
pub(super) type Use = (Exclusive, Option<Shared>);

/// Acquires the lock, looks at what it protects, and releases it. Of those that read, one in four writes.
pub(super) fn section(guarded: &Guarded, shared: Option<&Shared>, worker: &mut Worker, pause: fn(&mut Worker)) {
    match shared {
        Some(shared) if !worker.one_in(4) => guarded.read_section(shared, worker, pause),
        _ => guarded.section(worker, pause),
    }
}

pub(super) fn exclusion(arena: &'static Arena, record: &LockRecord, (ops, shared): Use) {
    arena.contend(record, ops, 2, |guarded, worker| {
        section(guarded, shared.as_ref(), worker, briefly);
        briefly(worker);
    });
}

pub(super) fn crowd(arena: &'static Arena, record: &LockRecord, (ops, shared): Use) {
    arena.contend(record, ops, record.nature.crowd, |guarded, worker| {
        section(guarded, shared.as_ref(), worker, briefly);
        if worker.one_in(8) {
            dawdle(worker);
        }
    });
}

pub(super) fn sleepy(arena: &'static Arena, record: &LockRecord, (ops, shared): Use) {
    arena.contend(record, ops, threads(record, 6), |guarded, worker| {
        section(guarded, shared.as_ref(), worker, dawdle);
        dawdle(worker);
    });
}

pub(super) fn tries(arena: &'static Arena, record: &LockRecord, (ops, shared): Use) {
    arena.contend(record, ops, threads(record, 3 + usize::from(shared.is_some())), |guarded, worker| {
        if worker.one_in(2) {
            return section(guarded, shared.as_ref(), worker, dawdle);
        }
        let got = match shared.filter(|_| worker.one_in(2)) {
            Some(shared) => guarded.attempt_reading(&shared, worker, shared.try_read),
            None => guarded.attempt(worker, ops.try_acquire),
        };
        if !got {
            dawdle(worker);
        }
    });
}

/// Returns a deadline in the next two milliseconds, sometimes a past one, on either clock.
pub(super) fn random_deadline(worker: &mut Worker) -> Deadline {
    let (clock, now) =
        if worker.one_in(2) { (Clock::Monotonic, Native::now()) } else { (Clock::Realtime, Native::wall()) };
    let ns = if worker.one_in(8) { 0 } else { worker.rng.random_range(0..2_000_000) };
    Deadline { clock, at: now + ns }
}

/// What threads with deadlines need, and those that also read.
pub(super) type Timed = (Exclusive, Until, Option<(Shared, Until)>);

pub(super) fn timed(arena: &'static Arena, record: &LockRecord, (ops, until, shared): Timed) {
    arena.contend(record, ops, threads(record, 5), |guarded, worker| {
        if worker.one_in(4) {
            let long = worker.one_in(8);
            let pause: fn(&mut Worker) = if long { |_| std::thread::sleep(Duration::from_millis(1)) } else { |_| () };
            return section(guarded, shared.as_ref().map(|(shared, _)| shared), worker, pause);
        }
        let deadline = random_deadline(worker);
        let got = match shared.filter(|_| worker.one_in(2)) {
            Some((shared, until)) => guarded.attempt_reading(&shared, worker, |lock| until(lock, deadline)),
            None => guarded.attempt(worker, |lock| until(lock, deadline)),
        };
        if !got {
            worker.expect_expired(deadline);
        }
    });
}

pub(super) fn fair(arena: &'static Arena, record: &LockRecord, (ops, release_fair): (Exclusive, Change)) {
    arena.contend(record, ops, 5, |guarded, worker| {
        guarded.acquire(worker);
        guarded.count(worker, dawdle);
        if worker.one_in(2) {
            guarded.release(worker);
        } else {
            guarded.release_by(worker, release_fair);
        }
        if worker.one_in(4) {
            dawdle(worker);
        }
        if let Some(until) = ops.acquire_until
            && worker.one_in(8)
        {
            let deadline = random_deadline(worker);
            guarded.attempt(worker, |lock| until(lock, deadline));
        }
    });
}
