//! Stores that their CPU does not wait for.

use crate::support;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use turnwise::platform::{IntWord, Lane, Platform, Word};
use turnwise_sim::{Affinity, Config, Placed, Sim, SimWord, Simulation};

/// Returns one node of four CPUs, with store buffers.
fn simulation(threads: usize) -> Simulation {
    let mut machine = support::machine(1, 4);
    machine.cpu.store_buffer = true;
    Simulation::new(Config::new(Arc::new(machine), 1), threads)
}

fn word(simulation: &mut Simulation, name: &str) -> Placed<SimWord<u32>> {
    simulation.place(name, SimWord::new(0))
}

/// Returns what a thread found, for the test to read.
fn note<T: Copy + Default + 'static>() -> (Rc<Cell<T>>, Rc<Cell<T>>) {
    let note = Rc::new(Cell::new(T::default()));
    (Rc::clone(&note), note)
}

/// Returns how long `f` takes, in nanoseconds.
fn takes(f: impl FnOnce()) -> u64 {
    let begin = Sim::time_ns();
    f();
    Sim::time_ns() - begin
}

/// Runs `f` in one thread, after another CPU has written all words.
fn alone(words: usize, f: impl FnOnce(&[Placed<SimWord<u32>>]) + 'static) {
    let mut simulation = simulation(2);
    let all: Vec<_> = (0..words).map(|n| word(&mut simulation, &format!("word {n}"))).collect();
    let its = all.clone();
    simulation.spawn(Affinity::Cpu(1), move || {
        its.iter().for_each(|word| {
            word.fetch_add(1, Relaxed);
        })
    });
    simulation.spawn(Affinity::Cpu(0), move || {
        Sim::compute(20_000);
        f(&all);
    });
    simulation.run().expect("everybody gets on");
}

#[test]
fn a_store_costs_a_hit_and_loads_of_other_lines_do_not_wait() {
    alone(2, |words| {
        assert_eq!(takes(|| words[0].store(7, Relaxed)), 1, "not the 50 of the line");
        assert_eq!(takes(|| assert_eq!(words[1].load(Relaxed), 1)), 50, "one transfer");
        Sim::compute(1_000);
        assert_eq!(takes(|| assert_eq!(words[0].load(Relaxed), 7)), 2, "the line is here");
    });
}

#[test]
fn a_thread_sees_its_own_stores_and_locked_operations_wait_for_them() {
    alone(3, |words| {
        let took = takes(|| {
            words[0].store(7, Relaxed);
            assert_eq!(words[0].load(Relaxed), 7);
        });
        assert_eq!(took, 50 + 2, "the line, then a hit");
        let took = takes(|| {
            words[1].store(8, Relaxed);
            words[0].fetch_add(1, Relaxed);
        });
        assert_eq!(took, 50 + 9, "the buffer first");
        let took = takes(|| {
            words[2].store(9, Relaxed);
            SimWord::<u32>::fence(SeqCst);
        });
        assert_eq!(took, 50 + 9);
    });
}

#[test]
fn a_line_comes_beside_those_of_the_stores_that_its_operation_waits_for() {
    alone(2, |words| {
        let took = takes(|| {
            words[0].store(7, Relaxed);
            assert_eq!(words[1].fetch_add(1, Relaxed), 1);
        });
        assert_eq!(took, 1 + 50 + 9, "both transfers at the same time, then a hit");
        assert_eq!((words[0].load(Relaxed), words[1].load(Relaxed)), (7, 2));
    });
}

#[test]
fn stores_happen_in_their_order_whatever_their_lines_cost() {
    let mut simulation = simulation(2);
    // The first store misses, the second hits: both together, in order.
    let (far, near) = (word(&mut simulation, "far"), word(&mut simulation, "near"));
    let (its_far, its_near) = (far.clone(), near.clone());
    simulation.spawn(Affinity::Cpu(0), move || {
        its_near.store(0, Relaxed);
        Sim::compute(20_000);
        its_far.store(1, Relaxed);
        its_near.store(1, Relaxed);
    });
    let (seen, note) = note::<u32>();
    simulation.spawn(Affinity::Cpu(1), move || {
        far.fetch_add(0, Relaxed);
        Sim::compute(10_000);
        let looked = Sim::spin_until(&*near, |near| near == 1, turnwise::platform::SpinLimit::NONE);
        assert!(looked.is_ok());
        note.set(far.load(Relaxed) + 1);
    });
    simulation.run().expect("everybody gets on");
    assert_eq!(seen.get(), 2, "who sees the second store sees the first");
}

/// Two threads store to one word each and read the other's; returns what each saw.
fn store_buffering(fence: bool) -> (u32, u32) {
    let mut simulation = simulation(2);
    let words = [word(&mut simulation, "x"), word(&mut simulation, "y")];
    let mut notes = Vec::new();
    for me in 0..2 {
        let (mine, other) = (words[me].clone(), words[1 - me].clone());
        let (seen, note) = note::<u32>();
        notes.push(seen);
        simulation.spawn(Affinity::Cpu(me as u32), move || {
            other.load(Relaxed);
            mine.load(Relaxed); // both share both lines
            Sim::compute(20_000 - Sim::time_ns());
            mine.store(1, Relaxed);
            if fence {
                SimWord::<u32>::fence(SeqCst);
            }
            note.set(other.load(Relaxed));
            Sim::compute(1_000); // a thread that leaves its CPU has stored
        });
    }
    simulation.run().expect("everybody gets on");
    (notes[0].get(), notes[1].get())
}

#[test]
fn two_stores_can_both_be_late_unless_a_fence_follows_them() {
    assert_eq!(store_buffering(false), (0, 0), "as on x86");
    assert_ne!(store_buffering(true), (0, 0));
}

#[test]
fn what_a_sleeping_thread_stored_has_happened() {
    let mut simulation = simulation(2);
    let (flag, bed) = (word(&mut simulation, "flag"), word(&mut simulation, "bed"));
    let (its_flag, its_bed) = (flag.clone(), bed.clone());
    simulation.spawn(Affinity::Cpu(0), move || {
        Sim::compute(5_000);
        its_flag.store(1, Relaxed);
        Sim::park(&its_bed, 0, Lane::Waiters, None);
    });
    let (seen, note) = note::<u32>();
    simulation.spawn(Affinity::Cpu(1), move || {
        flag.fetch_add(0, Relaxed);
        Sim::compute(50_000);
        note.set(flag.load(Relaxed));
        bed.store(1, Relaxed);
        Sim::wake(&raw const *bed, Lane::Waiters, 1);
    });
    simulation.run().expect("everybody gets on");
    assert_eq!(seen.get(), 1);
}

#[test]
fn a_full_buffer_waits_and_parts_of_words_are_stored() {
    alone(40, |words| {
        words.iter().for_each(|word| word.store(0x0102_0304, Relaxed));
        assert!(words.iter().all(|word| word.load(Relaxed) == 0x0102_0304));
        words[0].store_part(0, [9]);
        words[0].store_part(2, [8, 7]);
        assert_eq!(words[0].load(Relaxed), 0x0708_0309);
        assert_eq!(words[0].swap_part(2, [6, 5]), [8, 7]);
        assert_eq!(words[0].load(Relaxed), 0x0506_0309);
    });
}
