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

/// How threads use a lock: alone, or as readers and writers.
pub(super) trait Mode: Copy + Sync + 'static {
    /// Returns the operations by which the lock is owned.
    fn ops(self) -> Exclusive;

    /// Acquires the lock, looks at what it protects, and releases it.
    fn section(self, guarded: &Guarded, worker: &mut Worker, pause: fn(&mut Worker));
}

impl Mode for Exclusive {
    fn ops(self) -> Exclusive {
        self
    }

    fn section(self, guarded: &Guarded, worker: &mut Worker, pause: fn(&mut Worker)) {
        guarded.section(worker, pause);
    }
}

impl Mode for (Exclusive, Shared) {
    fn ops(self) -> Exclusive {
        self.0
    }

    /// Writes one time in four.
    fn section(self, guarded: &Guarded, worker: &mut Worker, pause: fn(&mut Worker)) {
        if worker.one_in(4) {
            guarded.section(worker, pause);
        } else {
            guarded.read_section(&self.1, worker, pause);
        }
    }
}

pub(super) fn exclusion(arena: &'static Arena, record: &LockRecord, mode: impl Mode) {
    arena.contend(record, mode.ops(), 2, |guarded, worker| {
        mode.section(guarded, worker, briefly);
        briefly(worker);
    });
}

pub(super) fn crowd(arena: &'static Arena, record: &LockRecord, mode: impl Mode) {
    arena.contend(record, mode.ops(), record.nature.crowd, |guarded, worker| {
        mode.section(guarded, worker, briefly);
        if worker.one_in(8) {
            dawdle(worker);
        }
    });
}

pub(super) fn sleepy(arena: &'static Arena, record: &LockRecord, mode: impl Mode) {
    arena.contend(record, mode.ops(), threads(record, 6), |guarded, worker| {
        mode.section(guarded, worker, dawdle);
        dawdle(worker);
    });
}

pub(super) fn tries(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    arena.contend(record, ops, threads(record, 3), |guarded, worker| {
        if worker.one_in(2) {
            guarded.section(worker, dawdle);
        } else if !guarded.attempt(worker, ops.try_acquire) {
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

pub(super) fn timed(arena: &'static Arena, record: &LockRecord, (ops, until): (Exclusive, Until)) {
    arena.contend(record, ops, threads(record, 5), |guarded, worker| {
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
        if !guarded.attempt(worker, |lock| until(lock, deadline)) {
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
