//! What accesses cost, and that the machine is coherent.

use crate::support;
use crate::world::{Word32, compute_until, config, notes, row, took};
use Access::{Load, Rmw, Store};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use turnwise::platform::{IntWord, Word};
use turnwise_sim::spec::{Machine, NS, Protocol};
use turnwise_sim::{Affinity, Counters, Perturb, Placed, Sim, Simulation};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Access {
    Load,
    Store,
    Rmw,
}

fn access(word: &Word32, access: Access) {
    match access {
        Load => _ = word.load(Relaxed),
        Store => word.store(1, Relaxed),
        Rmw => _ = word.fetch_add(1, Relaxed),
    }
}

/// Returns what each of these accesses of one line costs, in nanoseconds, with long pauses in between.
fn costs(machine: &Arc<Machine>, steps: &'static [(u32, Access)]) -> (Vec<u64>, Counters) {
    let mut sim = Simulation::new(config(machine, 1), steps.len());
    let word = sim.place("word", Word32::new(0));
    let costs = notes();
    for (number, &(cpu, what)) in (1..).zip(steps) {
        let (word, costs) = (word.clone(), costs.clone());
        sim.spawn(Affinity::Cpu(cpu), move || {
            Sim::sleep(number * 1_000_000);
            compute_until(number * 1_000_000 + 500_000);
            let cost = took(|| access(&word, what));
            assert_eq!(cost % NS, 0, "the tables are in whole nanoseconds");
            costs.borrow_mut().push(cost / NS);
        });
    }
    let outcome = sim.run().unwrap();
    (costs.take(), outcome.counters)
}

fn check(machine: &Arc<Machine>, steps: &'static [(u32, Access)], expected: &[u64]) {
    assert_eq!(costs(machine, steps).0, expected, "{:?}: {steps:?}", machine.coherence.protocol);
}

#[test]
fn hits_cost_what_instructions_cost() {
    check(&Arc::new(row(Protocol::Mesif)), &[(0, Store), (0, Load), (0, Store), (0, Rmw)], &[80, 2, 1, 9]);
    // A CPU that reads memory that no other has may write it without asking.
    check(&Arc::new(row(Protocol::Mesi)), &[(0, Load), (0, Store)], &[80, 1]);
}

#[test]
fn a_line_that_another_has_modified_costs_its_distance() {
    let machine = Arc::new(row(Protocol::Mesif));
    // CPUs 1, 2, 4, 8, 16, 24: sibling, cluster, node, and nodes 1, 2, 3 hops away.
    check(&machine, &[(0, Store), (1, Load), (1, Load)], &[80, 10, 2]);
    check(&machine, &[(0, Store), (2, Load)], &[80, 30]);
    check(&machine, &[(0, Store), (4, Load)], &[80, 50]);
    check(&machine, &[(0, Store), (8, Load)], &[80, 130]);
    check(&machine, &[(0, Store), (16, Load)], &[80, 210]);
    check(&machine, &[(0, Store), (24, Load)], &[80, 290]);
    check(&machine, &[(0, Store), (1, Store), (2, Store), (4, Store)], &[80, 12, 32, 52]);
    check(&machine, &[(0, Store), (8, Store), (0, Store), (16, Store)], &[80, 150, 150, 230]);
    check(&machine, &[(0, Rmw), (1, Rmw), (2, Rmw), (4, Rmw), (8, Rmw)], &[80, 16, 40, 60, 160]);
    check(&machine, &[(0, Rmw), (24, Rmw), (0, Rmw)], &[80, 320, 320]);
}

#[test]
fn the_way_leads_by_the_home_unless_it_stays_in_the_node() {
    let machine = Arc::new(row(Protocol::Mesif));
    // At home on node 3, modified on node 0, wanted on node 1: two hops to the home.
    check(&machine, &[(24, Store), (0, Store), (8, Load)], &[80, 310, 210]);
    check(&machine, &[(24, Store), (0, Store), (4, Load)], &[80, 310, 50]);
    // At home on node 1, on the way.
    check(&machine, &[(8, Store), (0, Store), (16, Load)], &[80, 150, 210]);
}

#[test]
fn a_shared_line_is_read_from_the_nearest_that_the_protocol_lets_answer() {
    for (protocol, far) in [(Protocol::Mesi, 100), (Protocol::Mesif, 180), (Protocol::Moesi, 260)] {
        let machine = Arc::new(row(protocol));
        // Home: node 2. Writer: node 0. First reader: node 1. Node 3 is 1, 3 and 2 hops from these.
        check(&machine, &[(16, Store), (0, Store), (8, Load), (24, Load)], &[80, 230, 130, far]);
        // Within a node and within a cluster a near cache answers.
        check(&machine, &[(0, Store), (8, Load), (12, Load), (13, Load)], &[80, 130, 26, 20]);
    }
}

#[test]
fn where_lines_migrate_a_reader_writes_at_once_and_the_writer_has_to_fetch_again() {
    let steps: &[(u32, Access)] = &[(0, Store), (4, Load), (4, Rmw), (0, Load), (4, Load), (4, Store), (0, Rmw)];
    let mut machine = row(Protocol::Moesi);
    check(&Arc::new(machine.clone()), steps, &[80, 50, 62, 50, 2, 54, 60]);
    machine.coherence.migratory = true;
    // CPU 0 has not written it when CPU 4 reads it the second time: from then on they share it.
    check(&Arc::new(machine), steps, &[80, 50, 9, 50, 50, 54, 60]);
}

#[test]
fn an_invalidation_costs_the_farthest_sharer() {
    let machine = Arc::new(row(Protocol::Mesif));
    check(&machine, &[(0, Store), (4, Load), (0, Store)], &[80, 50, 54]);
    check(&machine, &[(0, Store), (8, Load), (0, Store)], &[80, 130, 152]);
    check(&machine, &[(0, Store), (8, Load), (24, Load), (4, Load), (0, Store)], &[80, 130, 260, 26, 312]);
    check(&machine, &[(0, Store), (8, Load), (16, Load), (0, Rmw)], &[80, 130, 180, 242]);
    // The home, which knows the sharers, is farther than any copy.
    check(&machine, &[(24, Store), (0, Store), (8, Load), (0, Store)], &[80, 310, 210, 312]);
    check(&machine, &[(24, Store), (0, Store), (8, Load), (0, Rmw)], &[80, 310, 210, 322]);
    // All copies are in the CPU's own node: they settle it there.
    check(&machine, &[(24, Store), (0, Store), (4, Load), (0, Rmw)], &[80, 310, 50, 62]);
}

#[test]
fn transfers_are_counted_where_a_line_comes_from_a_cache() {
    let mut machine = row(Protocol::Mesif);
    machine.system.migration = false; // CPUs without threads would poll the queues of others
    let machine = Arc::new(machine);
    let (_, counted) = costs(&machine, &[(0, Store), (1, Load), (4, Load), (8, Load), (8, Load), (8, Store)]);
    assert_eq!((counted.transfers, counted.remote_transfers), (4, 2));
}

/// Makes random accesses of random words by every CPU, checked against what a memory without caches would hold.
fn random_accesses(machine: &Arc<Machine>, seed: u64, perturb: Perturb) {
    const WORDS: usize = 5;
    let cpus = machine.topology.cpus();
    let mut sim = Simulation::new(turnwise_sim::Config { perturb, ..config(machine, seed) }, cpus as usize);
    // The first two share a line.
    let pair = sim.place("pair", [Word32::new(0), Word32::new(0)]);
    let words: Vec<Placed<Word32>> = (2..WORDS).map(|_| sim.place("word", Word32::new(0))).collect();
    let truth = notes();
    truth.borrow_mut().resize(WORDS, 0u32);
    for cpu in 0..cpus {
        let (pair, words, truth) = (pair.clone(), words.clone(), truth.clone());
        sim.spawn(Affinity::Cpu(cpu), move || {
            for _ in 0..60 {
                let place = Sim::chance(WORDS as u64) as usize;
                let word: &Word32 = if place < 2 { &pair[place] } else { &words[place - 2] };
                random_access(word, |change| change(&mut truth.borrow_mut()[place]));
                if Sim::chance(3) == 0 {
                    Sim::compute(Sim::chance(400));
                }
            }
        });
    }
    sim.run().unwrap(); // which checks the directory's invariant
}

fn random_access(word: &Word32, truth: impl Fn(&mut dyn FnMut(&mut u32))) {
    let value = Sim::chance(4) as u32;
    let what = Sim::chance(6);
    let seen = match what {
        0 | 1 => Ok(word.load(Relaxed)),
        2 => return (word.store(value, SeqCst), truth(&mut |there| *there = value)).1,
        3 => Ok(word.swap(value, Relaxed)),
        4 => Ok(word.fetch_add(value, Relaxed)),
        _ => word.compare_exchange(value, value + 1, Relaxed, Relaxed),
    };
    truth(&mut |there| {
        assert_eq!(seen.unwrap_or_else(|old| old), *there, "not the last value written");
        match what {
            3 => *there = value,
            4 => *there = there.wrapping_add(value),
            5 if seen.is_ok() => *there = value + 1,
            _ => {}
        }
    });
}

#[test]
fn an_access_sees_the_last_write() {
    for protocol in [Protocol::Mesi, Protocol::Mesif, Protocol::Moesi] {
        let row = Arc::new(row(protocol));
        for (seed, machine) in (0..).zip([support::shared(1, 3), support::shared(3, 2), row]) {
            let mut machine = (*machine).clone();
            machine.coherence.protocol = protocol;
            let machine = Arc::new(machine);
            for seed in seed..seed + 5 {
                random_accesses(&machine, seed, Perturb::None);
                random_accesses(&machine, seed, Perturb::Pct { per_million: 10_000, max_ns: 5_000 });
            }
        }
    }
}

#[test]
fn a_machine_of_many_nodes_and_words_of_sharers_stays_coherent() {
    let machine = support::shared(8, 20);
    for seed in 0..2 {
        random_accesses(&machine, seed, Perturb::None);
    }
}

/// Returns when the CPUs' accesses of a line that CPU 0 had begin and end, if all ask at about once, in order.
fn at_once(machine: &Arc<Machine>, gap_ns: u64, warm: Access, what: Access) -> Vec<(u64, u64)> {
    let cpus = machine.topology.cpus();
    let mut sim = Simulation::new(config(machine, 1), cpus as usize);
    let word = sim.place("word", Word32::new(0));
    let times = notes();
    for cpu in 0..cpus {
        let (word, times) = (word.clone(), times.clone());
        sim.spawn(Affinity::Cpu(cpu), move || {
            if cpu <= 1 {
                compute_until(10_000 * (u64::from(cpu) + 1));
                access(&word, if cpu == 0 { Store } else { warm });
            }
            compute_until(100_000 + gap_ns * u64::from(cpu));
            let begin = Sim::time_ps();
            access(&word, what);
            times.borrow_mut().push((begin, Sim::time_ps()));
        });
    }
    sim.run().unwrap();
    let mut times = times.take();
    times.sort_unstable();
    times
}

#[test]
fn exclusive_transfers_stand_in_line() {
    let machine = support::shared(1, 12);
    for what in [Store, Rmw] {
        let latency = if what == Store { 50 * NS } else { 60 * NS };
        let mut times = at_once(&machine, 3, Store, what);
        times.retain(|time| time.1 - time.0 >= latency); // one has it
        assert!(times.is_sorted_by_key(|time| time.1), "not in the order of arrival: {times:?}");
        assert_eq!(times[0].1 - times[0].0, latency, "alone: {times:?}");
        for pair in times.windows(2) {
            assert_eq!(pair[1].1 - pair[0].1, latency, "{what:?}: {times:?}");
        }
    }
}

#[test]
fn reads_of_a_shared_line_overlap_but_for_their_occupancy() {
    let machine = support::shared(1, 12);
    let times = at_once(&machine, 1, Load, Load);
    let (first, last) = (times[2], times[11]);
    assert_eq!(first.1 - first.0, 20 * NS, "alone: {times:?}");
    // Ten readers: nine occupancies of 15 ns, not nine latencies; they ask a nanosecond apart.
    assert_eq!(last.1 - first.1, 9 * 15 * NS, "{times:?}");
}

#[test]
fn a_word_that_is_dropped_takes_its_line_along() {
    let machine = Arc::new(row(Protocol::Mesif));
    let mut sim = Simulation::new(config(&machine, 1), 1);
    let costs = notes();
    let seen = costs.clone();
    sim.spawn(Affinity::Cpu(0), move || {
        // One after the other at one address of the host's heap.
        let mut room = Box::new(std::mem::MaybeUninit::<Word32>::uninit());
        for _ in 0..2 {
            let word = room.write(Word32::new(0));
            seen.borrow_mut().extend([took(|| access(word, Store)), took(|| access(word, Store))].map(|ps| ps / NS));
            // SAFETY: written above, and not used after this.
            unsafe { room.assume_init_drop() };
        }
    });
    sim.run().unwrap();
    assert_eq!(costs.take(), [80, 1, 80, 1], "a new word's first access comes from memory");
}
