//! The readers-writer lock on the simulated machine: who is outnumbered gets in, in bounded time.

use std::cell::Cell;
use std::rc::Rc;
use turnwise::RawRwSem;
use turnwise::mutex::HANDOFF_AFTER_NS;
use turnwise::platform::Platform;
use turnwise_model::stub::{Config, Report, Stub, run};

/// Work that takes virtual time.
fn work(lines: usize) {
    (0..lines).for_each(|_| Stub::touch(std::ptr::null(), 64, true));
}

const THREADS: usize = 8;
const SLICE_NS: u64 = 50_000;

/// The longest waits of a crowd, in nanoseconds.
struct Crowd {
    report: Report,
    read_max_ns: u64,
    write_max_ns: u64,
}

/// What the threads have in common.
#[derive(Default)]
struct Shared {
    readers: Cell<usize>,
    writers: Cell<usize>,
    read_max_ns: Cell<u64>,
    write_max_ns: Cell<u64>,
}

/// The first `writers` of 8 threads write, the others read, so often each.
fn crowd(config: Config, writers: usize, rounds: u64) -> Crowd {
    let (lock, shared) = (Rc::new(RawRwSem::<Stub>::new_in()), Rc::new(Shared::default()));
    let thread = |number: usize| -> Box<dyn FnOnce()> {
        let (lock, shared) = (Rc::clone(&lock), Rc::clone(&shared));
        let write = number < writers;
        Box::new(move || (0..rounds).for_each(|_| section(&lock, &shared, write)))
    };
    let report = run(config, (0..THREADS).map(thread).collect()).expect("everybody gets on");
    assert!(!lock.is_locked() && lock.try_read(), "something is left");
    Crowd { report, read_max_ns: shared.read_max_ns.get(), write_max_ns: shared.write_max_ns.get() }
}

fn section(lock: &RawRwSem<Stub>, shared: &Shared, write: bool) {
    let begin = Stub::now();
    let (inside, longest) = if write {
        lock.write();
        (&shared.writers, &shared.write_max_ns)
    } else {
        lock.read();
        (&shared.readers, &shared.read_max_ns)
    };
    longest.set(longest.get().max(Stub::now() - begin));
    inside.set(inside.get() + 1);
    work(10);
    let (readers, writers) = (shared.readers.get(), shared.writers.get());
    assert!(writers == 0 || writers == 1 && readers == 0, "{readers} readers beside {writers} writers");
    inside.set(inside.get() - 1);
    // SAFETY: locked above.
    unsafe { if write { lock.unlock_write() } else { lock.unlock_read() } }
    work(2);
}

/// A waiter that claims the next turn waits for those inside to be scheduled, then for itself, each behind the others;
/// and that after it slept until it was woken once.
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
