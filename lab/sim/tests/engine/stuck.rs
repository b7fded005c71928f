//! Runs without progress are distinguished from runs with progress, and report which thread waits for what.

use crate::support;
use crate::world::{Word32, config, word};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use turnwise::Mutex;
use turnwise::platform::{Lane, Pause, Platform, SpinLimit, Word};
use turnwise_sim::spec::{Machine, OnCpuView};
use turnwise_sim::{Affinity, Config, Outcome, Perturb, Placed, Sim, Simulation, Stuck, StuckKind};

type Lock = Placed<Mutex<u64, Sim>>;

/// Runs `section` with the lock, and reports it to the simulator.
fn locked(lock: &Lock, section: impl FnOnce()) {
    Sim::asks(lock.address());
    let guard = lock.lock();
    Sim::acquired(lock.address(), true);
    section();
    Sim::released(lock.address());
    drop(guard);
}

fn has(stuck: &Stuck, texts: &[&str]) {
    for text in texts {
        assert!(stuck.who.contains(text), "{text:?} is missing in:\n{stuck}");
    }
}

#[test]
fn two_locks_in_two_orders_are_a_deadlock_with_names() {
    for view in [OnCpuView::Exact, OnCpuView::Rseq, OnCpuView::Unknown] {
        let mut machine = support::machine(1, 2);
        machine.system.on_cpu = view;
        let mut sim = Simulation::new(config(&Arc::new(machine), 5), 2);
        let locks: [Lock; 2] = [sim.place("inode", Mutex::new_in(0)), sim.place("dentry", Mutex::new_in(0))];
        for thread in 0..2 {
            let [first, second] = [locks[thread].clone(), locks[1 - thread].clone()];
            sim.spawn(Affinity::Any, move || {
                locked(&first, || {
                    Sim::compute(10_000);
                    locked(&second, || ());
                });
            });
        }
        let stuck = sim.run().unwrap_err();
        assert_eq!((stuck.kind, stuck.seed), (StuckKind::Deadlock, 5), "{view:?}");
        has(&stuck, &["inode is held by thread 0", "dentry is held by thread 1"]);
        has(&stuck, &["thread 0 sleeps on dentry", "asks for dentry", "thread 1 sleeps on inode", "asks for inode"]);
        assert!(stuck.to_string().starts_with("deadlock at "), "{stuck}");
    }
}

#[test]
fn a_lock_that_is_never_released_is_a_deadlock() {
    let mut sim = Simulation::new(config(&support::shared(2, 2), 1), 4);
    let lock: Lock = sim.place("lost", Mutex::new_in(0));
    for thread in 0..4 {
        let lock = lock.clone();
        sim.spawn(Affinity::Any, move || {
            Sim::compute(1_000 * thread);
            if thread == 0 {
                Sim::asks(lock.address());
                std::mem::forget(lock.lock());
                Sim::acquired(lock.address(), true);
            } else {
                locked(&lock, || ());
            }
        });
    }
    let stuck = sim.run().unwrap_err();
    assert_eq!(stuck.kind, StuckKind::Deadlock);
    has(&stuck, &["lost is held by thread 0", "thread 1 ", "thread 2 ", "thread 3 ", "asks for lost since"]);
    assert!(!stuck.who.contains("thread 0 "), "it has ended:\n{stuck}");
}

#[test]
fn a_spinner_whom_nobody_will_tell_is_a_deadlock() {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 1);
    let word = sim.place("flag", word());
    sim.spawn(Affinity::Cpu(1), move || {
        Sim::spin_until(&*word, |value| value == 1, SpinLimit::NONE).unwrap();
    });
    let stuck = sim.run().unwrap_err();
    assert_eq!(stuck.kind, StuckKind::Deadlock);
    has(&stuck, &["thread 0 spins on CPU 1 at ", file!()]);
}

#[test]
fn a_thread_that_panics_panics_the_run() {
    let run = || {
        let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
        sim.spawn(Affinity::Any, || Sim::compute(1_000_000));
        sim.spawn(Affinity::Any, || panic!("on purpose"));
        let _ = sim.run();
    };
    let panic = std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    // And the next run is not disturbed.
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 1);
    sim.spawn(Affinity::Any, || Sim::compute(1_000));
    sim.run().unwrap();
}

/// Two threads that each set a flag of their own, and take it back while the other's is set.
fn after_you(config: Config) -> Result<Outcome, Stuck> {
    let mut sim = Simulation::new(config, 2);
    let flags = [sim.place("mine", word()), sim.place("yours", word())];
    for thread in 0..2 {
        let (mine, other) = (flags[thread].clone(), flags[1 - thread].clone());
        sim.spawn(Affinity::Cpu(thread as u32), move || {
            for _ in 0..10 {
                mine.store(1, SeqCst);
                while other.load(SeqCst) == 1 {
                    mine.store(0, SeqCst);
                    Sim::compute(100);
                    mine.store(1, SeqCst);
                    Sim::compute(100);
                }
                Sim::progress();
                Sim::compute(1_000_000);
            }
        });
    }
    sim.run()
}

#[test]
fn two_threads_for_ever_trying_and_undoing_are_a_livelock() {
    // Each waits for the other to have given up at the moment of its poll; no thread clears a flag at the end.
    let stuck = after_you(Config { silence_ns: 20_000_000, ..config(&support::shared(1, 2), 1) }).unwrap_err();
    assert_eq!(stuck.kind, StuckKind::Livelock);
    assert!(stuck.at_ns > 20_000_000, "{stuck}");
    has(&stuck, &["on CPU 0", "on CPU 1"]);
}

#[test]
fn one_thread_that_does_nothing_of_use_is_a_livelock() {
    for cpus in [1, 4] {
        let quick = Config { silence_ns: 1_000_000, ..config(&support::shared(1, cpus), 1) };
        let mut sim = Simulation::new(quick, 2);
        let flag = sim.place("flag", word());
        if cpus == 4 {
            sim.spawn(Affinity::Any, || Sim::sleep(60_000_000_000)); // the next event, far away
        }
        sim.spawn(Affinity::Any, move || {
            while flag.load(Relaxed) == 0 {
                Sim::pause(Pause::Relax);
            }
        });
        let stuck = sim.run().unwrap_err();
        assert_eq!(stuck.kind, StuckKind::Livelock);
        assert!((1_000_000..3_000_000).contains(&stuck.at_ns), "{stuck}");
    }
}

#[test]
fn progress_keeps_the_watchdog_quiet() {
    let quick = Config { silence_ns: 1_000_000, ..config(&support::shared(1, 2), 1) };
    let mut sim = Simulation::new(quick, 1);
    sim.spawn(Affinity::Any, || {
        for _ in 0..100 {
            (0..500).for_each(|_| Sim::compute(1_000));
            Sim::progress();
        }
    });
    sim.run().unwrap();
}

#[test]
fn who_waits_too_long_while_others_get_on_starves() {
    let patient = |starvation_ns| {
        let config = Config { starvation_ns, ..config(&support::shared(1, 3), 1) };
        let mut sim = Simulation::new(config, 3);
        let word = sim.place("bolted", word());
        // Two have it alternately, one requests it and is never let in before they are done.
        let busy = Rc::new(Cell::new(2));
        for _ in 0..2 {
            let busy = busy.clone();
            sim.spawn(Affinity::Any, move || {
                (0..2_000).for_each(|_| (Sim::compute(1_000), Sim::progress()).1);
                busy.set(busy.get() - 1);
            });
        }
        sim.spawn(Affinity::Any, move || {
            Sim::asks(word.address());
            while busy.get() > 0 {
                Sim::compute(500);
            }
            Sim::acquired(word.address(), true);
        });
        sim.run()
    };
    patient(None).unwrap();
    patient(Some(10_000_000)).unwrap();
    let stuck = patient(Some(500_000)).unwrap_err();
    assert_eq!(stuck.kind, StuckKind::Starvation);
    has(&stuck, &["thread 2 runs on CPU 2", "asks for bolted since"]);
}

/// A lock that forgets a sleeper: it checks for sleepers before it releases, not after.
struct Forgetful {
    locked: Word32,
    sleepers: Word32,
}

impl Forgetful {
    fn lock(&self) {
        while self.locked.swap(1, SeqCst) == 1 {
            self.sleepers.store(1, SeqCst);
            Sim::park(&self.locked, 1, Lane::Waiters, None);
        }
    }

    fn unlock(&self) {
        let sleepers = self.sleepers.load(SeqCst);
        Sim::compute(300);
        self.sleepers.store(0, SeqCst);
        self.locked.store(0, SeqCst);
        if sleepers == 1 {
            Sim::wake(&self.locked, Lane::Waiters, 1);
        }
    }
}

fn forgetful(machine: &Arc<Machine>, seed: u64, perturb: Perturb, rounds: u32) -> Result<Outcome, Stuck> {
    let mut sim = Simulation::new(Config { perturb, ..config(machine, seed) }, 2);
    let lock = sim.place("forgetful", Forgetful { locked: word(), sleepers: word() });
    for _ in 0..2 {
        let lock = lock.clone();
        sim.spawn(Affinity::Any, move || {
            for _ in 0..rounds {
                Sim::asks(lock.address());
                lock.lock();
                Sim::acquired(lock.address(), true);
                Sim::compute(50);
                Sim::released(lock.address());
                lock.unlock();
                Sim::compute(Sim::chance(20_000));
            }
        });
    }
    sim.run()
}

#[test]
fn a_lock_that_forgets_a_sleeper_is_a_deadlock() {
    let found = (0..40).find_map(|seed| forgetful(&support::shared(1, 2), seed, Perturb::None, 200).err());
    let stuck = found.expect("in one of forty schedules");
    assert_eq!(stuck.kind, StuckKind::Deadlock);
    has(&stuck, &["sleeps on forgetful at ", "asks for forgetful"]);
    assert!(!stuck.who.contains("is held"), "nobody has it:\n{stuck}");
}

/// Two threads that each hand the other a message, with a flag set before the message is there: too early, if the
/// sender then stalls. Returns how many read too early.
fn too_early(config: Config) -> u32 {
    let mut sim = Simulation::new(config, 2);
    let flag = sim.place("flag", word());
    let message = sim.place("message", word());
    let wrong = Rc::new(Cell::new(0));
    let (theirs, sent, seen) = (flag.clone(), message.clone(), wrong.clone());
    sim.spawn(Affinity::Cpu(0), move || {
        for round in 1..=50 {
            flag.store(round, SeqCst);
            message.store(round, SeqCst);
            Sim::compute(10_000);
        }
    });
    sim.spawn(Affinity::Cpu(1), move || {
        for round in 1..=50 {
            Sim::spin_until(&*theirs, |value| value >= round, SpinLimit::NONE).unwrap();
            Sim::compute(2_000); // usually long enough
            if sent.load(SeqCst) < round {
                seen.set(seen.get() + 1);
            }
        }
    });
    sim.run().unwrap();
    wrong.get()
}

#[test]
fn unlikely_schedules_find_what_the_plain_one_does_not() {
    let machine = support::shared(1, 2);
    let plain = |seed| too_early(config(&machine, seed));
    assert_eq!((0..50).map(plain).sum::<u32>(), 0, "the plain schedule is not meant to show it");
    for perturb in
        [Perturb::Stalls { per_million: 5_000, max_ns: 50_000 }, Perturb::Pct { per_million: 5_000, max_ns: 50_000 }]
    {
        let hunt = |seed| too_early(Config { perturb, ..config(&machine, seed) });
        let found = (0..50).find(|&seed| hunt(seed) > 0).unwrap_or_else(|| panic!("{perturb:?}: not found"));
        assert_eq!(hunt(found), hunt(found), "its seed shows it again");
    }
}

#[test]
fn the_seed_of_a_report_shows_it_again() {
    let machine = support::shared(1, 2);
    let perturb = Perturb::Pct { per_million: 10_000, max_ns: 50_000 };
    let stuck = (0..100).find_map(|seed| forgetful(&machine, seed, perturb, 100).err()).expect("found");
    let again = forgetful(&machine, stuck.seed, perturb, 100).unwrap_err();
    assert_eq!(stuck.to_string(), again.to_string());
}
