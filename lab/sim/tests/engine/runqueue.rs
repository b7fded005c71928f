//! What sleeping and waking cost beyond fixed prices: the lines and locks of run queues, how deep CPUs sleep, and where
//! woken threads go. The machine switches in 1 us; a line moves in 60 ns within a node and in 150 ns between nodes.

use crate::support;
use crate::world::{compute_until, config, row, runs, took, traced, when, word};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise::platform::{Lane, Platform};
use turnwise_sim::spec::{Machine, NS, Protocol};
use turnwise_sim::{Affinity, Happened, Outcome, Sim, Simulation};

const MS: u64 = 1_000_000;

/// Returns how long a CPU takes to notice its thread after each of these sleeps, in nanoseconds.
fn exits(machine: &Arc<Machine>, sleeps: &[u64]) -> Vec<u64> {
    let mut sim = Simulation::new(traced(machine, 1), 1);
    let all = sleeps.to_vec();
    sim.spawn(Affinity::Any, move || all.iter().for_each(|&ns| Sim::sleep(ns)));
    let outcome = sim.run().unwrap();
    let woken = when(&outcome, 0, |what| what == Happened::Woken { by: None });
    let back = runs(&outcome, 0).into_iter().skip(1);
    woken.iter().zip(back).map(|(woken, back)| (back.0 - woken.0) / NS - 1_000).collect()
}

#[test]
fn a_cpu_sleeps_as_deep_as_its_idle_times_were_long() {
    let machine = support::shared(1, 1);
    // Deep from 1 ms on, by the mean of idle times; before the first, nothing is known of them.
    assert_eq!(exits(&machine, &[MS / 10, MS / 10, MS / 10]), [20_000, 1_000, 1_000]);
    assert_eq!(exits(&machine, &[2 * MS, 2 * MS, MS / 10, 2 * MS]), [20_000; 4]);
    // The mean of 0.1 ms and long idle times passes 1 ms after the second of them.
    let slow = [MS / 10, 5 * MS, 5 * MS, 5 * MS, 5 * MS];
    assert_eq!(exits(&machine, &slow), [20_000, 1_000, 1_000, 20_000, 20_000]);
}

#[test]
fn a_cpu_that_polls_sleeps_the_deeper_the_longer_it_was_idle() {
    let mut machine = support::machine(1, 1);
    machine.system.idle_poll = 50_000 * NS;
    let sleeps = [MS / 10, 2 * MS, MS / 10, 2 * MS];
    assert_eq!(exits(&Arc::new(machine), &sleeps), [1_000, 20_000, 1_000, 20_000]);
}

#[test]
fn a_guest_sleeps_the_deeper_the_longer_it_was_idle_and_is_interrupted_at_the_price_of_that() {
    let mut machine = support::machine(1, 2);
    machine.system.idle_deepens = true;
    (machine.system.idle_exit[0].ipi, machine.system.idle_exit[1].ipi) = (Some(0), Some(9_000 * NS));
    let machine = Arc::new(machine);
    assert_eq!(exits(&machine, &[MS / 10, 2 * MS, MS / 10, 2 * MS]), [1_000, 20_000, 1_000, 20_000]);
    let took = |after_ns| wake_after(&machine, 1, after_ns).0;
    assert_eq!((took(50_000), took(2 * MS)), (2 * 60 + 500, 2 * 60 + 500 + 9_000));
}

/// Makes a thread on `sleeper` sleep at 10 us and one on CPU 0 wake it after this long. Returns what waking takes, and
/// how long the sleeper was away from its CPU after it was ready.
fn wake_after(machine: &Arc<Machine>, sleeper: u32, after_ns: u64) -> (u64, u64) {
    let mut sim = Simulation::new(traced(machine, 1), 2);
    let word = sim.place("word", word());
    let theirs = word.clone();
    sim.spawn(Affinity::Cpu(sleeper), move || {
        compute_until(10_000);
        Sim::in_kernel(|| _ = Sim::park(&theirs, 0, Lane::Waiters, None));
    });
    let took_ps = Rc::new(Cell::new(0));
    let result = took_ps.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        compute_until(10_000 + after_ns);
        Sim::in_kernel(|| result.set(took(|| assert_eq!(Sim::wake(&raw const *word, Lane::Waiters, 1), 1))));
    });
    let outcome = sim.run().unwrap();
    let woken = when(&outcome, 0, |what| what == Happened::Woken { by: Some(1) })[0].0;
    (took_ps.get() / NS, (runs(&outcome, 0)[1].0 - woken) / NS)
}

#[test]
fn a_waker_waits_until_the_sleeper_is_off_its_cpu() {
    let machine = support::shared(1, 2);
    // It sleeps 80 ns after 10 us, when the word has come, and its CPU switches until 1080; then the line of the queue.
    assert_eq!(wake_after(&machine, 1, 102).0, (1_080 - 102) + 60 + 500 + 700);
    // Long after, both lines and no wait.
    assert_eq!(wake_after(&machine, 1, 50_000).0, 2 * 60 + 500 + 700);
}

#[test]
fn a_cpu_takes_the_line_of_its_queue_back_from_the_waker() {
    for (sleeper, line) in [(1, 60), (2, 150)] {
        let (_, away) = wake_after(&support::shared(2, 2), sleeper, 50_000);
        // Deep idleness, the line, the switch.
        assert_eq!(away, 20_000 + line + 1_000, "CPU {sleeper}");
    }
    // A waker of a thread of its own CPU moves no line.
    let mut sim = Simulation::new(traced(&support::shared(1, 1), 1), 2);
    let word = sim.place("word", word());
    let theirs = word.clone();
    sim.spawn(Affinity::Any, move || Sim::in_kernel(|| _ = Sim::park(&theirs, 0, Lane::Waiters, None)));
    sim.spawn(Affinity::Any, move || {
        compute_until(50_000);
        Sim::in_kernel(|| assert_eq!(took(|| _ = Sim::wake(&raw const *word, Lane::Waiters, 1)), 500 * NS));
    });
    sim.run().unwrap();
}

#[test]
fn wakers_of_one_queue_wait_for_its_lock_within_a_cache_and_not_beyond() {
    // Two threads sleep on the last CPU; two others wake one each, at the same time.
    for (nodes, cores, line, ipi) in [(1, 3, 60, 700), (3, 1, 150, 900)] {
        let mut sim = Simulation::new(config(&support::shared(nodes, cores), 1), 4);
        let words = [sim.place("one", word()), sim.place("other", word())];
        let longest = Rc::new(Cell::new(0));
        for (word, waker) in words.into_iter().zip(0..) {
            let theirs = word.clone();
            sim.spawn(Affinity::Cpu(2), move || Sim::in_kernel(|| _ = Sim::park(&theirs, 0, Lane::Waiters, None)));
            let longest = longest.clone();
            sim.spawn(Affinity::Cpu(waker), move || {
                compute_until(50_000);
                let wake = || _ = Sim::wake(&raw const *word, Lane::Waiters, 1);
                Sim::in_kernel(|| longest.set(longest.get().max(took(wake))));
            });
        }
        sim.run().unwrap();
        let waits = longest.get() / NS >= 2 * line + 2 * 500 + ipi - 10;
        assert_eq!(waits, nodes == 1, "{nodes} nodes: {} ns", longest.get() / NS);
    }
}

/// Returns where the first of these threads runs.
fn cpus_of_first(outcome: &Outcome) -> Vec<u32> {
    runs(outcome, 0).iter().map(|run| run.1).collect()
}

#[test]
fn a_thread_leaves_a_crowded_cpu_for_its_wakers() {
    // Its own CPU, 0, and the neighbouring one have as many others as `crowd` says; the waker is alone on CPU 2.
    for (crowd, expected) in [(1, vec![0, 0]), (2, vec![0, 3])] {
        let mut sim = Simulation::new(traced(&support::shared(2, 2), 1), 2 + 2 * crowd);
        let word = sim.place("word", word());
        let theirs = word.clone();
        sim.spawn(Affinity::Any, move || _ = Sim::park(&theirs, 0, Lane::Waiters, None));
        for cpu in (0..2).cycle().take(2 * crowd) {
            sim.spawn(Affinity::Cpu(cpu), || Sim::compute(20 * MS));
        }
        sim.spawn(Affinity::Cpu(2), move || {
            compute_until(10 * MS);
            Sim::wake(&raw const *word, Lane::Waiters, 1);
            Sim::compute(MS);
        });
        let outcome = sim.run().unwrap();
        assert_eq!(cpus_of_first(&outcome), expected, "beside {crowd} each");
    }
}

#[test]
fn a_woken_thread_prefers_a_core_that_is_idle_as_a_whole() {
    // A cluster of two cores of two threads, its CPU busy: with the other core idle it goes there, not to its sibling.
    for (busy, expected) in [(vec![0], 2), (vec![0, 2], 1), (vec![0, 1, 2], 3)] {
        let mut sim = Simulation::new(traced(&Arc::new(row(Protocol::Mesif)), 1), 1 + busy.len());
        sim.spawn(Affinity::Any, || {
            Sim::sleep(MS / 2);
            Sim::compute(MS);
        });
        busy.iter().for_each(|&cpu| sim.spawn(Affinity::Cpu(cpu), || Sim::compute(20 * MS)));
        let outcome = sim.run().unwrap();
        assert_eq!(cpus_of_first(&outcome), [0, expected], "with {busy:?} busy");
    }
}

/// Two threads come to CPU 0 at 3 ms. One on CPU 1 repeatedly sleeps for this long, computes when they come, and ends.
/// Returns when it ends, and when the waiting thread comes to that CPU.
fn taken(nap_ns: u64) -> (u64, Option<u64>) {
    let mut sim = Simulation::new(traced(&support::shared(2, 1), 1), 3);
    for thread in 0..3 {
        sim.spawn(if thread == 1 { Affinity::Cpu(1) } else { Affinity::Any }, move || {
            if thread != 1 {
                Sim::sleep(3 * MS - Sim::time_ns());
                return Sim::compute(10 * MS);
            }
            compute_until(MS / 5); // until the others sleep
            while Sim::time_ns() < 2_500_000 {
                Sim::sleep(nap_ns);
            }
            compute_until(4 * MS);
        });
    }
    let outcome = sim.run().unwrap();
    let end = when(&outcome, 1, |what| what == Happened::Ends)[0].0;
    let moved = [0, 2].iter().flat_map(|&thread| runs(&outcome, thread)).find(|run| run.1 == 1).map(|run| run.0);
    (end / NS, moved.map(|at| at / NS))
}

#[test]
fn a_cpu_looks_for_threads_elsewhere_only_if_it_idles_long() {
    let (end, moved) = taken(MS);
    // A poll of the other queue (130), its lock, whose line both have then (150), a switch.
    assert_eq!(moved.map(|at| at - end), Some(130 + 150 + 1_000));
    let (end, moved) = taken(MS / 20);
    assert!(moved.is_none_or(|at| at > end + MS), "it idles for 0.05 ms at a time: {end}, {moved:?}");
}
