//! Which threads wait for what, and how long.

use crate::arena::{Arena, dawdle, spin, threads};
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

/// Since when the one thread that must not starve has been waiting, as its tormentors see it.
pub(super) struct Victim<'a> {
    arena: &'a Arena,
    started: Instant,
    waits_since: AtomicU64,
}

impl<'a> Victim<'a> {
    /// The thread does not wait.
    const NOT_WAITING: u64 = u64::MAX;

    pub(super) fn new(arena: &'a Arena) -> Self {
        Victim { arena, started: Instant::now(), waits_since: AtomicU64::new(Self::NOT_WAITING) }
    }

    /// Occasionally runs `section`, which calls [`Victim::waits_no_more`] when it is in.
    pub(super) fn wait_again_and_again(&self, mut section: impl FnMut()) {
        while self.arena.goes_on() {
            self.waits_since.store(self.started.elapsed().as_nanos() as u64, Relaxed);
            section();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn waits_no_more(&self) {
        self.waits_since.store(Self::NOT_WAITING, Relaxed);
    }

    /// Runs `section` all the time, and to the end of any wait.
    pub(super) fn torment(&self, mut section: impl FnMut()) {
        while self.arena.goes_on() || self.waits_since.load(Relaxed) != Self::NOT_WAITING {
            section();
            let since = self.waits_since.load(Relaxed);
            if since != Self::NOT_WAITING && self.started.elapsed() > STARVED_AFTER + Duration::from_nanos(since) {
                self.arena.fail(Verdict::Starved, &format!("thread 0 waits for more than {STARVED_AFTER:?}"));
            }
        }
    }
}

pub(super) fn starvation(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    let victim = Victim::new(arena);
    let hogs = if record.nature.crowd > 4 { 2 } else { 1 };
    arena.on_threads(1 + hogs, |worker| {
        if worker.number == 0 {
            victim.wait_again_and_again(|| guarded.section(worker, |_| victim.waits_no_more()));
        } else {
            victim.torment(|| guarded.section(worker, |_| spin(500)));
        }
    });
    arena.expect_counted(&[&guarded]);
}
