//! Sections with preemption off: small cases on a CPU or two. The machine switches in 1 us; a slice of two threads is
//! 3 ms.

use crate::support;
use crate::world::{compute_until, config, notes, runs, traced, when, word};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Lane, Pause, Platform, Preempt, SpinEnd, SpinLimit, Word};
use turnwise_sim::spec::{Machine, NS, OnCpuView};
use turnwise_sim::{Affinity, Happened, Outcome, Sim, Simulation, StuckKind};

const MS: u64 = 1_000_000;

/// Runs a section with preemption off.
fn section<R>(inside: impl FnOnce() -> R) -> R {
    Sim::preempt(Preempt::Off);
    let result = inside();
    Sim::preempt(Preempt::On);
    result
}

fn run(machine: &Arc<Machine>, bodies: Vec<Box<dyn FnOnce()>>) -> Outcome {
    let mut sim = Simulation::new(traced(machine, 1), bodies.len());
    bodies.into_iter().for_each(|body| sim.spawn(Affinity::Any, body));
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"))
}

/// Milliseconds, rounded.
fn ms(ps: u64) -> u64 {
    (ps + MS * NS / 2) / (MS * NS)
}

/// Returns when a thread was preempted, in milliseconds.
fn preempted(outcome: &Outcome, thread: u32) -> Vec<u64> {
    when(outcome, thread, |what| what == Happened::Preempted).iter().map(|when| ms(when.0)).collect()
}

#[test]
fn a_section_is_not_interrupted_and_the_slice_ends_right_after() {
    let ended = Rc::new(Cell::new(0));
    let end = ended.clone();
    let long: Box<dyn FnOnce()> = Box::new(move || {
        section(|| {
            Sim::compute(10 * MS);
            end.set(Sim::time_ps());
        });
        Sim::compute(MS);
    });
    let outcome = run(&support::shared(1, 1), vec![long, Box::new(|| Sim::compute(MS))]);
    let left = when(&outcome, 0, |what| what == Happened::Preempted);
    assert_eq!(left, [(ended.get(), 0)], "at the end of the section, and never before");
    assert_eq!(ms(ended.get()), 10);
    assert_eq!(runs(&outcome, 1)[0].0, ended.get() + 1_000 * NS, "a switch later the other runs");
    assert_eq!((outcome.counters.voluntary, outcome.counters.involuntary), (0, 1));
}

#[test]
fn sections_nest_and_a_yield_inside_yields_nothing() {
    let order = notes();
    let (mine, theirs) = (order.clone(), order.clone());
    let nested: Box<dyn FnOnce()> = Box::new(move || {
        section(|| {
            section(|| Sim::compute(5 * MS));
            mine.borrow_mut().push("inner over");
            Sim::pause(Pause::Yield);
            Sim::compute(MS);
            mine.borrow_mut().push("outer over");
        });
        mine.borrow_mut().push("after");
    });
    run(&support::shared(1, 1), vec![nested, Box::new(move || theirs.borrow_mut().push("other"))]);
    assert_eq!(order.take(), ["inner over", "outer over", "other", "after"]);
}

#[test]
fn a_section_within_its_slice_costs_nothing() {
    let run = |off: bool| {
        let body = move || -> Box<dyn FnOnce()> {
            Box::new(move || {
                for _ in 0..100 {
                    if off { section(|| Sim::compute(100_000)) } else { Sim::compute(100_000) }
                }
            })
        };
        run(&support::shared(1, 2), vec![body(), body()]).counters
    };
    let (with, without) = (run(true), run(false));
    assert_eq!((with.now_ps, with.involuntary), (without.now_ps, 0));
}

#[test]
fn a_woken_thread_waits_for_the_end_of_the_section() {
    for off in [false, true] {
        let sleeper: Box<dyn FnOnce()> = Box::new(|| Sim::sleep(10 * MS));
        let busy: Box<dyn FnOnce()> =
            Box::new(move || if off { section(|| Sim::compute(20 * MS)) } else { Sim::compute(20 * MS) });
        let outcome = run(&support::shared(1, 1), vec![sleeper, busy]);
        assert_eq!(ms(runs(&outcome, 0)[1].0), if off { 20 } else { 10 }, "preemption off: {off}");
    }
}

/// Returns how the spin of a thread in a section ended, and when, in milliseconds. Another waits for its CPU; a third,
/// on the other CPU, writes the word after 20 ms.
fn spins(limit: SpinLimit) -> (Result<u32, SpinEnd>, u64) {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 3);
    let word = sim.place("word", word());
    let writer = word.clone();
    let result = Rc::new(Cell::new((Ok(0), 0)));
    let shown = result.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        section(|| {
            let end = Sim::spin_until(&*word, |value| value == 1, limit);
            shown.set((end, ms(Sim::time_ps())));
        });
    });
    sim.spawn(Affinity::Cpu(0), || Sim::compute(MS));
    sim.spawn(Affinity::Cpu(1), move || {
        compute_until(20 * MS);
        writer.store(1, Relaxed);
    });
    sim.run().unwrap();
    result.get()
}

#[test]
fn a_spinner_in_a_section_gives_way_only_if_it_looks_at_need_resched() {
    assert_eq!(spins(SpinLimit::NONE), (Ok(1), 20));
    let looks = SpinLimit { need_resched: true, ..SpinLimit::NONE };
    assert_eq!(spins(looks), (Err(SpinEnd::Deadline), 3));
    let away = SpinLimit { still_ns: Some(u32::MAX), ..looks };
    assert_eq!(spins(away), (Err(SpinEnd::Deadline), 3));
}

#[test]
fn need_resched_tells_when_the_slice_is_over_and_somebody_waits() {
    let seen = notes();
    let notes = seen.clone();
    let asks: Box<dyn FnOnce()> = Box::new(move || {
        section(|| {
            for _ in 0..5 {
                notes.borrow_mut().push(Sim::preempt(Preempt::IsDue));
                Sim::compute(MS);
            }
        });
        Sim::compute(2 * MS); // the other ends
        notes.borrow_mut().push(Sim::preempt(Preempt::IsDue));
    });
    run(&support::shared(1, 1), vec![asks, Box::new(|| Sim::compute(MS / 2))]);
    let [no, yes] = [false, true].map(Some);
    assert_eq!(seen.take(), [no, no, no, yes, yes, no]);
    assert_eq!(Sim::preempt(Preempt::IsDue), None, "outside of simulated threads nobody can tell");
}

#[test]
fn only_kernels_have_sections() {
    let mut machine = support::machine(1, 1);
    machine.system.on_cpu = OnCpuView::Rseq;
    let body = || -> Box<dyn FnOnce()> {
        Box::new(|| {
            section(|| {
                assert_eq!(Sim::preempt(Preempt::IsDue), None);
                Sim::compute(10 * MS);
                Sim::sleep(MS);
            });
        })
    };
    let outcome = run(&Arc::new(machine), vec![body(), body()]);
    assert_eq!(preempted(&outcome, 0)[0], 3);
}

/// The owner of a spin lock, in two versions, is on one CPU with a thread that wants its CPU; others spin elsewhere.
#[test]
fn a_thread_that_spins_for_a_section_waits_no_longer_than_it_takes() {
    let longest = |off: bool| {
        let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 8);
        let lock = sim.place("lock", word());
        let longest = Rc::new(Cell::new(0));
        for _ in 0..8 {
            let (lock, longest) = (lock.clone(), longest.clone());
            sim.spawn(Affinity::Any, move || {
                for _ in 0..200 {
                    if off {
                        Sim::preempt(Preempt::Off);
                    }
                    let begin = Sim::time_ps();
                    while lock.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
                        let _ = Sim::spin_until(&*lock, |value| value == 0, SpinLimit::NONE);
                    }
                    longest.set(longest.get().max(Sim::time_ps() - begin));
                    Sim::compute(10_000);
                    lock.store(0, Relaxed);
                    if off {
                        Sim::preempt(Preempt::On);
                    }
                    Sim::compute(10_000);
                }
            });
        }
        sim.run().unwrap();
        longest.get() / NS
    };
    let (off, on) = (longest(true), longest(false));
    assert!(off < 100_000, "two CPUs, sections of 10 us: {off} ns");
    assert!(on > 700_000, "at least a slice of the granularity, if the owner is preempted: {on} ns");
}

#[test]
#[should_panic(expected = "thread 0 sleeps at lab/sim/tests/engine/preempt.rs")]
fn a_sleep_in_a_section_is_refused() {
    run(&support::shared(1, 1), vec![Box::new(|| section(|| Sim::sleep(MS)))]);
}

#[test]
#[should_panic(expected = "with preemption off since lab/sim/tests/engine/preempt.rs")]
fn a_futex_wait_in_a_section_is_refused() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    let word = sim.place("word", word());
    sim.spawn(Affinity::Any, move || section(|| _ = Sim::park(&word, 0, Lane::Waiters, None)));
    let _ = sim.run();
}

#[test]
#[should_panic(expected = "thread 0 ends, with preemption off since")]
fn a_thread_cannot_end_in_a_section() {
    run(&support::shared(1, 1), vec![Box::new(|| _ = Sim::preempt(Preempt::Off))]);
}

#[test]
#[should_panic(expected = "has not turned it off")]
fn a_section_ends_once() {
    run(&support::shared(1, 1), vec![Box::new(|| section(|| _ = Sim::preempt(Preempt::On)))]);
}

#[test]
fn a_report_says_who_has_preemption_off() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    let word = sim.place("word", word());
    sim.spawn(Affinity::Any, move || {
        section(|| _ = Sim::spin_until(&*word, |value| value == 1, SpinLimit::NONE));
    });
    let stuck = sim.run().unwrap_err();
    assert_eq!(stuck.kind, StuckKind::Deadlock);
    assert!(stuck.who.contains("with preemption off since lab/sim/tests/engine/preempt.rs"), "{stuck}");
}

#[test]
fn a_call_into_the_kernel_keeps_its_cpu_until_it_sleeps_or_ends() {
    let order = notes();
    let (mine, theirs) = (order.clone(), order.clone());
    let calls: Box<dyn FnOnce()> = Box::new(move || {
        Sim::in_kernel(|| {
            Sim::compute(10 * MS);
            mine.borrow_mut().push(("asleep", ms(Sim::time_ps())));
            Sim::sleep(MS);
            Sim::compute(20 * MS);
            mine.borrow_mut().push(("back", ms(Sim::time_ps())));
        });
        mine.borrow_mut().push(("after", ms(Sim::time_ps())));
    });
    let other: Box<dyn FnOnce()> = Box::new(move || {
        theirs.borrow_mut().push(("other", ms(Sim::time_ps())));
        Sim::compute(15 * MS);
        theirs.borrow_mut().push(("other over", ms(Sim::time_ps())));
    });
    let outcome = run(&support::shared(1, 1), vec![calls, other]);
    let order = order.take();
    assert_eq!(order[..2], [("asleep", 10), ("other", 10)]);
    // The caller wakes up after 1 ms, far ahead: it has its next turn when the other's slice is over.
    let back = order.iter().find(|note| note.0 == "back").unwrap().1;
    let stays = runs(&outcome, 0).iter().map(|run| ms(run.0)).filter(|&at| (back - 20..=back).contains(&at)).count();
    assert_eq!(stays, 1, "20 ms in one go: {order:?}");
    assert_eq!(outcome.counters.voluntary, 1);
}

#[test]
fn in_the_kernel_a_wake_up_is_no_system_call() {
    for kernel in [false, true] {
        let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
        let word = sim.place("word", word());
        let theirs = word.clone();
        let call = move |f: &mut dyn FnMut()| if kernel { Sim::in_kernel(f) } else { f() };
        sim.spawn(Affinity::Cpu(1), move || call(&mut || _ = Sim::park(&theirs, 0, Lane::Waiters, None)));
        sim.spawn(Affinity::Cpu(0), move || {
            compute_until(50_000);
            let wake = || _ = Sim::wake(&raw const *word, Lane::Waiters, 1);
            call(&mut || {
                // 200 the call, 60 the bucket's line, 2 * 60 those of the sleeper and the queue, 500 the wake-up, 700
                // the interrupt.
                assert_eq!(crate::world::took(wake), if kernel { 1_320 } else { 1_580 } * NS);
            });
        });
        sim.run().unwrap();
    }
}
