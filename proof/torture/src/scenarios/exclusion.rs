//! One owner at a time, however the lock is acquired and released.

use crate::arena::{Arena, Worker, dawdle, spin, threads};
use crate::ops::{Change, Exclusive, LockRecord, Until};
use crate::verdict::Verdict;
use rand::RngExt;
use std::time::Duration;
use turnwise::platform::{Clock, Deadline, Native, Platform};

/// Runs a short section with a few random instructions.
pub(super) fn briefly(worker: &mut Worker) {
    let looks = worker.rng.random_range(0..8);
    spin(looks);
}

pub(super) fn exclusion(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    arena.rounds(2, |worker| {
        guarded.section(worker, briefly);
        briefly(worker);
    });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn crowd(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    arena.rounds(record.nature.crowd, |worker| {
        guarded.section(worker, briefly);
        if worker.one_in(8) {
            dawdle(worker);
        }
    });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn sleepy(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    arena.rounds(threads(record, 6), |worker| {
        guarded.section(worker, dawdle);
        dawdle(worker);
    });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn tries(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    arena.rounds(threads(record, 3), |worker| {
        if worker.one_in(2) {
            guarded.section(worker, dawdle);
        } else if !guarded.attempt(worker, ops.try_acquire) {
            dawdle(worker);
        }
    });
    arena.expect_counted(&[&guarded]);
}

/// Returns a deadline in the next two milliseconds, sometimes a past one, on either clock.
pub(super) fn random_deadline(worker: &mut Worker) -> Deadline {
    let (clock, now) =
        if worker.one_in(2) { (Clock::Monotonic, Native::now()) } else { (Clock::Realtime, Native::wall()) };
    let ns = if worker.one_in(8) { 0 } else { worker.rng.random_range(0..2_000_000) };
    Deadline { clock, at: now + ns }
}

pub(super) fn timed(arena: &'static Arena, record: &LockRecord, (ops, until): (Exclusive, Until)) {
    let guarded = arena.guarded(record, ops);
    arena.rounds(threads(record, 5), |worker| {
        if worker.one_in(4) {
            let long = worker.one_in(8);
            guarded.section(worker, |_| {
                if long {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            return;
        }
        let deadline = random_deadline(worker);
        if !guarded.attempt(worker, |lock| until(lock, deadline)) && !deadline.expired::<Native>() {
            arena.fail(Verdict::EarlyTimeout, &format!("thread {} gave up before {deadline:?}", worker.number));
        }
    });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn fair(arena: &'static Arena, record: &LockRecord, (ops, release_fair): (Exclusive, Change)) {
    let guarded = arena.guarded(record, ops);
    arena.rounds(5, |worker| {
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
    arena.expect_counted(&[&guarded]);
}
