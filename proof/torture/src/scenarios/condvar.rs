//! Condition variables: no notification is lost, no wait ends early, and a waiter that returns has the lock.

use super::exclusion::random_deadline;
use crate::arena::{Arena, Guarded, Worker, dawdle};
use crate::ops::{Condvar, Exclusive, LockRecord};
use rand::RngExt;
use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The operations by which the lock is owned, and its condition variable.
type Lock = (Exclusive, Condvar);

/// A number that only the owner of the lock touches.
#[derive(Default)]
struct Owned(AtomicU64);

impl Owned {
    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

/// Acquires the lock, waits while `condition` holds, runs `then`, counts, releases.
fn wait_while(
    (guarded, condvar): (&Guarded, &Condvar),
    worker: &mut Worker,
    condition: impl Fn() -> bool,
    then: impl FnOnce(&mut Worker),
) {
    guarded.acquire(worker);
    while condition() {
        guarded.wait(condvar, worker, None);
    }
    then(worker);
    guarded.count(worker, |_| ());
    guarded.release(worker);
}

pub(super) fn ping_pong(arena: &'static Arena, record: &LockRecord, (ops, condvar): Lock) {
    const THREADS: u64 = 3;
    let guarded = arena.guarded(record, ops);
    let (turn, over) = (Owned::default(), Owned::default());
    arena.on_threads(THREADS as usize, |worker| {
        let mine = worker.number as u64;
        let mut last = false;
        while !last {
            let not_mine = || turn.get() % THREADS != mine && over.get() == 0;
            wait_while((&guarded, &condvar), worker, not_mine, |_| {
                turn.set(turn.get() + 1);
                over.set(over.get() | u64::from(!arena.goes_on()));
                last = over.get() != 0;
                (condvar.notify_all)(guarded.lock);
            });
        }
    });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn one_each(arena: &'static Arena, record: &LockRecord, (ops, condvar): Lock) {
    const MAKERS: usize = 2;
    const TAKERS: usize = 3;
    let guarded = arena.guarded(record, ops);
    let (items, makers) = (Owned::default(), Owned::default());
    makers.set(MAKERS as u64);
    let make = |worker: &mut Worker| {
        let mut last = false;
        while !last {
            last = !arena.goes_on();
            let some = worker.rng.random_range(1..4);
            // Sometimes the notification comes after the release, when takers may have come and gone.
            let after = worker.one_in(2) && !last;
            guarded.section(worker, |_| {
                items.set(items.get() + some);
                makers.set(makers.get() - u64::from(last));
                if !after {
                    (0..some).for_each(|_| (condvar.notify_one)(guarded.lock));
                }
                if last {
                    (condvar.notify_all)(guarded.lock);
                }
            });
            if after {
                (0..some).for_each(|_| (condvar.notify_one)(guarded.lock));
            }
            // No thread makes or takes items until the takers were there: a taker not woken now never will be.
            while items.get() != 0 && !last {
                std::thread::sleep(Duration::from_micros(20));
            }
            dawdle(worker);
        }
    };
    let take = |worker: &mut Worker| {
        let mut last = false;
        while !last {
            let none = || items.get() == 0 && makers.get() != 0;
            wait_while((&guarded, &condvar), worker, none, |_| match items.get() {
                0 => last = true,
                n => items.set(n - 1),
            });
        }
    };
    arena.on_threads(MAKERS + TAKERS, |worker| if worker.number < MAKERS { make(worker) } else { take(worker) });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn storm(arena: &'static Arena, record: &LockRecord, (ops, condvar): Lock) {
    let waiters = record.nature.crowd.min(16);
    let guarded = arena.guarded(record, ops);
    let (generation, back, over) = (Owned::default(), Owned::default(), Owned::default());
    let wait = |worker: &mut Worker| {
        let seen = Cell::new(0);
        while seen.get() != u64::MAX {
            wait_while(
                (&guarded, &condvar),
                worker,
                || generation.get() == seen.get(),
                |_| {
                    seen.set(if over.get() != 0 { u64::MAX } else { generation.get() });
                    back.set(back.get() + 1);
                    if back.get() == waiters as u64 {
                        (condvar.notify_all)(guarded.lock);
                    }
                },
            );
        }
    };
    let notify = |worker: &mut Worker| {
        let mut last = false;
        while !last {
            last = !arena.goes_on();
            guarded.section(worker, |_| {
                over.set(u64::from(last));
                back.set(0);
                generation.set(generation.get() + 1);
                (condvar.notify_all)(guarded.lock);
            });
            wait_while((&guarded, &condvar), worker, || back.get() != waiters as u64, |_| ());
        }
    };
    arena.on_threads(1 + waiters, |worker| if worker.number == 0 { notify(worker) } else { wait(worker) });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn timed(arena: &'static Arena, record: &LockRecord, (ops, condvar): Lock) {
    arena.contend(record, ops, 5, |guarded, worker| {
        guarded.acquire(worker);
        match worker.rng.random_range(0..4) {
            0 => (condvar.notify_one)(guarded.lock),
            1 => (condvar.notify_all)(guarded.lock),
            _ => {
                let deadline = random_deadline(worker);
                if guarded.wait(&condvar, worker, Some(deadline)) {
                    worker.expect_expired(deadline);
                }
            }
        }
        guarded.count(worker, |_| ());
        guarded.release(worker);
    });
}
