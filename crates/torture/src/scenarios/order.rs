//! Who waits for what, and how long.

use crate::arena::{Arena, Worker, dawdle, spin, threads};
use crate::cell::Verdict;
use crate::locks::LockRecord;
use rand::RngExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub(super) fn nested(arena: &'static Arena, record: &LockRecord) {
    let locks = [arena.guarded(record), arena.guarded(record), arena.guarded(record)];
    arena.rounds(threads(record, 3), |worker| {
        let mut held = Vec::new();
        // Always in this order: there is no cycle.
        for guarded in &locks {
            if held.is_empty() || worker.one_in(2) {
                held.push((guarded, guarded.acquire(worker)));
            }
        }
        for (guarded, _) in &held {
            guarded.count(worker, |_| ());
        }
        while !held.is_empty() {
            let (guarded, node) = held.swap_remove(worker.rng.random_range(0..held.len()));
            guarded.release(worker, node);
        }
        dawdle(worker);
    });
    arena.expect_counted(&[&locks[0], &locks[1], &locks[2]]);
}

/// A waiter that is overtaken for this long starves. The mutex promises far less; a busy machine adds time slices.
const STARVED_AFTER: Duration = Duration::from_secs(1);

pub(super) fn starvation(arena: &'static Arena, record: &LockRecord) {
    let guarded = arena.guarded(record);
    let started = Instant::now();
    /// Nobody waits.
    const NOT_WAITING: u64 = u64::MAX;
    let waits_since = AtomicU64::new(NOT_WAITING);
    let waited_too_long = || {
        let since = waits_since.load(Relaxed);
        since != NOT_WAITING && started.elapsed() > STARVED_AFTER + Duration::from_nanos(since)
    };
    let waiter = |worker: &mut Worker| {
        while arena.goes_on() {
            waits_since.store(started.elapsed().as_nanos() as u64, Relaxed);
            guarded.section(worker, |_| waits_since.store(NOT_WAITING, Relaxed));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let hog = |worker: &mut Worker| {
        while arena.goes_on() || waits_since.load(Relaxed) != NOT_WAITING {
            guarded.section(worker, |_| spin(500));
            if waited_too_long() {
                arena.fail(Verdict::Starved, &format!("thread 0 waits for more than {STARVED_AFTER:?}"));
            }
        }
    };
    let hogs = if record.can.crowd > 4 { 2 } else { 1 };
    arena.on_threads(1 + hogs, |worker| if worker.number == 0 { waiter(worker) } else { hog(worker) });
    arena.expect_counted(&[&guarded]);
}
