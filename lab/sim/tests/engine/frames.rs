//! Where the host's compiler puts stack variables changes nothing: neither how large frames are nor in which functions
//! nodes lie.

use crate::support;
use crate::world::{Word32, row, traced, word};
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise::McsLock;
use turnwise::platform::{IntWord, Lane, Platform, Word};
use turnwise_sim::spec::{Machine, Protocol};
use turnwise_sim::{Affinity, Outcome, Sim, SimWord, Simulation};

/// A thread that sleeps at the gate, on its stack.
#[repr(align(64))]
struct Waiter {
    next: SimWord<*mut Waiter>,
    word: SimWord<u32>,
}

/// A list of sleepers.
struct Gate {
    last: SimWord<*mut Waiter>,
}

impl Gate {
    fn sleep(&self) {
        let waiter = Waiter { next: SimWord::new(null_mut()), word: word() };
        let me = (&raw const waiter).cast_mut();
        loop {
            let last = self.last.load(Relaxed);
            waiter.next.store(last, Relaxed);
            if self.last.compare_exchange(last, me, AcqRel, Relaxed).is_ok() {
                break;
            }
        }
        while waiter.word.load(Acquire) == 0 {
            Sim::park(&waiter.word, 0, Lane::Waiters, None);
        }
    }

    /// Wakes all, by addresses whose words may be gone then.
    fn open(&self) {
        let mut waiter = self.last.swap(null_mut(), AcqRel);
        while !waiter.is_null() {
            // SAFETY: it sleeps until its word is stored.
            let (next, word) = unsafe { ((*waiter).next.load(Relaxed), &raw const (*waiter).word) };
            // SAFETY: this store is the last access to the waiter, which is there until then.
            unsafe { &*word }.store(1, Release);
            Sim::wake(word, Lane::Waiters, 1);
            waiter = next;
        }
    }
}

/// Runs `f` below this many bytes of the caller's stack.
#[inline(never)]
fn below<const BYTES: usize>(f: impl FnOnce()) {
    let mut frame = [0_u8; BYTES];
    black_box(&mut frame);
    f();
    black_box(&mut frame);
}

struct Shared {
    outer: McsLock<u64, Sim>,
    inner: McsLock<u64, Sim>,
    gate: Gate,
    ended: Word32,
}

/// Runs threads that queue with nodes on their stacks: one alone, one within another's section, and sleepers, from
/// frames of these sizes. All stacks begin below `SHIFT` bytes.
fn run<const SHIFT: usize, const A: usize, const B: usize, const C: usize>(machine: &Arc<Machine>) -> Outcome {
    let threads = 7;
    let mut sim = Simulation::new(traced(machine, 1), threads);
    let gate = Gate { last: SimWord::new(null_mut()) };
    let ended = word();
    let shared = sim.place("shared", Shared { outer: McsLock::new_in(0), inner: McsLock::new_in(0), gate, ended });
    for thread in 0..threads {
        let shared = shared.clone();
        sim.spawn(Affinity::Any, move || match thread {
            0 => open_until_all_have_ended(&shared, threads as u32),
            _ => below::<SHIFT>(|| something::<A, B, C>(&shared)),
        });
    }
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"))
}

fn something<const A: usize, const B: usize, const C: usize>(shared: &Shared) {
    for _ in 0..60 {
        match Sim::chance(3) {
            0 => below::<A>(|| shared.inner.with(|count| *count += 1)),
            1 => below::<B>(|| shared.outer.with(|_| below::<C>(|| shared.inner.with(|count| *count += 1)))),
            _ => below::<C>(|| shared.gate.sleep()),
        }
        Sim::compute(Sim::chance(500));
        Sim::progress();
    }
    shared.ended.fetch_add(1, Relaxed);
}

fn open_until_all_have_ended(shared: &Shared, threads: u32) {
    while shared.ended.load(Relaxed) < threads - 1 {
        shared.gate.open();
        Sim::compute(2_000);
    }
}

#[test]
fn frames_of_other_sizes_and_stacks_that_are_shifted_change_nothing() {
    for machine in [support::shared(2, 3), Arc::new(row(Protocol::Moesi)), long_lines()] {
        let expected = run::<0, 0, 0, 0>(&machine);
        assert!(expected.counters.voluntary > 50, "{:?}", expected.counters);
        let others = [
            run::<64, 0, 0, 0>(&machine),
            run::<1000, 0, 0, 0>(&machine),
            run::<0, 64, 0, 0>(&machine),
            run::<0, 0, 128, 4000>(&machine),
            run::<16, 3000, 500, 200>(&machine),
        ];
        for (number, other) in others.into_iter().enumerate() {
            assert!(other == expected, "{number}: {:?} instead of {:?}", other.counters, expected.counters);
        }
    }
}

/// Returns a machine with lines on which two nodes fit.
fn long_lines() -> Arc<Machine> {
    let mut machine = support::machine(2, 2);
    machine.coherence.line_bytes = 256;
    Arc::new(machine)
}
