//! Which thread has which CPU, and when: small cases, computed by hand. The machine switches in 1 us and has a latency
//! of 6 ms, and threads start within the first microsecond.

use crate::support;
use crate::world::{compute_until, config, notes, runs, token, took, traced, when};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise::RawMutex;
use turnwise::platform::{OnCpu, Pause, Platform, Token};
use turnwise::raw::RawLock;
use turnwise::wait::Tuned;
use turnwise_sim::spec::{Machine, NS};
use turnwise_sim::{Affinity, Counters, Happened, Outcome, Placed, Sim, Simulation};

const MS: u64 = 1_000_000;

type Body = Box<dyn FnOnce()>;

fn run(machine: &Arc<Machine>, threads: Vec<(Affinity, Body)>) -> Outcome {
    let mut sim = Simulation::new(traced(machine, 1), threads.len());
    threads.into_iter().for_each(|(affinity, body)| sim.spawn(affinity, body));
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"))
}

fn computes(affinity: Affinity, ms: u64) -> (Affinity, Body) {
    (affinity, Box::new(move || Sim::compute(ms * MS)))
}

/// Milliseconds, rounded.
fn ms(ps: u64) -> u64 {
    (ps + MS * NS / 2) / (MS * NS)
}

fn switches(counters: &Counters) -> (u64, u64) {
    (counters.voluntary, counters.involuntary)
}

#[test]
fn two_threads_of_a_cpu_take_turns_of_half_the_latency() {
    let machine = support::shared(1, 1);
    let outcome = run(&machine, vec![computes(Affinity::Any, 10), computes(Affinity::Any, 10)]);
    let starts = |thread| runs(&outcome, thread).iter().map(|run| ms(run.0)).collect::<Vec<_>>();
    assert_eq!(starts(0), [0, 6, 12, 18]);
    assert_eq!(starts(1), [3, 9, 15, 19]);
    assert_eq!(switches(&outcome.counters), (0, 6));
    let switching = outcome.counters.now_ps - 20 * MS * NS;
    assert!((8_000..=9_000).contains(&(switching / NS)), "8 switches and the start: {switching} ps");
}

#[test]
fn many_threads_of_a_cpu_take_turns_of_the_granularity() {
    let machine = support::shared(1, 1);
    let body = || -> Body { Box::new(|| Sim::compute(2_900_000)) };
    let outcome = run(&machine, (0..12).map(|_| (Affinity::Any, body())).collect());
    for thread in 0..12 {
        let starts = runs(&outcome, thread);
        let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        // Twelve slices of 0.75 ms, each with a switch; 2.9 ms are four slices, of which the last is shorter.
        assert_eq!(gaps[0] / NS, 12 * 751_000, "thread {thread}: {gaps:?}");
        assert_eq!(starts.len(), 4, "thread {thread}: {gaps:?}");
    }
}

/// The CPU time that threads have had differs by the jitter, and the thread with the least is next.
#[test]
fn slices_that_end_late_make_the_turns_uneven() {
    let turns = |jitter_ns: u64| {
        let mut machine = Machine::clone(&support::shared(1, 1));
        machine.system.slice_jitter = jitter_ns * NS;
        let outcome = run(&Arc::new(machine), (0..4).map(|_| computes(Affinity::Any, 60)).collect());
        let starts = |thread| runs(&outcome, thread).into_iter().map(move |(at, _)| (at / NS, thread));
        let mut turns: Vec<(u64, u32)> = (0..4).flat_map(starts).collect();
        turns.sort_unstable();
        turns.truncate(60);
        turns
    };
    let in_order = |turns: &[(u64, u32)]| turns.windows(5).all(|five| five[0].1 == five[4].1);
    assert!(in_order(&turns(0)));
    let uneven = turns(10_000);
    assert!(!in_order(&uneven), "{uneven:?}");
    for pair in uneven.windows(2) {
        // A thread that has had least even after its slice has another one; then comes a switch of 1 us.
        let (slices, late) = ((pair[1].0 - pair[0].0) / 1_500_000, (pair[1].0 - pair[0].0) % 1_500_000);
        assert!(slices >= 1 && late <= 10_000 * slices + 1_010, "{uneven:?}");
    }
}

#[test]
fn a_thread_that_is_alone_is_never_preempted() {
    let machine = support::shared(1, 2);
    let outcome = run(&machine, vec![computes(Affinity::Cpu(0), 50), computes(Affinity::Cpu(1), 50)]);
    assert_eq!(switches(&outcome.counters), (0, 0));
    assert!(outcome.counters.events < 20, "slices cost nothing where nobody waits: {}", outcome.counters.events);
}

#[test]
fn the_owner_of_a_lock_is_preempted_and_the_other_then_sleeps() {
    let mut sim = Simulation::new(traced(&support::shared(1, 1), 1), 2);
    let lock: Placed<RawMutex<Sim>> = sim.place("lock", RawMutex::new_in());
    let sleeps_at_once = Tuned { spin_ns: Some(0), ..Tuned::default() };
    for _ in 0..2 {
        let lock = lock.clone();
        sim.spawn(Affinity::Any, move || {
            Sim::asks(lock.address());
            if !lock.lock_fast() {
                lock.lock_tuned(sleeps_at_once);
            }
            Sim::acquired(lock.address(), true);
            Sim::compute(5 * MS);
            Sim::released(lock.address());
            // SAFETY: locked above.
            unsafe { lock.unlock() };
        });
    }
    let outcome = sim.run().unwrap();
    let first = |thread, what| when(&outcome, thread, |happened| happened == what)[0].0;
    let preempted = first(0, Happened::Preempted);
    assert!(first(0, Happened::Acquires { lock: 0, exclusive: true }) < preempted);
    assert!(preempted < first(0, Happened::Releases { lock: 0 }));
    assert!(first(1, Happened::Asks { lock: 0 }) < first(1, Happened::Sleeps));
    // Thread 0 has 3 ms, thread 1 falls asleep, thread 0 has 2 ms, wakes thread 1 and is preempted by it, which after a
    // slice of 3 ms still had less CPU time and continues.
    assert_eq!(ms(first(0, Happened::Releases { lock: 0 })), 5);
    assert_eq!(switches(&outcome.counters), (1, 2));
    assert_eq!(outcome.locks, ["lock"]);
    assert_eq!(outcome.counters.handoffs.same_node, 1);
}

/// Returns how long a thread waits for its CPU after sleeping this long alongside a computing one, in nanoseconds.
fn waits_after_sleep(sleep_ns: u64) -> (u64, Outcome) {
    let sleeper: Body = Box::new(move || Sim::sleep(sleep_ns));
    let outcome = run(&support::shared(1, 1), vec![(Affinity::Any, sleeper), computes(Affinity::Any, 20)]);
    let woken = when(&outcome, 0, |what| what == Happened::Woken { by: None })[0].0;
    let back = runs(&outcome, 0)[1].0;
    ((back - woken) / NS, outcome)
}

#[test]
fn a_woken_thread_preempts_one_that_is_ahead() {
    let (wait, outcome) = waits_after_sleep(10 * MS);
    assert_eq!(wait, 1_000, "a switch");
    assert_eq!(switches(&outcome.counters), (1, 1));
}

#[test]
fn a_long_sleep_saves_up_half_the_latency_and_no_more() {
    let sleeper: Body = Box::new(|| {
        Sim::sleep(50 * MS);
        Sim::compute(30 * MS);
    });
    let outcome = run(&support::shared(1, 1), vec![(Affinity::Any, sleeper), computes(Affinity::Any, 100)]);
    let back = runs(&outcome, 0)[1].0;
    let other = runs(&outcome, 1).into_iter().find(|run| run.0 > back).unwrap();
    assert_eq!((ms(back), ms(other.0 - back)), (50, 3));
}

#[test]
fn a_woken_thread_waits_for_the_slice_of_one_that_is_not() {
    let (wait, outcome) = waits_after_sleep(MS / 2);
    // The other began about when this fell asleep, and has 3 ms.
    assert!((2_495_000..2_505_000).contains(&wait), "{wait} ns");
    assert_eq!(switches(&outcome.counters), (1, 1));
}

#[test]
fn a_thread_that_wakes_another_on_its_own_cpu_is_preempted_even_if_nothing_else_is_to_happen() {
    let mut sim = Simulation::new(traced(&support::shared(1, 1), 1), 2);
    let word = sim.place("word", crate::world::word());
    let done = Rc::new(Cell::new(false));
    let (theirs, ended) = (word.clone(), done.clone());
    sim.spawn(Affinity::Any, move || {
        Sim::park(&theirs, 0, turnwise::platform::Lane::Waiters, None);
        ended.set(true);
    });
    sim.spawn(Affinity::Any, move || {
        Sim::compute(5 * MS);
        Sim::wake(&raw const *word, turnwise::platform::Lane::Waiters, 1);
        while !done.get() {
            Sim::pause(Pause::Relax);
        }
    });
    let outcome = sim.run().unwrap();
    assert_eq!(switches(&outcome.counters), (1, 1));
    assert_eq!(ms(outcome.counters.now_ps), 5);
}

#[test]
fn a_woken_thread_goes_to_an_idle_cpu_of_its_cache_only() {
    // With its own CPU busy it goes to the nearby one; with that busy, too, it waits, and the other node stays idle.
    for (busy, expected) in [(vec![], 0), (vec![0], 1), (vec![0, 1], 0)] {
        let sleeper: Body = Box::new(|| {
            Sim::sleep(MS / 2);
            Sim::compute(MS);
        });
        let mut threads = vec![(Affinity::Any, sleeper)];
        threads.extend(busy.iter().map(|&cpu| computes(Affinity::Cpu(cpu), 20)));
        let outcome = run(&support::shared(2, 2), threads);
        let cpus: Vec<u32> = runs(&outcome, 0).iter().map(|run| run.1).collect();
        assert_eq!(cpus, [0, expected], "with {busy:?} busy");
    }
}

#[test]
fn a_cpu_with_nothing_to_do_takes_a_waiting_thread_from_the_crowd() {
    // Threads 0, 2 and 4 begin on CPU 0; thread 1 leaves CPU 1 after 1 ms.
    let threads = |affinity: fn(u32) -> Affinity| {
        (0..5).map(|n| computes(affinity(n), if n % 2 == 1 { 1 } else { 4 })).collect::<Vec<_>>()
    };
    let outcome = run(&support::shared(1, 2), threads(|_| Affinity::Any));
    assert!((2..5).any(|thread| runs(&outcome, thread).iter().any(|run| run.1 == 1 && ms(run.0) >= 1)));
    assert!(ms(outcome.counters.now_ps) <= 9, "14 ms of work on two CPUs: {} ps", outcome.counters.now_ps);

    let mut still = support::machine(1, 2);
    still.system.migration = false;
    let outcome = run(&Arc::new(still), threads(|_| Affinity::Any));
    assert_eq!(ms(outcome.counters.now_ps), 12, "no migration: CPU 0 has 12 ms of work");

    let outcome = run(&support::shared(1, 2), threads(|n| Affinity::Cpu(n % 2)));
    assert_eq!(ms(outcome.counters.now_ps), 12, "bound: CPU 0 has 12 ms of work");
}

#[test]
fn a_crowded_cpu_gives_a_thread_to_one_that_has_nothing_to_do() {
    // Thread 1 is bound to where thread 0 computes, and preempts it when it wakes; CPU 1 is idle all the time.
    let bound: Body = Box::new(|| {
        Sim::sleep(5 * MS);
        Sim::compute(20 * MS);
    });
    let outcome = run(&support::shared(1, 2), vec![computes(Affinity::Any, 20), (Affinity::Cpu(0), bound)]);
    assert!(runs(&outcome, 0).iter().any(|run| run.1 == 1), "thread 0 moved to CPU 1");
    assert!(ms(outcome.counters.now_ps) < 32, "20 ms each, by two CPUs: {} ms", ms(outcome.counters.now_ps));
}

#[test]
fn a_cpu_with_nothing_to_do_passes_over_a_crowd_that_may_not_move() {
    // CPU 1, the nearest, has threads that are bound to it; CPU 2, on the other node, has one that is not.
    let mut threads = vec![computes(Affinity::Cpu(0), 1), computes(Affinity::Cpu(1), 10)];
    threads.extend([computes(Affinity::Any, 10), computes(Affinity::Cpu(1), 10)]);
    threads.extend([computes(Affinity::Cpu(3), 10), computes(Affinity::Cpu(1), 10)]);
    threads.push(computes(Affinity::Any, 10)); // on CPU 2, too
    let outcome = run(&support::shared(2, 2), threads);
    let first = runs(&outcome, 6)[0];
    assert_eq!((ms(first.0), first.1), (1, 0), "as soon as CPU 0 has nothing to do");
    assert!(runs(&outcome, 3).iter().all(|run| run.1 == 1));
}

#[test]
fn bound_threads_stay_and_others_keep_to_their_cpus() {
    let machine = support::shared(2, 4);
    for seed in 0..5 {
        let allowed = vec![0, 3, 5];
        let config = turnwise_sim::Config { cpus: allowed.clone(), ..traced(&machine, seed) };
        let mut sim = Simulation::new(config, 12);
        for thread in 0..12 {
            let bound = allowed[thread % 3];
            let affinity = if thread % 2 == 0 { Affinity::Cpu(bound) } else { Affinity::Any };
            sim.spawn(affinity, || {
                for _ in 0..10 {
                    Sim::compute(Sim::chance(2 * MS));
                    Sim::sleep(Sim::chance(MS));
                }
            });
        }
        let outcome = sim.run().unwrap();
        for thread in 0..12u32 {
            let bound = (thread % 2 == 0).then(|| allowed[thread as usize % 3]);
            let on = runs(&outcome, thread);
            assert!(on.iter().all(|run| allowed.contains(&run.1) && bound.is_none_or(|cpu| run.1 == cpu)), "{on:?}");
        }
        let moved = |thread| runs(&outcome, thread).windows(2).any(|pair| pair[0].1 != pair[1].1);
        assert!((0..12).any(moved), "seed {seed}: nobody ever moved");
    }
}

#[test]
fn who_yields_comes_after_those_who_wait() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 3);
    let order = notes();
    for thread in 0..3 {
        let order = order.clone();
        sim.spawn(Affinity::Any, move || {
            for _ in 0..4 {
                order.borrow_mut().push(thread);
                Sim::compute(1_000 + 100_000 * thread); // a thread that had little yields, too
                Sim::pause(Pause::Yield);
            }
        });
    }
    let outcome = sim.run().unwrap();
    assert_eq!(order.take(), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(switches(&outcome.counters), (0, 12), "each finds the others waiting, if only to end");
}

#[test]
fn a_yield_with_nobody_waiting_costs_its_call() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    sim.spawn(Affinity::Any, || assert_eq!(took(|| Sim::pause(Pause::Yield)), 300 * NS));
    assert_eq!(switches(&sim.run().unwrap().counters), (0, 0));
}

#[test]
fn a_polling_cpu_needs_no_interrupt() {
    let mut machine = support::machine(1, 2);
    machine.system.idle_poll = 100_000 * NS;
    let machine = Arc::new(machine);
    for (after, ipi) in [(50_000, 0), (200_000, 700)] {
        let mut sim = Simulation::new(config(&machine, 1), 2);
        let word = sim.place("word", crate::world::word());
        let theirs = word.clone();
        sim.spawn(Affinity::Cpu(1), move || _ = Sim::park(&theirs, 0, turnwise::platform::Lane::Waiters, None));
        sim.spawn(Affinity::Cpu(0), move || {
            compute_until(after);
            let wake = took(|| _ = Sim::wake(&raw const *word, turnwise::platform::Lane::Waiters, 1));
            assert_eq!(wake, (200 + 3 * 60 + 500 + ipi) * NS, "after {after} ns");
        });
        sim.run().unwrap();
    }
}

#[test]
fn whether_a_thread_runs_is_on_a_line_of_its_own() {
    let mut sim = Simulation::new(config(&support::shared(1, 3), 1), 3);
    let tokens: Rc<Cell<[Option<Token>; 2]>> = Rc::default();
    for thread in 0..2 {
        let tokens = tokens.clone();
        sim.spawn(Affinity::Cpu(thread), move || {
            let mut all = tokens.get();
            all[thread as usize] = Some(token());
            tokens.set(all);
            compute_until(50_000);
            Sim::sleep(20_000);
        });
    }
    sim.spawn(Affinity::Cpu(2), move || {
        compute_until(10_000);
        let [a, b] = tokens.get().map(Option::unwrap);
        let ask = |who, expected| took(|| assert_eq!(Sim::on_cpu(who), expected)) / NS;
        // Each comes from the CPU that switched to the thread; then the copy is here until it switches again.
        assert_eq!((ask(a, OnCpu::Running), ask(a, OnCpu::Running), ask(b, OnCpu::Running)), (50, 2, 50));
        compute_until(60_000);
        assert_eq!((ask(a, OnCpu::NotRunning), ask(a, OnCpu::NotRunning)), (50, 2));
        assert_eq!(Sim::on_cpu(Token::ANONYMOUS), OnCpu::Unknown);
    });
    sim.run().unwrap();
}

#[test]
fn sleeps_count_as_voluntary_switches() {
    let body: Body = Box::new(|| (0..7).for_each(|_| Sim::sleep(10_000)));
    let outcome = run(&support::shared(1, 2), vec![(Affinity::Any, body), computes(Affinity::Any, 1)]);
    assert_eq!(switches(&outcome.counters), (7, 0));
}
