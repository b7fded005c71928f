//! The readers-writer lock on the simulated machine: outnumbered threads get in, in bounded time.

mod machine;

use machine::{Config, Report, Traced, run, work};
use std::cell::Cell;
use std::rc::Rc;
use turnwise::RawRwSem;
use turnwise::platform::Platform;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise::wait::Policy;

const THREADS: usize = 8;
const SLICE_NS: u64 = 50_000;

/// The longest waits of a crowd, in nanoseconds.
struct Crowd {
    report: Report,
    read_max_ns: u64,
    write_max_ns: u64,
}

/// The state that the threads share.
#[derive(Default)]
struct Shared {
    readers: Cell<usize>,
    writers: Cell<usize>,
    read_max_ns: Cell<u64>,
    write_max_ns: Cell<u64>,
}

/// The first `writers` of 8 threads write, the others read, `rounds` times each.
fn crowd(config: Config, writers: usize, rounds: u64) -> Crowd {
    let (lock, shared) = (Rc::new(RawRwSem::<Traced>::new_in()), Rc::new(Shared::default()));
    let thread = |number: usize| -> Box<dyn FnOnce()> {
        let (lock, shared) = (Rc::clone(&lock), Rc::clone(&shared));
        let write = number < writers;
        Box::new(move || (0..rounds).for_each(|_| section(&lock, &shared, write)))
    };
    let report = run(config, (0..THREADS).map(thread).collect()).expect("everybody gets on");
    assert!(!lock.is_locked() && lock.try_read(), "something is left");
    Crowd { report, read_max_ns: shared.read_max_ns.get(), write_max_ns: shared.write_max_ns.get() }
}

fn section(lock: &RawRwSem<Traced>, shared: &Shared, write: bool) {
    let begin = Traced::now();
    let (inside, longest) = if write {
        lock.lock();
        (&shared.writers, &shared.write_max_ns)
    } else {
        lock.read();
        (&shared.readers, &shared.read_max_ns)
    };
    longest.set(longest.get().max(Traced::now() - begin));
    inside.set(inside.get() + 1);
    work(10);
    let (readers, writers) = (shared.readers.get(), shared.writers.get());
    assert!(writers == 0 || writers == 1 && readers == 0, "{readers} readers beside {writers} writers");
    inside.set(inside.get() - 1);
    // SAFETY: locked above.
    unsafe { if write { lock.unlock() } else { lock.unlock_read() } }
    work(2);
}

/// A waiter that requests a hand-off waits for those inside to be scheduled, then for itself, each behind the others;
/// all of this after it slept until it was woken once.
const HANDOFF_AFTER_NS: u64 = Policy::DEFAULT.handoff_after_ns;
const BOUND_NS: u64 = HANDOFF_AFTER_NS + 4 * THREADS as u64 * SLICE_NS;

fn bounded(writers: usize) {
    for seed in 1..=5 {
        let crowd = crowd(Config { slice_ns: SLICE_NS, ..Config::new(2, seed) }, writers, 2_000);
        assert!(crowd.report.elapsed_ns > 2 * HANDOFF_AFTER_NS, "seed {seed}: too short to tell");
        assert!(crowd.report.preemptions > 0, "seed {seed}: nobody was preempted");
        let (read, write) = (crowd.read_max_ns, crowd.write_max_ns);
        println!("{writers} writers, seed {seed}: reads wait {read} ns at most, writes {write} ns");
        assert!(read < BOUND_NS && write < BOUND_NS, "seed {seed}: a read waits {read} ns, a write {write} ns");
    }
}

#[test]
fn one_writer_among_readers_waits_a_bounded_time() {
    bounded(1);
}

#[test]
fn one_reader_among_writers_waits_a_bounded_time() {
    bounded(THREADS - 1);
}

#[test]
fn half_and_half_wait_a_bounded_time() {
    bounded(THREADS / 2);
}

/// The lines of a section that is longer than any spin.
const LONG: usize = 1_500;

/// One of two writers comes again at once after a long section, so that the woken thread finds the lock taken. The
/// third thread does `wait` in between; returns the longest time that it waited, and how often it did.
fn overtaken(seed: u64, wait: fn(&RawRwSem<Traced>), release: unsafe fn(&RawRwSem<Traced>)) -> (u64, u64) {
    const TURNS: u64 = 5;
    let (lock, turns, longest) = (Rc::new(RawRwSem::<Traced>::new_in()), Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let hostile = |_| -> Box<dyn FnOnce()> {
        let (lock, turns) = (Rc::clone(&lock), Rc::clone(&turns));
        Box::new(move || {
            let end = Traced::now() + 40 * HANDOFF_AFTER_NS;
            while turns.get() < TURNS && Traced::now() < end {
                lock.lock();
                work(LONG);
                // SAFETY: locked above.
                unsafe { lock.unlock() };
            }
        })
    };
    let mut threads: Vec<_> = (0..2).map(hostile).collect();
    let (its_turns, its_longest) = (Rc::clone(&turns), Rc::clone(&longest));
    threads.push(Box::new(move || {
        for turn in 1..=TURNS {
            work(LONG);
            let begin = Traced::now();
            wait(&lock);
            its_longest.set(its_longest.get().max(Traced::now() - begin));
            its_turns.set(turn);
            // SAFETY: `wait` acquired the lock in the mode that this ends.
            unsafe { release(&lock) };
        }
    }));
    run(Config { slice_ns: 1_000_000, ..Config::new(2, seed) }, threads).expect("everybody gets on");
    (longest.get(), turns.get())
}

#[test]
fn a_waiter_that_always_finds_the_lock_taken_requests_a_handoff() {
    type Mode = (&'static str, fn(&RawRwSem<Traced>), unsafe fn(&RawRwSem<Traced>));
    let modes: [Mode; 3] = [
        ("reader", RawRwSem::read, RawRwSem::unlock_read),
        ("writer", RawRwSem::lock, RawRwSem::unlock),
        ("upgradable reader", RawRwSem::upgradable_read, RawRwSem::unlock_upgradable),
    ];
    for (who, wait, release) in modes {
        for seed in 1..=3 {
            let (longest, turns) = overtaken(seed, wait, release);
            println!("{who}, seed {seed}: {longest} ns");
            assert!(longest < 2 * HANDOFF_AFTER_NS, "{who}, seed {seed}: waited {longest} ns, {turns} turns");
        }
    }
}
