//! Spinning: no write is missed, and each limit ends it.

use crate::support;
use crate::world::{Word32, compute_until, config, notes, token, took};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use turnwise::platform::{IntWord, Lane, Platform, SpinEnd, SpinLimit, Token, Word};
use turnwise_sim::spec::{Machine, OnCpuView};
use turnwise_sim::{Affinity, Config, Perturb, Sim, Simulation};

const VIEWS: [OnCpuView; 3] = [OnCpuView::Exact, OnCpuView::Rseq, OnCpuView::Unknown];

fn with_view(nodes: u32, cores: u32, view: OnCpuView) -> Arc<Machine> {
    let mut machine = support::machine(nodes, cores);
    machine.system.on_cpu = view;
    Arc::new(machine)
}

/// A writer that is always on its CPU, and a spinner that may watch it: whenever the single write comes, it is seen.
fn one_write(view: OnCpuView, backoff: bool, after_ns: u64) {
    let mut sim = Simulation::new(config(&with_view(1, 3, view), 1), 2);
    let word = sim.place("word", Word32::new(0));
    let owner: Rc<Cell<Option<Token>>> = Rc::default();
    let (theirs, writer) = (word.clone(), owner.clone());
    sim.spawn(Affinity::Cpu(0), move || {
        writer.set(Some(token()));
        compute_until(5_000 + after_ns);
        theirs.store(1, Relaxed);
        compute_until(30_000);
    });
    sim.spawn(Affinity::Cpu(1), move || {
        compute_until(5_000);
        let limit = SpinLimit { owner: owner.get(), still_ns: backoff.then_some(u32::MAX), ..SpinLimit::NONE };
        assert_eq!(Sim::spin_until(&*word, |value| value == 1, limit), Ok(1));
        let bound = 5_000 + after_ns + if backoff { 6_000 } else { 300 };
        assert!(Sim::time_ns() < bound, "{view:?}, write after {after_ns} ns: seen at {} ns", Sim::time_ns());
    });
    sim.run().unwrap_or_else(|stuck| panic!("{view:?}, stays away: {backoff}, after {after_ns} ns: {stuck}"));
}

#[test]
fn no_write_is_missed_whenever_it_comes() {
    for view in VIEWS {
        for after in (0..600).step_by(3) {
            one_write(view, false, after);
            one_write(view, true, after);
        }
    }
}

/// Spinners that wait for a word to reach values of their own choice, while others count.
fn counting(machine: &Arc<Machine>, seed: u64, perturb: Perturb) {
    let (spinners, writers, steps) = (6, 2, 40);
    let mut sim = Simulation::new(Config { perturb, ..config(machine, seed) }, spinners + writers);
    let words = sim.place("words", [Word32::new(0), Word32::new(0)]);
    for writer in 0..writers {
        let words = words.clone();
        sim.spawn(Affinity::Any, move || {
            for _ in 0..steps {
                Sim::compute(Sim::chance(2_000));
                words[writer].fetch_add(1, SeqCst);
            }
            words[writer].fetch_or(1 << 16, SeqCst); // the end, for all that still wait
        });
    }
    for spinner in 0..spinners {
        let words = words.clone();
        sim.spawn(Affinity::Any, move || {
            let mut seen = 0;
            while seen < 1 << 16 {
                let want = seen + 1 + Sim::chance(5) as u32;
                let until = Some(Sim::time_ns() + Sim::chance(4_000)).filter(|_| Sim::chance(3) == 0);
                let still_ns = (Sim::chance(4) == 0).then_some(u32::MAX);
                let limit = SpinLimit { until, still_ns, ..SpinLimit::NONE };
                let (word, ready) = (&words[spinner % writers], |value| value >= want);
                let result = Sim::spin_until(word, ready, limit);
                assert!(until.is_some() || result.is_ok_and(ready), "{result:?}");
                seen = word.load(Relaxed);
            }
        });
    }
    sim.run().unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
}

#[test]
fn no_write_is_missed_in_random_programs() {
    for seed in 0..4 {
        for view in VIEWS {
            for (nodes, cores) in [(1, 2), (1, 8), (2, 4)] {
                let machine = with_view(nodes, cores, view);
                counting(&machine, seed, Perturb::None);
                counting(&machine, seed, Perturb::Stalls { per_million: 10_000, max_ns: 20_000 });
            }
        }
    }
}

/// Counts transfers, and when each spinner saw its value: one CPU writes 1 to `steps`, the others wait for `wants`.
fn steps(wants: &'static [u32], steps: u32) -> (u64, Vec<(u32, u64)>) {
    let spinners = wants.len() as u32;
    let mut sim = Simulation::new(config(&support::shared(1, spinners + 1), 1), wants.len() + 1);
    let word = sim.place("word", Word32::new(0));
    let seen = notes();
    let theirs = word.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        theirs.store(0, Relaxed); // the first touch
        for step in 1..=steps {
            compute_until(100_000 * u64::from(step));
            theirs.store(step, Relaxed);
        }
    });
    for (cpu, &want) in (1..).zip(wants) {
        let (word, seen) = (word.clone(), seen.clone());
        sim.spawn(Affinity::Cpu(cpu), move || {
            compute_until(20_000);
            let value = Sim::spin_until(&*word, |value| value >= want, SpinLimit::NONE).unwrap();
            seen.borrow_mut().push((value, Sim::time_ns()));
        });
    }
    let transfers = sim.run().unwrap().counters.transfers;
    (transfers, seen.take())
}

#[test]
fn losers_cost_their_transfers_and_winners_see_it_at_once() {
    // Seven copies, then at each write an invalidation and a copy for each remaining spinner.
    let (transfers, seen) = steps(&[3; 7], 3);
    assert_eq!(transfers, 7 + 3 * (1 + 7));
    assert!(seen.iter().all(|&(value, at)| value == 3 && (300_000..300_400).contains(&at)), "{seen:?}");

    let (transfers, seen) = steps(&[1, 1, 1, 2, 2, 3, 3], 3);
    assert_eq!(transfers, 7 + (1 + 7) + (1 + 4) + (1 + 2));
    for (value, at) in seen {
        assert!((u64::from(value) * 100_000..u64::from(value) * 100_000 + 400).contains(&at), "{value} at {at} ns");
    }
}

#[test]
fn a_deadline_ends_a_spin_at_its_time() {
    for view in VIEWS {
        for backoff in [false, true] {
            let mut sim = Simulation::new(config(&with_view(1, 2, view), 1), 2);
            let word = sim.place("word", Word32::new(0));
            let owner: Rc<Cell<Option<Token>>> = Rc::default();
            let theirs = owner.clone();
            sim.spawn(Affinity::Cpu(0), move || {
                theirs.set(Some(token()));
                compute_until(100_000);
            });
            sim.spawn(Affinity::Cpu(1), move || {
                compute_until(2_000);
                for (until, watched) in [(20_000, None), (40_000, owner.get())] {
                    let limit = SpinLimit {
                        until: Some(until),
                        owner: watched,
                        still_ns: backoff.then_some(u32::MAX),
                        ..SpinLimit::NONE
                    };
                    assert_eq!(Sim::spin_until(&*word, |value| value == 1, limit), Err(SpinEnd::Deadline));
                    let late = Sim::time_ns().checked_sub(until).expect("not before its time");
                    // A spinner that backs off checks the clock after its rest.
                    assert!(late <= if backoff { 5_000 } else { 250 }, "{view:?}: {late} ns late");
                }
            });
            sim.run().unwrap();
        }
    }
}

#[test]
fn a_deadline_that_was_not_needed_disturbs_nothing_later() {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
    let word = sim.place("word", Word32::new(0));
    let theirs = word.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        let limit = SpinLimit { until: Some(50_000), ..SpinLimit::NONE };
        assert_eq!(Sim::spin_until(&*theirs, |value| value == 1, limit), Ok(1));
        assert_eq!(took(|| Sim::compute(100_000)), 100_000_000, "the deadline is in the middle");
    });
    sim.spawn(Affinity::Cpu(1), move || {
        compute_until(20_000);
        word.store(1, Relaxed);
        (0..1_000).for_each(|_| Sim::compute(100));
    });
    sim.run().unwrap();
}

/// Returns how a spin ends, and when, if the owner sleeps from 20 to 60 us, and at 90 us writes the word.
fn owner_sleeps(view: OnCpuView) -> (Result<u32, SpinEnd>, u64) {
    let mut sim = Simulation::new(config(&with_view(1, 2, view), 1), 2);
    let word = sim.place("word", Word32::new(0));
    let owner: Rc<Cell<Option<Token>>> = Rc::default();
    let end = notes();
    let (theirs, mine, ends) = (owner.clone(), word.clone(), end.clone());
    sim.spawn(Affinity::Cpu(0), move || {
        theirs.set(Some(token()));
        compute_until(20_000);
        Sim::sleep(40_000);
        compute_until(90_000);
        mine.store(1, Relaxed);
    });
    sim.spawn(Affinity::Cpu(1), move || {
        compute_until(5_000);
        let limit = SpinLimit { owner: owner.get(), ..SpinLimit::NONE };
        let result = Sim::spin_until(&*word, |value| value == 1, limit);
        ends.borrow_mut().push((result, Sim::time_ns()));
    });
    sim.run().unwrap();
    end.take()[0]
}

#[test]
fn who_can_see_that_the_owner_sleeps_stops_spinning() {
    let (result, at) = owner_sleeps(OnCpuView::Exact);
    assert_eq!(result, Err(SpinEnd::NotRunning));
    assert!((20_000..20_500).contains(&at), "{at} ns");
    // No thread spins on the owner's CPU: the areas show nothing.
    for view in [OnCpuView::Rseq, OnCpuView::Unknown] {
        let (result, at) = owner_sleeps(view);
        assert_eq!(result, Ok(1));
        assert!((90_000..90_500).contains(&at), "{at} ns");
    }
}

#[test]
fn a_spinner_on_the_owners_cpu_knows_that_the_owner_is_off_it() {
    for view in [OnCpuView::Exact, OnCpuView::Rseq] {
        let mut sim = Simulation::new(config(&with_view(1, 1, view), 1), 2);
        let word = sim.place("word", Word32::new(0));
        let owner: Rc<Cell<Option<Token>>> = Rc::default();
        let (theirs, mine) = (owner.clone(), word.clone());
        sim.spawn(Affinity::Any, move || {
            theirs.set(Some(token()));
            assert_eq!(Sim::park(&mine, 0, Lane::Waiters, None), turnwise::platform::Parked::Woken);
        });
        sim.spawn(Affinity::Any, move || {
            Sim::sleep(50_000);
            let begin = Sim::time_ns();
            let limit = SpinLimit { owner: owner.get(), ..SpinLimit::NONE };
            assert_eq!(Sim::spin_until(&*word, |value| value == 1, limit), Err(SpinEnd::NotRunning));
            assert!(Sim::time_ns() - begin < 1_000, "{view:?}: {} ns", Sim::time_ns() - begin);
            Sim::wake(&raw const *word, Lane::Waiters, 1);
        });
        sim.run().unwrap();
    }
}

#[test]
fn a_preempted_spinner_sees_what_was_written_meanwhile() {
    let machine = support::shared(1, 2);
    let mut sim = Simulation::new(config(&machine, 1), 3);
    let word = sim.place("word", Word32::new(0));
    let theirs = word.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        Sim::spin_until(&*theirs, |value| value == 1, SpinLimit::NONE).unwrap();
        // Its slice of 3 ms is over; the other has the CPU up to 6 ms; it was written in between.
        assert!((6_000_000..6_010_000).contains(&Sim::time_ns()), "{} ns", Sim::time_ns());
    });
    sim.spawn(Affinity::Cpu(0), || Sim::compute(10_000_000));
    sim.spawn(Affinity::Cpu(1), move || {
        compute_until(4_000_000);
        word.store(1, Relaxed);
    });
    let outcome = sim.run().unwrap();
    assert!(outcome.counters.involuntary >= 2);
}
