//! Objects that come and go: which lines they are on, and when they go.

use crate::support;
use crate::world::{Word32, compute_until, config, notes, took, word};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::Word;
use turnwise_sim::spec::{Machine, NS};
use turnwise_sim::{Affinity, Config, Perturb, Placed, Sim, SimWord, Simulation};

/// Puts a value on the simulated heap.
fn new<T>(value: T) -> NonNull<T> {
    let at = Sim::allocate(Layout::new::<T>()).cast::<T>();
    // SAFETY: fresh, and large enough.
    unsafe { at.write(value) };
    at
}

/// Takes it away again.
fn free<T>(at: NonNull<T>) {
    // SAFETY: these tests free what they allocated, once, when no other thread has it.
    unsafe {
        at.drop_in_place();
        Sim::free(at.cast(), Layout::new::<T>());
    }
}

/// A line of its own.
#[repr(align(64))]
struct OwnLine(Word32);

#[test]
fn a_freed_block_comes_back_to_its_cpu_with_its_lines() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    sim.spawn(Affinity::Any, || {
        let at = new(OwnLine(word()));
        // SAFETY: allocated above.
        let cost = |at: NonNull<OwnLine>| took(|| _ = unsafe { at.as_ref() }.0.load(Relaxed));
        assert_eq!((cost(at), cost(at)), (80 * NS, 2 * NS), "from memory, then a hit");
        free(at);
        let other = new([word(), word(), word()]);
        let again = new(OwnLine(word()));
        assert_eq!(again, at);
        assert_eq!(cost(again), 2 * NS, "it is still in the cache");
        free(again);
        free(other);
    });
    assert_eq!(sim.run().unwrap().objects, 0);
}

#[test]
fn objects_share_lines_if_their_layout_lets_them() {
    let shared = |separate: bool| {
        let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
        let words: [NonNull<Word32>; 2] = sim.build(|| {
            if separate { [(); 2].map(|()| new(OwnLine(word())).cast()) } else { [(); 2].map(|()| new(word())) }
        });
        for at in words {
            sim.spawn(Affinity::Any, move || {
                for _ in 0..50 {
                    // SAFETY: made above, and never freed.
                    unsafe { at.as_ref() }.swap(1, Relaxed);
                    Sim::compute(100);
                }
            });
        }
        sim.run().unwrap().counters.transfers
    };
    assert_eq!(shared(true), 0, "each fetches its line once, from memory");
    assert!(shared(false) > 50, "the line goes to and fro");
}

/// Lets threads allocate, use and free objects of several sizes; returns where each lay, and the end.
fn churn(seed: u64) -> (Vec<usize>, u64) {
    let config = Config { perturb: Perturb::Pct { per_million: 1_000, max_ns: 5_000 }, ..config(&machine(true), seed) };
    let mut sim = Simulation::new(config, 4);
    let first = sim.build(|| new([0u64; 3])).addr().get();
    let places = notes();
    for _ in 0..4 {
        let places = places.clone();
        sim.spawn(Affinity::Any, move || {
            for _ in 0..50 {
                let (a, b) = (new(word()), new(OwnLine(word())));
                // SAFETY: allocated above.
                unsafe { b.as_ref() }.0.store(1, Relaxed);
                Sim::compute(Sim::chance(300));
                places.borrow_mut().extend([a.addr().get().abs_diff(first), b.addr().get().abs_diff(first)]);
                if Sim::chance(4) != 0 {
                    free(a);
                }
                free(b);
            }
        });
    }
    let outcome = sim.run().unwrap();
    (places.take(), outcome.counters.now_ps)
}

#[test]
fn a_seed_is_a_run_whatever_comes_and_goes() {
    for seed in 0..3 {
        assert_eq!(churn(seed), churn(seed));
    }
    assert_ne!(churn(1).1, churn(2).1);
}

#[test]
fn what_is_built_before_the_run_is_there_and_outlives_it_with_something_placed() {
    struct Tree {
        left: NonNull<u64>,
    }
    impl Drop for Tree {
        fn drop(&mut self) {
            free(self.left);
        }
    }
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    let tree = sim.build(|| Tree { left: new(7) });
    let tree: Placed<Tree> = sim.place("tree", tree);
    let theirs = tree.clone();
    sim.spawn(Affinity::Any, move || {
        // SAFETY: the tree has it.
        assert_eq!(unsafe { *theirs.left.as_ref() }, 7);
    });
    assert_eq!(sim.run().unwrap().objects, 1);
    // SAFETY: the tree keeps the value.
    assert_eq!(unsafe { *tree.left.as_ref() }, 7);
    drop(tree);
}

#[test]
fn what_is_retired_goes_when_those_who_may_see_it_are_done_and_costs_nothing() {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
    let gone: Rc<Cell<u64>> = Rc::default();
    let (mine, theirs) = (gone.clone(), gone.clone());
    sim.spawn(Affinity::Cpu(0), move || {
        assert_eq!(took(|| drop(Sim::pin())), 0);
        let pin = Sim::pin();
        compute_until(20_000);
        assert_eq!(mine.get(), 0, "retired, and still there");
        let late = Sim::pin();
        drop(pin);
        assert_eq!(mine.get(), 20_000, "a pin that came later does not hold it");
        drop(late);
    });
    sim.spawn(Affinity::Cpu(1), move || {
        compute_until(10_000);
        let later = theirs.clone();
        assert_eq!(took(|| Sim::retire(move || theirs.set(20_000))), 0);
        assert_eq!(later.get(), 0);
    });
    sim.run().unwrap();
    assert_eq!(gone.get(), 20_000);
    Sim::retire(move || gone.set(1)); // outside: at once
}

#[test]
fn what_is_retired_at_the_end_of_a_grace_period_goes_too() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    let order = notes();
    let notes = order.clone();
    sim.spawn(Affinity::Any, move || {
        let pin = Sim::pin();
        let (first, second) = (notes.clone(), notes.clone());
        Sim::retire(move || {
            first.borrow_mut().push(1);
            let third = first.clone();
            drop(Sim::pin());
            Sim::retire(move || third.borrow_mut().push(3));
        });
        Sim::retire(move || second.borrow_mut().push(2));
        drop(pin);
        notes.borrow_mut().push(4);
    });
    sim.run().unwrap();
    assert_eq!(order.take(), [1, 2, 3, 4]);
}

/// Returns two nodes; with a store buffer or without.
fn machine(store_buffer: bool) -> Arc<Machine> {
    let mut machine = support::machine(2, 2);
    machine.cpu.store_buffer = store_buffer;
    Arc::new(machine)
}

/// What readers find without a lock: its name is written once, and in `marks` only threads with a pin write that name.
struct Object {
    name: u64,
    marks: [SimWord<u64>; 2],
}

/// Threads replace an object that others read and write; every access must find one object, whole.
fn replace(machine: &Arc<Machine>, seed: u64) -> usize {
    let config = Config { perturb: Perturb::Pct { per_million: 5_000, max_ns: 3_000 }, ..config(machine, seed) };
    let mut sim = Simulation::new(config, 6);
    let object = |name: u64| new(Object { name, marks: [SimWord::new(name), SimWord::new(name)] });
    let first = sim.build(|| object(0));
    let current: Placed<SimWord<*mut Object>> = sim.place("current", SimWord::new(first.as_ptr()));
    for thread in 0..6u64 {
        let current = current.clone();
        sim.spawn(Affinity::Any, move || {
            for round in 1..40 {
                let pin = Sim::pin();
                if Sim::chance(2) == 0 {
                    let old = NonNull::new(current.swap(object(thread << 32 | round).as_ptr(), Release)).unwrap();
                    Sim::retire(move || free(old));
                } else {
                    // SAFETY: pinned since before it was found.
                    let found = unsafe { &*current.load(Acquire) };
                    let name = found.name;
                    let marks = || [0, 1].map(|mark| found.marks[mark].load(Relaxed));
                    assert_eq!(marks(), [name, name], "seed {seed}");
                    Sim::compute(Sim::chance(500));
                    assert_eq!((marks(), found.name), ([name, name], name), "seed {seed}");
                    found.marks[Sim::chance(2) as usize].store(name, Relaxed); // may be late
                }
                drop(pin);
            }
        });
    }
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}")).objects
}

#[test]
fn nobody_finds_what_is_gone_and_late_stores_do_not_hit_what_came_after() {
    for seed in 0..150 {
        assert_eq!(replace(&machine(seed % 3 != 0), seed), 1, "seed {seed}: the last object is left");
    }
}

#[test]
#[should_panic(expected = "only a simulated thread, or what builds a simulation, can allocate")]
fn nobody_else_allocates() {
    let _ = Sim::allocate(Layout::new::<u64>());
}

#[test]
#[should_panic(expected = "cannot be created inside another")]
fn a_simulation_is_not_built_inside_of_another() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    sim.build(|| Simulation::new(config(&support::shared(1, 1), 1), 1).build(|| ()));
}
