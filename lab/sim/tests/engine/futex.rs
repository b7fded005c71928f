//! Sleep and wake-up: no notified thread sleeps.

use crate::support;
use crate::world::{Word32, compute_until, config, notes, took, traced};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use turnwise::platform::{Clock, Deadline, IntWord, Lane, Parked, Platform, Word};
use turnwise_sim::spec::{Machine, NS};
use turnwise_sim::{Affinity, Config, Happened, Perturb, Placed, Sim, Simulation};

const LANES: [Lane; 3] = [Lane::Waiters, Lane::First, Lane::Readers];

fn at(ns: u64) -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: ns })
}

/// Takes one from `word`, asleep in `lane` while there is none, occasionally with a time-out.
fn take(word: &Word32, lane: Lane) {
    loop {
        let value = word.load(Relaxed);
        if value > 0 && word.compare_exchange(value, value - 1, SeqCst, Relaxed).is_ok() {
            return;
        }
        if value == 0 {
            let deadline = at(Sim::time_ns() + Sim::chance(20_000)).filter(|_| Sim::chance(4) == 0);
            Sim::park(word, 0, lane, deadline);
        }
    }
}

fn give(word: &Placed<Word32>) {
    word.fetch_add(1, SeqCst);
    // A thread that timed out or came late may have taken it: the woken thread then sleeps again.
    for lane in LANES {
        Sim::wake(&raw const **word, lane, 1);
    }
}

/// Runs takers and givers of random pace; each item given is taken, or the run is a deadlock.
fn give_and_take(machine: &Arc<Machine>, seed: u64, perturb: Perturb) {
    let threads = 8;
    let mut sim = Simulation::new(Config { perturb, ..config(machine, seed) }, 2 * threads);
    let word = sim.place("things", Word32::new(0));
    for number in 0..threads {
        let (taken, given) = (word.clone(), word.clone());
        sim.spawn(Affinity::Any, move || {
            for _ in 0..25 {
                take(&taken, LANES[number % 3]);
                Sim::compute(Sim::chance(3_000));
            }
        });
        sim.spawn(Affinity::Any, move || {
            for _ in 0..25 {
                Sim::compute(Sim::chance(6_000));
                give(&given);
                if Sim::chance(4) == 0 {
                    Sim::sleep(Sim::chance(50_000));
                }
            }
        });
    }
    let left = word.clone();
    let outcome = sim.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(outcome.counters.voluntary > 0, "nobody slept");
    assert_eq!(left.load(Relaxed), 0);
}

#[test]
fn no_wake_up_is_lost_in_random_programs() {
    for seed in 0..8 {
        for (nodes, cores) in [(1, 1), (1, 3), (2, 8)] {
            let machine = support::shared(nodes, cores);
            give_and_take(&machine, seed, Perturb::None);
            give_and_take(&machine, seed, Perturb::Pct { per_million: 20_000, max_ns: 30_000 });
        }
    }
}

/// Runs a thread that sleeps until a flag is set, and another that sets it after this long and wakes. Returns the
/// sleeper's results, and how often threads slept.
fn sleeper_and_waker(machine: &Arc<Machine>, cpus: [u32; 2], after_ns: u64) -> (Vec<Parked>, u64) {
    let mut sim = Simulation::new(config(machine, 1), 2);
    let flag = sim.place("flag", Word32::new(0));
    let results = notes();
    let (theirs, seen) = (flag.clone(), results.clone());
    sim.spawn(Affinity::Cpu(cpus[0]), move || {
        compute_until(10_000);
        while theirs.load(Relaxed) == 0 {
            seen.borrow_mut().push(Sim::park(&theirs, 0, Lane::Waiters, None));
        }
    });
    sim.spawn(Affinity::Cpu(cpus[1]), move || {
        compute_until(9_500 + after_ns);
        flag.store(1, SeqCst);
        Sim::wake(&raw const *flag, Lane::Waiters, 1);
    });
    let outcome = sim.run().unwrap_or_else(|stuck| panic!("the waker {after_ns} ns later: {stuck}"));
    (results.take(), outcome.counters.voluntary)
}

#[test]
fn a_wake_up_is_not_lost_whenever_it_comes() {
    let machine = support::shared(2, 2);
    let (mut unneeded, mut changed, mut woken) = (0, 0, 0);
    for after in (0..1_500).step_by(7) {
        for other in [1, 2] {
            match sleeper_and_waker(&machine, [0, other], after) {
                (results, 0) if results.is_empty() => unneeded += 1,
                (results, 0) if results == [Parked::Changed] => changed += 1,
                (results, 1) if results == [Parked::Woken] => woken += 1,
                odd => panic!("{after} ns: {odd:?}"),
            }
        }
    }
    assert!(unneeded > 0 && changed > 0 && woken > 0, "{unneeded} {changed} {woken}: every case is meant to occur");
}

#[test]
fn a_word_with_another_value_costs_a_call_and_no_sleep() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    let word = sim.place("word", Word32::new(0));
    sim.spawn(Affinity::Any, move || {
        word.store(7, Relaxed);
        let first = took(|| assert_eq!(Sim::park(&word, 6, Lane::Waiters, None), Parked::Changed));
        let second = took(|| assert_eq!(Sim::park(&word, 6, Lane::Waiters, None), Parked::Changed));
        // The bucket's line comes from memory first; the word's is here.
        assert_eq!((first, second), ((200 + 80 + 2) * NS, (200 + 9 + 2) * NS));
    });
    assert_eq!(sim.run().unwrap().counters.voluntary, 0);
}

#[test]
fn the_longest_sleeper_of_a_lane_wakes_first() {
    let machine = support::shared(1, 8);
    let mut sim = Simulation::new(traced(&machine, 1), 7);
    let word = sim.place("word", Word32::new(0));
    let order = notes();
    for number in 0..6u32 {
        let (word, order) = (word.clone(), order.clone());
        sim.spawn(Affinity::Cpu(number), move || {
            // The even ones in one lane, the odd ones in another, coming in the order 5 to 0.
            compute_until(100_000 - 10_000 * u64::from(number));
            assert_eq!(Sim::park(&word, 0, LANES[number as usize % 2], None), Parked::Woken);
            order.borrow_mut().push(number);
        });
    }
    sim.spawn(Affinity::Cpu(7), move || {
        let wake = |at, lane, count| {
            compute_until(at);
            Sim::wake(&raw const *word, lane, count)
        };
        assert_eq!(wake(200_000, Lane::Waiters, 1), 1);
        assert_eq!(wake(300_000, Lane::First, 2), 2);
        assert_eq!(wake(400_000, Lane::Readers, 8), 0);
        assert_eq!(wake(500_000, Lane::Waiters, 8), 2);
        assert_eq!(wake(600_000, Lane::First, 8), 1);
        assert_eq!(wake(700_000, Lane::First, 8), 0);
    });
    let outcome = sim.run().unwrap();
    let woken: Vec<u32> =
        outcome.trace.iter().filter(|e| e.what == Happened::Woken { by: Some(6) }).map(|e| e.thread).collect();
    assert_eq!(woken, [4, 5, 3, 2, 0, 1]);
    assert_eq!(order.take().len(), 6);
}

#[test]
fn an_alarm_ends_a_sleep_at_its_time_and_a_wake_up_turns_it_off() {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
    let word = sim.place("word", Word32::new(0));
    let theirs = word.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        assert_eq!(Sim::park(&theirs, 0, Lane::Waiters, at(50_000)), Parked::TimedOut);
        // Exit from idleness, deep because it was the first, switch, half a call.
        assert_eq!(Sim::time_ps(), (50_000 + 20_000 + 1_000 + 100) * NS);
        assert_eq!(Sim::park(&theirs, 0, Lane::Waiters, at(200_000)), Parked::Woken);
        // The alarm at 200 us is not this sleep's.
        assert_eq!(Sim::park(&theirs, 0, Lane::Waiters, None), Parked::Woken);
        assert!(Sim::time_ns() > 300_000);
        // In the past.
        assert_eq!(Sim::park(&theirs, 0, Lane::Waiters, at(1_000)), Parked::TimedOut);
    });
    sim.spawn(Affinity::Cpu(1), move || {
        for at in [100_000, 300_000] {
            compute_until(at);
            assert_eq!(Sim::wake(&raw const *word, Lane::Waiters, 1), 1);
        }
    });
    sim.run().unwrap();
}

#[test]
fn requeue_wakes_one_and_moves_the_others_in_their_order() {
    let mut sim = Simulation::new(config(&support::shared(1, 6), 1), 6);
    let from = sim.place("from", Word32::new(0));
    let to = sim.place("to", Word32::new(0));
    let order = notes();
    for number in 0..5u32 {
        let (from, order) = (from.clone(), order.clone());
        sim.spawn(Affinity::Cpu(number), move || {
            compute_until(10_000 * u64::from(number + 1));
            // The last is in a lane that requeue leaves alone; another has an alarm, which goes with it.
            let lane = if number == 4 { Lane::Readers } else { Lane::Waiters };
            let deadline = at(350_000).filter(|_| number == 2);
            let how = Sim::park(&from, 0, lane, deadline);
            order.borrow_mut().push((number, how, Sim::time_ns() / 100_000));
        });
    }
    sim.spawn(Affinity::Cpu(5), move || {
        compute_until(100_000);
        assert_eq!(Sim::requeue(&from, 1, &raw const *to), None);
        assert_eq!(Sim::requeue(&from, 0, &raw const *to), Some(4));
        compute_until(200_000);
        assert_eq!(Sim::wake(&raw const *from, Lane::Waiters, 8), 0);
        assert_eq!(Sim::wake(&raw const *to, Lane::Waiters, 1), 1);
        compute_until(400_000);
        assert_eq!(Sim::wake(&raw const *to, Lane::Waiters, 8), 1);
        assert_eq!(Sim::wake(&raw const *from, Lane::Readers, 8), 1);
    });
    sim.run().unwrap();
    let woken = |number, at| (number, Parked::Woken, at);
    let expected = [woken(0, 1), woken(1, 2), (2, Parked::TimedOut, 3), woken(3, 4), woken(4, 4)];
    let mut order = order.take();
    order.sort_by_key(|entry| entry.0);
    assert_eq!(order, expected);
}

#[test]
fn random_requeues_lose_nobody() {
    for seed in 0..6 {
        let mut sim = Simulation::new(config(&support::shared(2, 3), seed), 9);
        let words = [sim.place("from", Word32::new(0)), sim.place("to", Word32::new(0))];
        let done = notes();
        for _ in 0..8 {
            let (word, done) = (words[0].clone(), done.clone());
            sim.spawn(Affinity::Any, move || {
                for _ in 0..10 {
                    Sim::compute(Sim::chance(5_000));
                    let value = word.load(Relaxed);
                    Sim::park(&word, value, Lane::Waiters, None);
                }
                done.borrow_mut().push(());
            });
        }
        sim.spawn(Affinity::Any, move || {
            let [from, to] = words;
            while done.borrow().len() < 8 {
                let value = from.fetch_add(1, SeqCst) + 1;
                Sim::requeue(&from, value, &raw const *to);
                Sim::compute(Sim::chance(2_000));
                Sim::wake(&raw const *to, Lane::Waiters, Sim::chance(3) as u32);
                Sim::compute(Sim::chance(2_000));
            }
        });
        sim.run().unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
    }
}

#[test]
fn a_waker_pays_for_each_sleeper_by_its_distance() {
    for (sleeper, ipi) in [(1, 700), (2, 900)] {
        let mut sim = Simulation::new(config(&support::shared(2, 2), 1), 2);
        let word = sim.place("word", Word32::new(0));
        let theirs = word.clone();
        sim.spawn(Affinity::Cpu(sleeper), move || _ = Sim::park(&theirs, 0, Lane::Waiters, None));
        sim.spawn(Affinity::Cpu(0), move || {
            compute_until(50_000);
            let wake = took(|| assert_eq!(Sim::wake(&raw const *word, Lane::Waiters, 1), 1));
            // The lines of the bucket, of the sleeper and of the queue that it goes to.
            let line = if sleeper == 1 { 60 } else { 150 };
            assert_eq!(wake, (200 + 3 * line + 500 + ipi) * NS, "CPU {sleeper}");
            // With no sleepers a check of the bucket is enough.
            let idle = took(|| assert_eq!(Sim::wake(&raw const *word, Lane::Waiters, 1), 0));
            assert_eq!(idle, (200 + 2) * NS);
        });
        sim.run().unwrap();
    }
}

#[test]
fn a_call_that_is_to_sleep_looks_at_the_word_late() {
    let mut machine = support::machine(1, 2);
    machine.system.wait_call = 350 * NS;
    // The entry takes 250 ns, then the bucket's line: memory, 80. The word's own line comes with the check.
    for (changes, parked) in [(200, Parked::Changed), (600, Parked::Woken)] {
        let mut sim = Simulation::new(config(&Arc::new(machine.clone()), 1), 2);
        let word = sim.place("word", Word32::new(0));
        let theirs = word.clone();
        sim.spawn(Affinity::Cpu(0), move || {
            compute_until(10_000);
            assert_eq!(Sim::park(&theirs, 0, Lane::Waiters, None), parked);
            if parked == Parked::Changed {
                let again = took(|| assert_eq!(Sim::park(&theirs, 0, Lane::Waiters, None), Parked::Changed));
                assert_eq!(again, (350 + 9 + 2) * NS, "the bucket and the word are at hand");
            }
        });
        sim.spawn(Affinity::Cpu(1), move || {
            compute_until(10_000 + changes);
            word.store(1, Relaxed);
            compute_until(50_000);
            Sim::wake(&raw const *word, Lane::Waiters, 1);
        });
        sim.run().unwrap();
    }
}

/// Returns the number that requeue reports as woken or moved, if another thread, after this long, changes the word and
/// sleeps on its new value.
fn requeue_beside_a_newcomer(after_ns: u64) -> Option<u32> {
    let mut sim = Simulation::new(config(&support::shared(2, 2), 1), 3);
    let (from, to) = (sim.place("from", Word32::new(0)), sim.place("to", Word32::new(0)));
    let asleep = notes();
    for cpu in [1, 2] {
        let (from, asleep) = (from.clone(), asleep.clone());
        sim.spawn(Affinity::Cpu(cpu), move || {
            compute_until(10_000);
            if cpu == 2 {
                compute_until(100_000 + after_ns);
                from.store(1, SeqCst);
            }
            Sim::park(&from, cpu - 1, Lane::Waiters, None);
            asleep.borrow_mut().push(cpu);
        });
    }
    let result = notes();
    let results = result.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        compute_until(100_000);
        results.borrow_mut().push(Sim::requeue(&from, 0, &raw const *to));
        while asleep.borrow().len() < 2 {
            Sim::compute(10_000);
            Sim::wake(&raw const *from, Lane::Waiters, 1);
            Sim::wake(&raw const *to, Lane::Waiters, 1);
        }
    });
    sim.run().unwrap_or_else(|stuck| panic!("{after_ns} ns: {stuck}"));
    result.take()[0]
}

#[test]
fn requeue_leaves_those_alone_who_sleep_on_another_value() {
    let results: Vec<_> = (0..2_000).step_by(11).map(requeue_beside_a_newcomer).collect();
    assert!(results.iter().all(|result| matches!(result, None | Some(1))), "{results:?}");
    assert!(results.contains(&None) && results.contains(&Some(1)));
}
