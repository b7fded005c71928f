//! The directory alone: random requests, and moments that are hard to reach in a whole run.

use super::{Lines, NOBODY, Op, Winner};
use crate::spec::{ByClass, Class, Machine, NS, Protocol, Ps, Topology, load};
use std::sync::Arc;

const OPS: [Op; 3] = [Op::Load, Op::Store, Op::Rmw];

fn lines_of(machine: &Arc<Machine>, seed: u64) -> Lines {
    let mut lines = Lines::new(Arc::clone(machine), fastrand::Rng::with_seed(seed));
    lines.create(1, 0);
    lines
}

/// Returns two nodes of three CPUs, one hop apart.
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

/// Returns the same where reads take modified lines as a whole.
fn migratory(protocol: Protocol) -> Arc<Machine> {
    let mut machine = Arc::unwrap_or_clone(machine(protocol));
    machine.coherence.migratory = true;
    Arc::new(machine)
}

/// Checks that the entry, and its record of each CPU, is one writer or many readers.
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

/// Makes the watchers read line 1; returns when each of the winners (CPU, place in the line) has its copy.
fn refill(lines: &mut Lines, watchers: &[u32], winners: &[(u32, u32)], now: Ps) -> Vec<(u32, Ps)> {
    let mut winners: Vec<Winner> = winners.iter().map(|&(cpu, place)| Winner { cpu, place, at: 0 }).collect();
    let all_hit = watchers.iter().all(|&cpu| lines.hit(1, cpu, Op::Load, now).is_some());
    lines.refill(1, watchers, all_hit, &mut winners, now);
    winners.iter().map(|winner| (winner.cpu, winner.at)).collect()
}

#[test]
fn one_writer_or_many_readers_after_every_request() {
    let protocols = [Protocol::Mesi, Protocol::Mesif, Protocol::Moesi];
    for (seed, machine) in (0..).zip(protocols.into_iter().flat_map(|p| [machine(p), migratory(p)])) {
        let cpus = machine.topology.cpus();
        let (mut lines, mut chance, mut now) = (lines_of(&machine, seed), fastrand::Rng::with_seed(seed), 0);
        for _ in 0..5_000 {
            now += chance.u64(0..300) * NS;
            let (cpu, op) = (chance.u32(0..cpus), OPS[chance.usize(0..3)]);
            if chance.u8(0..10) == 0 {
                let watchers: Vec<u32> = (0..cpus).filter(|_| chance.bool()).collect();
                if let Some(&first) = watchers.first() {
                    refill(&mut lines, &watchers, &[(first, 0)], now);
                }
                watchers.iter().for_each(|&watcher| assert!(lines.hit(1, watcher, Op::Load, now).is_some()));
            } else {
                let tenure = lines.hit(1, cpu, op, now).is_some();
                lines.serve(1, cpu, op, now, 0);
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
            let latency = lines.latency(1, cpu, op).0;
            let shared_read = op == Op::Load && lines.entries[1].nodes != 0;
            let busy = lines.entries[1].busy_until;
            let served = lines.serve(1, cpu, op, now, latency / 2);
            if shared_read {
                // It waits for those before, and keeps the next waiting for a moment only.
                assert_eq!(served.done, busy.max(now) + latency / 2);
                assert_eq!(lines.entries[1].busy_until, busy.max(now) + 15 * NS);
            } else {
                // The transfer begins after the one before has ended.
                assert!(served.done >= exclusive_until, "{op:?}: {} before {exclusive_until}", served.done);
                let expected = if busy <= now { now + latency / 2 } else { busy + latency };
                assert_eq!(served.done, expected);
                assert_eq!(lines.entries[1].busy_until, served.done);
                exclusive_until = served.done;
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
            assert_eq!(lines.latency(2, 0, op), (cost * NS, None), "{op:?} of memory on node {home}");
        }
    }
}

#[test]
fn a_tenure_ends_within_a_quarter_of_the_next_transfer() {
    for seed in 0..100 {
        let mut lines = lines_of(&machine(Protocol::Mesif), seed);
        let first = lines.serve(1, 0, Op::Rmw, 0, 0).done;
        let second = lines.serve(1, 1, Op::Rmw, NS, 0).done;
        assert_eq!((first, second), (80 * NS, 140 * NS));
        let keeps = |time| lines.hit(1, 0, Op::Rmw, time).is_some();
        assert!(!keeps(first + 15 * NS), "a quarter of 60 ns");
        assert!(lines.hit(1, 2, Op::Load, first).is_none(), "who was not served has no tenure");
        // No request is queued: it has the line, and needs no tenure.
        assert!(lines.hit(1, 1, Op::Rmw, Ps::MAX).is_some());
    }
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    let tenures = (0..200).map(|n| {
        let now = n * 1_000 * NS;
        let first = lines.serve(1, 0, Op::Rmw, now, 0).done;
        lines.serve(1, 1, Op::Rmw, now + NS, 0);
        (0..15).take_while(|ns| lines.hit(1, 0, Op::Rmw, first + ns * NS).is_some()).count()
    });
    let tenures: Vec<usize> = tenures.collect();
    assert!(tenures.iter().any(|&ns| ns > 10) && tenures.iter().any(|&ns| ns < 3), "drawn by lot: {tenures:?}");
}

#[test]
fn copies_on_their_way_are_not_fetched_again_and_come_in_their_time() {
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    lines.serve(1, 0, Op::Store, 0, 0);
    let watchers = [1, 2];
    let first = refill(&mut lines, &watchers, &[(1, 0), (2, 1)], 1_000 * NS);
    // 25 ns of 50 ns are left to the first; the second follows half a shared read later.
    assert_eq!(first, [(1, 1_025 * NS), (2, 1_035 * NS)]);
    let busy = lines.entries[1].busy_until;
    let again = refill(&mut lines, &watchers, &[(1, 0), (2, 1)], 1_001 * NS);
    assert_eq!(again, [(1, 1_025 * NS), (2, 1_040 * NS)]);
    assert_eq!(lines.entries[1].busy_until, busy, "no more reads");
    assert_eq!(refill(&mut lines, &watchers, &[(1, 0)], 2_000 * NS), [(1, 2_000 * NS + lines_hit())]);
}

fn lines_hit() -> Ps {
    machine(Protocol::Mesif).cpu.load_hit
}

#[test]
fn a_writer_in_line_keeps_a_copy_when_readers_come_before_it_is_done() {
    let mut lines = lines_of(&machine(Protocol::Mesif), 1);
    lines.serve(1, 0, Op::Store, 0, 0);
    let done = lines.serve(1, 1, Op::Store, 1_000 * NS, 0).done;
    lines.serve(1, 2, Op::Store, 1_001 * NS, 0);
    // CPU 1 has its tenure, while the entry already names CPU 2, whose write is to come.
    refill(&mut lines, &[1], &[], done);
    assert!(lines.hit(1, 2, Op::Load, Ps::MAX).is_some());
    check(&lines, 6);
}

#[test]
fn a_thread_that_reads_at_the_same_time_as_the_owner_is_answered_by_it() {
    for protocol in [Protocol::Mesi, Protocol::Mesif, Protocol::Moesi] {
        let mut lines = lines_of(&machine(protocol), 1);
        lines.serve(1, 0, Op::Store, 0, 0);
        let now = 1_000 * NS;
        assert!(lines.hit(1, 0, Op::Load, now).is_some() && lines.hit(1, 3, Op::Load, now).is_none());
        let copies = refill(&mut lines, &[0, 3], &[(0, 0), (3, 1)], now);
        assert!(now < copies[0].1 && copies[0].1 < copies[1].1, "{copies:?}");
        check(&lines, 6);
    }
}

#[test]
fn an_invalidation_reaches_the_farthest_node_that_has_a_copy() {
    let machine = machine(Protocol::Mesif);
    let mut lines = lines_of(&machine, 1);
    lines.serve(1, 0, Op::Store, 0, 0);
    lines.serve(1, 1, Op::Load, 1_000 * NS, 0);
    assert_eq!(lines.latency(1, 0, Op::Store), (54 * NS, Some(Class::SAME_NODE)));
    lines.serve(1, 4, Op::Load, 2_000 * NS, 0);
    assert_eq!(lines.latency(1, 0, Op::Store), (154 * NS, Some(Class::hops(1))));
    assert_eq!(lines.latency(1, 0, Op::Rmw), (164 * NS, Some(Class::hops(1))));
}

#[test]
fn a_read_takes_a_modified_line_as_a_whole_and_shares_one_that_is_not() {
    let mut lines = lines_of(&migratory(Protocol::Moesi), 1);
    let has = |lines: &Lines, op| [0, 1, 2].map(|cpu| lines.hit(1, cpu, op, Ps::MAX).is_some());
    lines.serve(1, 0, Op::Store, 0, 0);
    lines.serve(1, 1, Op::Load, 1_000 * NS, 0);
    assert_eq!((has(&lines, Op::Load), has(&lines, Op::Rmw)), ([false, true, false], [false, true, false]));
    // CPU 1 has not written it.
    lines.serve(1, 2, Op::Load, 2_000 * NS, 0);
    assert_eq!((has(&lines, Op::Load), has(&lines, Op::Rmw)), ([false, true, true], [false; 3]));
    lines.serve(1, 1, Op::Rmw, 3_000 * NS, 0);
    lines.serve(1, 0, Op::Load, 4_000 * NS, 0);
    assert_eq!(has(&lines, Op::Rmw), [true, false, false]);
    lines.modify(1); // now it has
    lines.serve(1, 2, Op::Load, 5_000 * NS, 0);
    assert_eq!(has(&lines, Op::Load), [false, false, true]);
    check(&lines, 6);
}

#[test]
fn a_single_watcher_gets_a_migratory_line_as_a_whole_and_several_share_it() {
    for (watchers, owns) in [(&[1][..], true), (&[1, 2], false)] {
        let mut lines = lines_of(&migratory(Protocol::Moesi), 1);
        lines.serve(1, 0, Op::Store, 0, 0);
        let winners: Vec<(u32, u32)> = watchers.iter().copied().zip(0..).collect();
        let shown = refill(&mut lines, watchers, &winners, 1_000 * NS);
        assert_eq!((shown.len(), lines.hit(1, 1, Op::Rmw, Ps::MAX).is_some()), (watchers.len(), owns));
        assert!(lines.hit(1, 0, Op::Load, Ps::MAX).is_none(), "who wrote it has no copy");
        check(&lines, 6);
    }
}
