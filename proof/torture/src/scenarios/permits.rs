//! Semaphores: more permits than one, requests of several sizes, and the order of service.

use super::exclusion::random_deadline;
use crate::arena::{Arena, Doing, Worker, dawdle};
use crate::object::Object;
use crate::ops::{LockRecord, Permits};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI32, AtomicI64};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use turnwise::platform::{Clock, Deadline, Native, Platform};

/// The largest request, and permits that are never withdrawn.
const MOST: u32 = 3;

/// A semaphore with its operations.
#[derive(Clone, Copy)]
struct Semaphore {
    lock: Object<'static>,
    ops: Permits,
}

impl Semaphore {
    fn take(self, n: u32) {
        (self.ops.take)(self.lock, n);
    }

    fn try_take(self, n: u32) -> bool {
        (self.ops.try_take)(self.lock, n)
    }

    fn take_until(self, n: u32, deadline: Deadline) -> bool {
        (self.ops.take_until)(self.lock, n, deadline)
    }

    fn give(self, n: u32) {
        (self.ops.give)(self.lock, n);
    }
}

/// A semaphore, and the number of free permits. The number is too large, if anything: it rises before permits are
/// given, and falls after they were taken.
struct Counted {
    semaphore: Semaphore,
    free: AtomicI64,
}

impl Counted {
    fn took(&self, worker: &Worker, n: u32) {
        worker.does(Doing::Holds);
        worker.gets_on();
        let before = self.free.fetch_sub(i64::from(n), SeqCst);
        if before < i64::from(n) {
            let why = format!("thread {} got {n} permits of {before}", worker.number);
            worker.arena.fail(Verdict::TwoOwners, &why);
        }
    }

    fn give(&self, worker: &Worker, n: u32) {
        worker.does(Doing::Releases);
        self.free.fetch_add(i64::from(n), SeqCst);
        self.semaphore.give(n);
        worker.does(Doing::Outside);
    }

    /// Takes `n` in a random way; returns whether it has them.
    fn take(&self, worker: &mut Worker, n: u32) -> bool {
        worker.does(Doing::Acquires);
        let got = match worker.rng.random_range(0..4) {
            0 => self.semaphore.try_take(n),
            1 => {
                let deadline = random_deadline(worker);
                let got = self.semaphore.take_until(n, deadline);
                if !got {
                    worker.expect_expired(deadline);
                }
                got
            }
            _ => {
                self.semaphore.take(n);
                true
            }
        };
        if got {
            self.took(worker, n);
        }
        worker.does(Doing::Outside);
        got
    }
}

/// Threads take one to three permits; two of the permits come and go as well.
pub(super) fn permits(arena: &'static Arena, record: &LockRecord, ops: Permits) {
    let semaphore = Semaphore { lock: arena.watched(record), ops };
    let counted = Counted { semaphore, free: AtomicI64::new(1) };
    counted.give(&arena.worker(0), MOST - 1);
    arena.rounds(5, |worker| {
        if worker.number == 0 && worker.one_in(4) {
            counted.give(worker, 2);
            dawdle(worker);
            worker.does(Doing::Acquires);
            counted.semaphore.take(2);
            counted.took(worker, 2);
            worker.does(Doing::Outside);
            return;
        }
        let n = worker.rng.random_range(1..=MOST);
        if counted.take(worker, n) {
            dawdle(worker);
            counted.give(worker, n);
        }
    });
    if !counted.semaphore.try_take(MOST) {
        arena.fail(Verdict::Hang, "all permits were given back, but cannot be acquired");
    }
    if counted.semaphore.try_take(1) {
        arena.fail(Verdict::TwoOwners, "there are more permits than were made");
    }
}

/// A queued thread: what it wants, and whether it gives up.
#[derive(Clone, Copy)]
struct Comer {
    wants: u32,
    gives_up: bool,
}

/// Threads fall asleep one after the other, some give up, and then permits come one by one: the others are served in
/// order of arrival, and no newcomer is served before them.
pub(super) fn line(arena: &'static Arena, record: &LockRecord, ops: Permits) {
    let permits = Semaphore { lock: arena.watched(record), ops };
    permits.take(1);
    let mut main = arena.worker(0);
    while arena.goes_on() {
        let comers: [Comer; 4] =
            std::array::from_fn(|_| Comer { wants: main.rng.random_range(1..=MOST), gives_up: main.one_in(4) });
        one_line(arena, permits, &comers);
    }
}

fn one_line(arena: &'static Arena, permits: Semaphore, comers: &[Comer]) {
    let served = Mutex::new(Vec::new());
    std::thread::scope(|s| {
        let mut threads = Vec::new();
        for (place, &comer) in comers.iter().enumerate() {
            let (served, thread) = (&served, Arc::new(AtomicI32::new(0)));
            let says = thread.clone();
            threads.push(s.spawn(move || {
                let worker = arena.worker(1 + place);
                worker.does(Doing::Acquires);
                // SAFETY: has no preconditions.
                says.store(unsafe { libc::gettid() }, SeqCst);
                if come(permits, comer) {
                    worker.gets_on();
                    served.lock().unwrap().push(place);
                }
            }));
            wait_until(|| thread.load(SeqCst) != 0 && (sleeps(thread.load(SeqCst)) || threads[place].is_finished()));
        }
        for (comer, thread) in comers.iter().zip(&threads) {
            wait_until(|| !comer.gives_up || thread.is_finished());
        }
        serve(arena, permits, comers, &served);
    });
}

/// Waits in the queue; returns whether it got its permits.
fn come(permits: Semaphore, comer: Comer) -> bool {
    if comer.gives_up {
        let deadline = Deadline { clock: Clock::Monotonic, at: Native::now() + 2_000_000 };
        return permits.take_until(comer.wants, deadline);
    }
    permits.take(comer.wants);
    true
}

/// Gives each its permits, one at a time.
fn serve(arena: &Arena, permits: Semaphore, comers: &[Comer], served: &Mutex<Vec<usize>>) {
    let mut expected = Vec::new();
    for (place, comer) in comers.iter().enumerate().filter(|(_, comer)| !comer.gives_up) {
        for given in 1..=comer.wants {
            permits.give(1);
            if given < comer.wants && permits.try_take(1) {
                arena.fail(Verdict::Starved, &format!("a newcomer is served before arrival {place}"));
            }
        }
        expected.push(place);
        wait_until(|| served.lock().unwrap().len() >= expected.len());
        let served = served.lock().unwrap();
        if *served != expected {
            arena.fail(Verdict::Starved, &format!("the order served is {served:?}, not {expected:?}"));
        }
    }
}

/// Waits without a deadline: the watchdog detects hangs.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Returns whether this thread of the process is asleep.
fn sleeps(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain any of them.
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
}
