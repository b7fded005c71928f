//! No time is lost or made: the profile equals what the CPUs had.

use crate::support;
use crate::world::{Word32, config, row};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use turnwise::Mutex;
use turnwise::platform::{Clock, Deadline, IntWord, Lane, Pause, Platform, SpinLimit, Word};
use turnwise_sim::spec::{Machine, OnCpuView, Protocol};
use turnwise_sim::{Affinity, Config, Kind, Outcome, Perturb, Placed, ProfileEntry, Sim, Simulation};

fn sum(profile: &[ProfileEntry], kind: impl Fn(Kind) -> bool) -> u64 {
    profile.iter().filter(|entry| kind(entry.kind)).map(|entry| entry.ps).sum()
}

fn check(outcome: &Outcome) {
    let counters = &outcome.counters;
    let all = sum(&outcome.profile, |_| true);
    assert_eq!(all, counters.now_ps * u64::from(outcome.cpus), "time lost or made");
    assert_eq!(sum(&outcome.profile, |kind| kind != Kind::Idle), counters.cpu_ps);
}

/// Does any of the things that a thread may do.
fn something(word: &Word32, lock: &Mutex<u64, Sim>) {
    let soon = |ns| Sim::time_ns() + Sim::chance(ns);
    match Sim::chance(10) {
        0 => Sim::compute(Sim::chance(2_000_000)),
        1 => Sim::compute(Sim::chance(3_000)),
        2 => Sim::sleep(Sim::chance(100_000)),
        3 => {
            let deadline = Some(Deadline { clock: Clock::Monotonic, at: soon(50_000) });
            Sim::park(word, word.load(Relaxed), Lane::Waiters, deadline);
        }
        4 => {
            word.fetch_add(1, SeqCst);
            Sim::wake(word, Lane::Waiters, 2);
        }
        5 => {
            let limit = SpinLimit {
                until: Some(soon(20_000)),
                still_ns: (Sim::chance(2) == 0).then_some(u32::MAX),
                ..SpinLimit::NONE
            };
            let now = word.load(Relaxed);
            let _ = Sim::spin_until(word, |value| value != now, limit);
        }
        6 => Sim::pause(Pause::Yield),
        7 => (0..20).for_each(|_| Sim::pause(Pause::Relax)),
        8 => Sim::pause(Pause::Rest(Sim::chance(500) as u32)),
        _ => {
            let mut count = lock.lock();
            *count += 1;
            Sim::compute(Sim::chance(1_000));
        }
    }
}

fn run(config: Config, threads: usize) -> Outcome {
    let mut sim = Simulation::new(config.clone(), threads);
    let word = sim.place("word", Word32::new(0));
    let lock: Placed<Mutex<u64, Sim>> = sim.place("lock", Mutex::new_in(0));
    for thread in 0..threads {
        let (word, lock) = (word.clone(), lock.clone());
        let bound = config.cpus[thread % config.cpus.len()];
        let affinity = if thread % 3 == 0 { Affinity::Cpu(bound) } else { Affinity::Any };
        sim.spawn(affinity, move || {
            for _ in 0..40 {
                something(&word, &lock);
                Sim::progress();
            }
        });
    }
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"))
}

/// Returns every kind of machine that matters here.
fn machines() -> Vec<Machine> {
    let smt = {
        Machine {
            cpu: turnwise_sim::spec::Cpu { smt_permille: 1600, ..row(Protocol::Mesi).cpu },
            ..row(Protocol::Mesi)
        }
    };
    let mut bound = support::machine(1, 2);
    bound.system.migration = false;
    let mut polls = support::machine(2, 2);
    (polls.system.idle_poll, polls.system.on_cpu) = (50_000_000, OnCpuView::Rseq);
    vec![support::machine(1, 1), support::machine(1, 4), support::machine(3, 2), smt, bound, polls]
}

#[test]
fn the_profile_has_all_the_time_that_the_cpus_had() {
    for (seed, machine) in (0..).zip(machines()) {
        let machine = Arc::new(machine);
        for perturb in [
            Perturb::None,
            Perturb::Stalls { per_million: 5_000, max_ns: 100_000 },
            Perturb::Pct { per_million: 5_000, max_ns: 100_000 },
        ] {
            check(&run(Config { perturb, ..config(&machine, seed) }, 12));
        }
    }
}

#[test]
fn a_part_of_the_machine_is_charged_alone() {
    let machine = support::shared(2, 4);
    let outcome = run(Config { cpus: vec![1, 2, 6], ..config(&machine, 1) }, 7);
    assert_eq!(outcome.cpus, 3);
    check(&outcome);
}

#[test]
fn time_is_charged_to_what_takes_it() {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
    let word = sim.place("word", Word32::new(0));
    let theirs = word.clone();
    let spun = line!() + 2;
    sim.spawn(Affinity::Cpu(0), move || {
        Sim::spin_until(&*theirs, |value| value == 1, SpinLimit::NONE).unwrap();
    });
    let computed = line!() + 2;
    sim.spawn(Affinity::Cpu(1), move || {
        Sim::compute(100_000);
        word.store(1, Relaxed);
    });
    let outcome = sim.run().unwrap();
    check(&outcome);
    let spent = |line, kind| {
        let here = |entry: &&ProfileEntry| (entry.file, entry.line, entry.kind) == (file!(), line, kind);
        outcome.profile.iter().find(here).map_or(0, |entry| entry.ps / 1000)
    };
    assert_eq!(spent(computed, Kind::Compute), 100_000);
    assert!((99_000..101_500).contains(&spent(spun, Kind::Spin)), "{}", spent(spun, Kind::Spin));
    assert_eq!(spent(computed + 1, Kind::Memory), 50, "taken from the one who reads it");
}

#[test]
fn a_cpu_that_waits_for_a_sleeper_is_idle() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    sim.spawn(Affinity::Any, || {
        Sim::compute(5_000);
        Sim::sleep(500_000);
    });
    let outcome = sim.run().unwrap();
    check(&outcome);
    // Two switches to the thread, one away from it and a call; the rest of the time, but for what it computed, nothing.
    assert_eq!(sum(&outcome.profile, |kind| kind == Kind::System), (3 * 1_000 + 200) * 1_000);
    assert_eq!(sum(&outcome.profile, |kind| kind == Kind::Compute), 5_000 * 1_000);
    assert_eq!(outcome.counters.cpu_ps, (5_000 + 3_200) * 1_000);
}

#[test]
fn siblings_slow_each_other_down() {
    let mut machine = row(Protocol::Mesif);
    machine.cpu.smt_permille = 1_500;
    let machine = Arc::new(machine);
    for (other, ns) in [(1, 15_000), (2, 10_000)] {
        let mut sim = Simulation::new(config(&machine, 1), 2);
        sim.spawn(Affinity::Cpu(other), || Sim::compute(100_000));
        sim.spawn(Affinity::Cpu(0), move || {
            Sim::compute(10_000); // the other has begun
            assert_eq!(crate::world::took(|| Sim::compute(10_000)), ns * 1000, "beside CPU {other}");
        });
        check(&sim.run().unwrap());
    }
}

#[test]
fn an_action_sees_what_has_been_counted_up_to_its_time() {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 1);
    let seen = crate::world::notes();
    for ns in [10_000, 30_000] {
        let seen = seen.clone();
        sim.at(ns, move |snapshot| seen.borrow_mut().push((snapshot.counters, snapshot.profile.clone())));
    }
    sim.spawn(Affinity::Cpu(0), || (0..100).for_each(|_| Sim::compute(500)));
    sim.run().unwrap();
    for ((counters, profile), ns) in seen.take().iter().zip([10_000, 30_000]) {
        assert_eq!(counters.now_ps, ns * 1000);
        assert_eq!(sum(profile, |_| true), 2 * ns * 1000);
        assert_eq!(sum(profile, |kind| kind != Kind::Idle), counters.cpu_ps);
    }
}

#[test]
fn time_goes_to_the_innermost_name_wherever_the_thread_waits() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 2);
    for thread in 0..2 {
        sim.spawn(Affinity::Any, move || {
            let name = ["first", "second"][thread];
            Sim::within(name, || {
                Sim::compute(5_000_000); // preempted in between
                Sim::within("inner", || Sim::compute(1_000_000));
                Sim::sleep(1_000);
            });
            Sim::compute(1_000_000 * (1 + thread as u64));
        });
    }
    let outcome = sim.run().unwrap();
    let computed = |scope: &str| {
        let here = outcome.profile.iter().filter(|e| e.scope == scope && e.kind == Kind::Compute);
        here.map(|entry| entry.ps).sum::<u64>() / 1_000_000_000
    };
    assert_eq!([computed("first"), computed("second"), computed("inner"), computed("")], [5, 5, 2, 3]);
    let switches = outcome.profile.iter().filter(|e| e.file.is_empty() && e.kind == Kind::System);
    assert!(switches.clone().all(|e| e.scope.is_empty()) && switches.count() == 1, "switches are the system's");
    assert_eq!(Sim::within("outside", || 7), 7);
}

#[test]
fn a_cpu_begins_early_with_what_needs_nothing_of_what_comes_before() {
    let mut machine = support::machine(1, 1);
    machine.cpu.lookahead = 60_000;
    let mut sim = Simulation::new(config(&Arc::new(machine), 1), 1);
    let word = sim.place("word", Word32::new(0));
    let costs = crate::world::notes();
    let noted = costs.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        let ahead = |ns| noted.borrow_mut().push(crate::world::took(|| Sim::compute_ahead(ns)) / 1_000);
        Sim::pause(Pause::Relax);
        ahead(100); // a spin hint is waited for
        ahead(100); // it needs the result of the one before
        Sim::compute(50);
        ahead(100); // 50 ns are done
        Sim::compute(50);
        ahead(30);
        word.fetch_add(1, Relaxed);
        ahead(100); // a miss of 80 ns: as far as it can look
        Sim::compute(500);
        ahead(100);
        Sim::compute(500);
        Sim::now();
        ahead(100); // so is the clock
    });
    sim.run().unwrap();
    assert_eq!(costs.take(), [100, 100, 50, 0, 40, 40, 100]);
}

#[test]
fn without_a_lookahead_nothing_begins_early() {
    let mut sim = Simulation::new(config(&support::shared(1, 1), 1), 1);
    sim.spawn(Affinity::Cpu(0), || {
        Sim::compute(500);
        assert_eq!(crate::world::took(|| Sim::compute_ahead(100)), 100_000);
    });
    sim.run().unwrap();
    Sim::compute_ahead(7); // outside of a simulation: nothing
}
