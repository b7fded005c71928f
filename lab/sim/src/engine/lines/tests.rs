//! The directory alone: random requests, and the moments that a whole run can hardly be steered to.

use super::{Lines, Miss, NOBODY, Op, Reader, Served};
use crate::spec::{Busy, ByClass, Class, Machine, NS, Protocol, Ps, Topology, load};
use std::sync::Arc;

const OPS: [Op; 3] = [Op::Load, Op::Store, Op::Rmw];

fn lines_of(machine: &Arc<Machine>, seed: u64) -> Lines {
    let mut lines = Lines::new(Arc::clone(machine), fastrand::Rng::with_seed(seed));
    lines.create(1, 0);
    lines
}

/// Serves a request that nobody turns away; when it is done.
fn served(lines: &mut Lines, cpu: u32, op: Op, now: Ps, travel: Ps) -> Ps {
    lines.serve(1, cpu, op, now, travel).map(|served: Served| served.done).expect("the home keeps a queue")
}

/// Reads that arrive at once, in this order.
fn readers(all: &[(u32, bool)], arrives: Ps) -> Vec<Reader> {
    (0..).zip(all).map(|(place, &(cpu, ready))| Reader { cpu, ready, arrives: arrives + place }).collect()
}

/// Two nodes of three CPUs, one hop apart.
fn machine(protocol: Protocol) -> Arc<Machine> {
    let mut machine = load("westmere-ex-80").expect("it is built in");
    machine.topology = Topology {
        sockets: 2,
        nodes: 2,
        clusters_per_node: 1,
        cores_per_cluster: 3,
        threads_per_core: 1,
        hops: vec![0, 1, 1, 0],
    };
    let costs = &mut machine.coherence;
    let table = |ns: [Ps; 4]| ByClass(ns.iter().map(|ns| ns * NS).collect());
    costs.protocol = protocol;
    (costs.load_modified, costs.load_shared) = (table([10, 50, 50, 130]), table([4, 20, 20, 100]));
    (costs.store_modified, costs.store_shared) = (table([10, 50, 50, 150]), table([10, 54, 54, 154]));
    (costs.rmw_modified, costs.rmw_shared) = (table([10, 60, 60, 160]), table([10, 64, 64, 164]));
    costs.spread_permille = 0;
    (costs.memory, costs.read_occupancy) = (table([80, 80, 80, 160]), 15 * NS);
    Arc::new(machine)
}

/// Whether the entry, and what it says of each CPU, is one writer or many readers.
fn check(lines: &Lines, cpus: u32) {
    lines.check().unwrap();
    let entry = &lines.entries[1];
    let sharers = (0..cpus).filter(|&cpu| lines.shares(1, cpu)).count();
    assert!(entry.owner == NOBODY || sharers == 0, "{} owns what {sharers} share", entry.owner);
    for cpu in 0..cpus {
        let writes = lines.hit(1, cpu, Op::Store, Ps::MAX).is_some();
        assert_eq!(writes, entry.owner == cpu);
        assert_eq!(lines.hit(1, cpu, Op::Rmw, Ps::MAX).is_some(), writes);
        assert_eq!(lines.hit(1, cpu, Op::Load, Ps::MAX).is_some(), writes || lines.shares(1, cpu));
    }
}

#[test]
fn one_writer_or_many_readers_after_every_request() {
    for (seed, protocol) in (0..).zip([Protocol::Mesi, Protocol::Mesif, Protocol::Moesi]) {
        let machine = machine(protocol);
        let cpus = machine.topology.cpus();
        let (mut lines, mut chance, mut now) = (lines_of(&machine, seed), fastrand::Rng::with_seed(seed), 0);
        for _ in 0..5_000 {
            now += chance.u64(0..300) * NS;
            let (cpu, op) = (chance.u32(0..cpus), OPS[chance.usize(0..3)]);
            if chance.u8(0..10) == 0 {
                let watchers: Vec<u32> = (0..cpus).filter(|_| chance.bool()).collect();
                lines.entry(1).written = now;
                let mut all: Vec<Reader> = lines.readers(1, &watchers).collect();
                lines.refill(1, &mut all, now + 100 * NS, |_, _, _| ());
                watchers.iter().for_each(|&watcher| assert!(lines.hit(1, watcher, Op::Load, now).is_some()));
            } else {
                let tenure = lines.hit(1, cpu, op, now).is_some();
                served(&mut lines, cpu, op, now, 0);
                assert!(tenure || lines.hit(1, cpu, op, Ps::MAX).is_some(), "whoever was served last has it");
            }
            check(&lines, cpus);
        }
    }
}

#[test]
fn requests_are_served_in_the_order_of_their_arrival() {
    for seed in 0..50 {
        let machine = machine(Protocol::Mesif);
        let (mut lines, mut chance, mut now) = (lines_of(&machine, seed), fastrand::Rng::with_seed(seed), 0);
        let mut exclusive_until = 0;
        for _ in 0..200 {
            now += chance.u64(0..100) * NS;
            let (cpu, op) = (chance.u32(0..6), OPS[chance.usize(0..3)]);
            if lines.hit(1, cpu, op, now).is_some() {
                continue;
            }
            let Miss { latency, travel, .. } = lines.miss(1, cpu, op);
            let shared_read = op == Op::Load && lines.entries[1].nodes != 0;
            let busy = lines.entries[1].busy_until;
            let done = served(&mut lines, cpu, op, now, travel);
            // It waits for those before, with its own way to the home behind it.
            assert_eq!(done, busy.max(now) + latency - travel);
            if shared_read {
                // It keeps the next waiting for a moment only.
                assert_eq!((travel, lines.entries[1].busy_until), (latency / 2, busy.max(now) + 15 * NS));
            } else {
                // The transfer begins after the one before has ended.
                assert!(done >= exclusive_until, "{op:?}: {done} before {exclusive_until}");
                assert_eq!(lines.entries[1].busy_until, done);
                exclusive_until = done;
            }
        }
    }
}

#[test]
fn memory_is_as_far_as_its_node() {
    let machine = machine(Protocol::Mesif);
    for (home, cost) in [(0, 80), (1, 160)] {
        let mut lines = lines_of(&machine, 1);
        lines.create(2, home);
        for op in OPS {
            let (latency, travel) = (cost * NS, cost * NS / 2);
            assert_eq!(lines.miss(2, 0, op), Miss { latency, travel, from: None }, "{op:?} of memory on node {home}");
        }
    }
}

#[test]
fn an_owner_keeps_its_line_until_the_homes_call_reaches_it() {
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    let first = served(&mut lines, 0, Op::Rmw, 0, 0);
    // 60 ns are three legs. The request has one behind it as it waits.
    let second = served(&mut lines, 1, Op::Rmw, NS, 20 * NS);
    assert_eq!((first, second), (80 * NS, 120 * NS));
    for op in OPS {
        assert!(lines.hit(1, 0, op, 100 * NS - 1).is_some() && lines.hit(1, 0, op, 100 * NS).is_none(), "{op:?}");
    }
    assert!(lines.hit(1, 2, Op::Load, first).is_none(), "who did not have it keeps nothing");
    // Nobody stands in line: it has the line until further notice.
    assert!(lines.hit(1, 1, Op::Rmw, Ps::MAX).is_some());
}

#[test]
fn a_home_that_turns_requests_away_has_no_queue() {
    let mut machine = (*machine(Protocol::Mesi)).clone();
    machine.coherence.busy = Busy::Nack;
    let mut lines = lines_of(&Arc::new(machine), 1);
    served(&mut lines, 0, Op::Rmw, 0, 0);
    // In transfer until 80 ns: another comes again after a round trip, and stands in nobody's way.
    assert_eq!(lines.serve(1, 1, Op::Rmw, NS, 20 * NS).unwrap_err(), 41 * NS);
    assert_eq!(lines.serve(1, 1, Op::Rmw, 41 * NS, 20 * NS).unwrap_err(), 81 * NS);
    assert_eq!(served(&mut lines, 2, Op::Rmw, 80 * NS, 20 * NS), 120 * NS);
    // Reads of a line that is shared wait for one another as everywhere.
    let first = served(&mut lines, 0, Op::Load, 200 * NS, 10 * NS);
    served(&mut lines, 1, Op::Load, first, 10 * NS);
    assert_eq!(lines.entries[1].busy_until, first + 15 * NS);
    assert_eq!(served(&mut lines, 4, Op::Load, first + NS, 0), first + 15 * NS + 100 * NS);
    // Whoever watches a line in transfer reads it after so many round trips: here of 2 x 50 / 3 ns.
    let done = served(&mut lines, 0, Op::Store, 1_000 * NS, 0);
    lines.entry(1).written = 1_000 * NS;
    let arrives = lines.readers(1, &[1]).next().expect("it watches").arrives;
    assert!((done..done + 34 * NS).contains(&arrives), "{arrives}, not soon after {done}");
}

#[test]
fn copies_on_their_way_are_not_fetched_again_and_come_in_their_time() {
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    served(&mut lines, 0, Op::Store, 0, 0);
    let refill = |lines: &mut Lines, ready, now| {
        let mut at = Vec::new();
        let mut all = readers(&[(1, true), (2, ready)], now - 1);
        assert_eq!(lines.refill(1, &mut all, now, |reader, from, time| at.push((reader.cpu, from, time))), None);
        at
    };
    let near = Some(Class::SAME_NODE);
    let first = refill(&mut lines, true, 1_000 * NS);
    // Two legs of 50 ns are left to the first; the second follows with half a shared read.
    let done = 1_000 * NS + 50 * NS - 50 * NS / 3;
    assert_eq!(first, [(1, Some(Class::SAME_CLUSTER), done), (2, near, done + 10 * NS)]);
    let busy = lines.entries[1].busy_until;
    assert_eq!(busy, done + 15 * NS);
    let again = refill(&mut lines, true, 1_001 * NS);
    assert_eq!(again, [(1, None, done), (2, None, done + 15 * NS)]);
    assert_eq!(lines.entries[1].busy_until, busy, "no more reads");
    let later = 2_000 * NS + machine(Protocol::Mesif).cpu.load_hit;
    assert_eq!(refill(&mut lines, false, 2_000 * NS), [(1, None, later), (2, None, later)]);
}

#[test]
fn a_read_that_comes_after_the_winners_next_request_is_postponed() {
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    served(&mut lines, 0, Op::Store, 0, 0);
    let now = 1_000 * NS;
    // The first has its copy after 34 ns and may ask for the line 17 ns later.
    let late = now + 60 * NS;
    let reader = |cpu, arrives, ready| Reader { cpu, ready, arrives };
    let mut all = vec![reader(1, now, true), reader(2, late, true), reader(4, late, false)];
    let mut served = Vec::new();
    assert_eq!(lines.refill(1, &mut all, now, |reader, _, _| served.push(reader.cpu)), Some(late));
    assert_eq!(served, [1, 4], "one that goes on waiting has its copy, and stands in nobody's way");
    assert!(lines.hit(1, 2, Op::Load, late).is_none());
    // Whoever is too early is told when to come.
    assert_eq!(lines.refill(1, &mut vec![reader(2, late, true)], now, |_, _, _| unreachable!()), Some(late));
}

#[test]
fn the_nearest_reads_first_after_a_write() {
    let mut machine = (*machine(Protocol::Mesif)).clone();
    machine.cpu.pause = NS;
    let mut lines = lines_of(&Arc::new(machine), 1);
    served(&mut lines, 0, Op::Store, 0, 0);
    let watchers = [5, 1, 3, 2, 4];
    for write in 1..50 {
        lines.entry(1).watchers = watchers.to_vec();
        let written = write * 1_000 * NS;
        let first = lines.call_watchers(1, written);
        let mut all: Vec<Reader> = lines.readers(1, &watchers).collect();
        all.sort_by_key(|reader| reader.arrives);
        assert!(all[..2].iter().all(|reader| reader.cpu < 3) && all[2..].iter().all(|reader| reader.cpu >= 3));
        // The far ones, two legs of 130 ns away, are what the write waited for.
        assert!(all[2..].iter().all(|reader| (written..=written + NS).contains(&reader.arrives)), "{all:?}");
        assert_eq!(first, written, "the near ones stand in line behind the write");
    }
}

#[test]
fn a_writer_in_line_keeps_a_copy_when_readers_come_before_it_is_done() {
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    served(&mut lines, 0, Op::Store, 0, 0);
    let done = served(&mut lines, 1, Op::Store, 1_000 * NS, 0);
    served(&mut lines, 2, Op::Store, 1_001 * NS, 0);
    // CPU 1 has the line still, while the entry already names CPU 2, whose write is to come.
    lines.refill(1, &mut readers(&[(1, false), (3, false)], done - 1), done, |_, _, _| ());
    assert!(lines.hit(1, 2, Op::Load, Ps::MAX).is_some());
    check(&lines, 6);
}

#[test]
fn an_invalidation_reaches_the_farthest_node_that_has_a_copy() {
    let machine = machine(Protocol::Mesif);
    let mut lines = lines_of(&machine, 1);
    served(&mut lines, 0, Op::Store, 0, 0);
    served(&mut lines, 1, Op::Load, 1_000 * NS, 0);
    let miss = |lines: &Lines, op| (lines.miss(1, 0, op).latency, lines.miss(1, 0, op).from);
    assert_eq!(miss(&lines, Op::Store), (54 * NS, Some(Class::SAME_NODE)));
    served(&mut lines, 4, Op::Load, 2_000 * NS, 0);
    assert_eq!(miss(&lines, Op::Store), (154 * NS, Some(Class::hops(1))));
    assert_eq!(miss(&lines, Op::Rmw), (164 * NS, Some(Class::hops(1))));
}

#[test]
fn a_directory_takes_time_for_each_cache_that_it_invalidates() {
    for clusters in [1, 3] {
        let mut machine = (*machine(Protocol::Mesi)).clone();
        machine.coherence.invalidate_per_sharer = 7 * NS;
        (machine.topology.clusters_per_node, machine.topology.cores_per_cluster) = (clusters, 3 / clusters);
        let mut lines = lines_of(&Arc::new(machine), 1);
        served(&mut lines, 0, Op::Store, 0, 0);
        let mut costs = Vec::new();
        for cpu in [1, 2, 3, 4, 5] {
            served(&mut lines, cpu, Op::Load, Ps::from(cpu) * 1_000 * NS, 0);
            costs.push(lines.miss(1, 0, Op::Store).latency / NS);
        }
        // A node that is one cluster is told once; three clusters of it are told one after another.
        let expected = if clusters == 1 { [54, 54, 161, 161, 161] } else { [54, 61, 168, 175, 182] };
        assert_eq!(costs, expected);
    }
}
