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
        (self.semaphore.ops.give)(self.semaphore.lock, n);
        worker.does(Doing::Outside);
    }

    /// Takes `n` in a random way; returns whether it has them.
    fn take(&self, worker: &mut Worker, n: u32) -> bool {
        worker.does(Doing::Acquires);
        let got = match worker.rng.random_range(0..4) {
            0 => (self.semaphore.ops.try_take)(self.semaphore.lock, n),
            1 => {
                let deadline = random_deadline(worker);
                let got = (self.semaphore.ops.take_until)(self.semaphore.lock, n, deadline);
                if !got {
                    worker.expect_expired(deadline);
                }
                got
            }
            _ => {
                (self.semaphore.ops.take)(self.semaphore.lock, n);
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
            (counted.semaphore.ops.take)(counted.semaphore.lock, 2);
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
    if !(counted.semaphore.ops.try_take)(counted.semaphore.lock, MOST) {
        arena.fail(Verdict::Hang, "all permits were given back, but cannot be acquired");
    }
    if (counted.semaphore.ops.try_take)(counted.semaphore.lock, 1) {
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
    (permits.ops.take)(permits.lock, 1);
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
        let (mut threads, mut ids) = (Vec::new(), Vec::new());
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
            ids.push(thread.load(SeqCst));
        }
        for (comer, thread) in comers.iter().zip(&threads) {
            wait_until(|| !comer.gives_up || thread.is_finished());
        }
        serve(arena, permits, comers, &ids, &served);
    });
}

/// Waits in the queue; returns whether it got its permits.
fn come(permits: Semaphore, comer: Comer) -> bool {
    if comer.gives_up {
        let deadline = Deadline { clock: Clock::Monotonic, at: Native::now() + 2_000_000 };
        return (permits.ops.take_until)(permits.lock, comer.wants, deadline);
    }
    (permits.ops.take)(permits.lock, comer.wants);
    true
}

/// Gives each its permits, one at a time, while it is asleep: if it were about to sleep, a substitute would be woken,
/// which then queues at the end.
fn serve(arena: &Arena, permits: Semaphore, comers: &[Comer], ids: &[i32], served: &Mutex<Vec<usize>>) {
    let mut expected = Vec::new();
    for (place, comer) in comers.iter().enumerate().filter(|(_, comer)| !comer.gives_up) {
        for given in 1..=comer.wants {
            wait_until(|| sleeps(ids[place]));
            (permits.ops.give)(permits.lock, 1);
            if given < comer.wants && (permits.ops.try_take)(permits.lock, 1) {
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
