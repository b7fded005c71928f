//! Which threads wait for what, and how long.

use crate::arena::{Arena, Guarded, Worker, dawdle, spin, threads};
use crate::ops::{Exclusive, LockRecord};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub(super) fn nested(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let locks = [arena.guarded(record, ops), arena.guarded(record, ops), arena.guarded(record, ops)];
    arena.rounds(threads(record, 3), |worker| {
        let mut held = Vec::new();
        // Always in this order: there is no cycle.
        for guarded in &locks {
            if held.is_empty() || worker.one_in(2) {
                guarded.acquire(worker);
                held.push(guarded);
            }
        }
        for guarded in &held {
            guarded.count(worker, |_| ());
        }
        while !held.is_empty() {
            held.swap_remove(worker.rng.random_range(0..held.len())).release(worker);
        }
        dawdle(worker);
    });
    arena.expect_counted(&[&locks[0], &locks[1], &locks[2]]);
}

/// A waiter that is overtaken for this long starves. The locks guarantee far less; a busy machine adds time slices.
const STARVED_AFTER: Duration = Duration::from_secs(1);

/// The first thread occasionally does `comes`, which calls the function passed to it as soon as it is in; the others do
/// `torments` all the time, and until no wait is left.
pub(super) fn harass(
    arena: &'static Arena,
    record: &LockRecord,
    (ops, threads): (Exclusive, usize),
    comes: impl Fn(&Guarded, &mut Worker, &dyn Fn()) + Sync,
    torments: impl Fn(&Guarded, &mut Worker) + Sync,
) {
    /// The first thread does not wait.
    const NOT_WAITING: u64 = u64::MAX;
    let guarded = arena.guarded(record, ops);
    let (started, waits_since) = (Instant::now(), AtomicU64::new(NOT_WAITING));
    let victim = |worker: &mut Worker| {
        while arena.goes_on() {
            waits_since.store(started.elapsed().as_nanos() as u64, Relaxed);
            comes(&guarded, worker, &|| waits_since.store(NOT_WAITING, Relaxed));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let tormentor = |worker: &mut Worker| {
        while arena.goes_on() || waits_since.load(Relaxed) != NOT_WAITING {
            torments(&guarded, worker);
            let since = waits_since.load(Relaxed);
            if since != NOT_WAITING && started.elapsed() > STARVED_AFTER + Duration::from_nanos(since) {
                arena.fail(Verdict::Starved, &format!("thread 0 waits for more than {STARVED_AFTER:?}"));
            }
        }
    };
    arena.on_threads(threads, |worker| if worker.number == 0 { victim(worker) } else { tormentor(worker) });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn starvation(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let threads = if record.nature.crowd > 4 { 3 } else { 2 };
    let hogs = |guarded: &Guarded, worker: &mut Worker| guarded.section(worker, |_| spin(500));
    harass(arena, record, (ops, threads), |guarded, worker, is_in| guarded.section(worker, |_| is_in()), hogs);
}
