//! Real cells on small and large simulated machines.

#[allow(unreachable_pub, reason = "it is a file of its own in another crate's tests")]
#[path = "../../sim/tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use turnwise_sim::spec::{self, Machine};
use turnwise_sim::{Happened, Perturb};
use turnwise_simbench::report::{Cell, Figures};
use turnwise_simbench::{LOCKS, Plan, SimLock, Sort, Workload, run};

const SMALL_MS: u64 = 1_000_000;

fn workload(text: &str) -> Workload {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e:#}"))
}

fn plan(machine: &Arc<Machine>, lock: &str, text: &str) -> Plan {
    let lock = SimLock::find(lock).unwrap_or_else(|e| panic!("{e:#}"));
    let plan = Plan::new(Arc::clone(machine), lock, workload(text), 1);
    Plan { warm_up_ns: 100_000, duration_ns: SMALL_MS, ..plan }
}

fn cell(plan: &Plan) -> Cell {
    run::run(plan).unwrap_or_else(|e| panic!("{e:#}")).cell
}

fn figures(plan: &Plan) -> Figures {
    cell(plan).result.unwrap_or_else(|stuck| panic!("{}: {}\n{}", plan.lock.name, stuck.what, stuck.who))
}

/// Returns the first CPUs, this many of them, a thread on each.
fn on(cpus: u32, plan: Plan) -> Plan {
    Plan { cpus: (0..cpus).collect(), threads: cpus, ..plan }
}

fn json(cell: &Cell) -> String {
    serde_json::to_string(cell).expect("a cell has a JSON form")
}

#[test]
fn one_seed_is_one_cell_and_another_seed_another() {
    for (nodes, cores, lock) in [(1, 4, "mutex"), (8, 10, "linux-mutex-baseline"), (1, 4, "rwsem-spinlock-stealing")] {
        let machine = support::shared(nodes, cores);
        let first = plan(&machine, lock, "100/1000,read=50");
        let again = json(&cell(&first));
        assert_eq!(json(&cell(&first)), again, "{lock}");
        assert_ne!(json(&cell(&Plan { seed: 2, ..first })), again.replace("\"seed\":1", "\"seed\":2"), "{lock}");
    }
}

fn check(name: &str, sort: Sort, threads: u32, figures: &Figures) {
    assert!(figures.ops > 0, "{name}: {figures:?}");
    let wait = figures.wait.as_ref().unwrap_or_else(|| panic!("{name}: nobody waited"));
    let hold = figures.hold.as_ref().unwrap_or_else(|| panic!("{name}: nobody had it"));
    assert!(wait.count.abs_diff(figures.ops) <= threads.into(), "{name}: {wait:?}, {} operations", figures.ops);
    assert!(hold.mean_ns > 0.0 && hold.p50_ns <= hold.max_ns, "{name}: {hold:?}");
    let shares: f64 = figures.profile.iter().map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{name}: {shares}");
    let handoffs = &figures.handoffs;
    let acquisitions = handoffs.same_thread + handoffs.same_node + handoffs.other_node;
    assert!(acquisitions.abs_diff(figures.ops) <= threads.into(), "{name}: {handoffs:?}, {} operations", figures.ops);
    assert_eq!(figures.reads.is_some(), sort == Sort::Shared, "{name}");
    let functions: Vec<_> = figures.profile.iter().map(|row| row.function.as_str()).collect();
    let named = |f: &&str| f.contains("::") || *f == "idle" || *f == "context switch";
    assert!(functions.iter().all(named), "{name}: {functions:?}");
}

#[test]
fn every_lock_keeps_its_promise_and_lets_everybody_in() {
    let machine = support::shared(2, 2);
    for lock in LOCKS.iter() {
        let figures = figures(&plan(&machine, lock.name, "200/1000,read=50"));
        check(lock.name, lock.sort, 4, &figures);
        assert!(figures.fairness > 0.0, "{}: {figures:?}", lock.name);
    }
}

/// Where nothing comes between two operations, one thread may keep an unfair lock to itself.
#[test]
fn every_lock_works_without_a_pause() {
    let machine = support::shared(1, 4);
    for lock in LOCKS.iter() {
        check(lock.name, lock.sort, 4, &figures(&plan(&machine, lock.name, "tight,read=50")));
    }
}

/// Twice as many threads as CPUs, for some slices of time: owners and waiters are preempted, too.
#[test]
fn every_lock_survives_preemption() {
    let machine = support::shared(1, 2);
    for lock in LOCKS.iter() {
        let plan = Plan { threads: 4, duration_ns: 8 * SMALL_MS, ..plan(&machine, lock.name, "200/2000,read=50") };
        let figures = figures(&plan);
        check(lock.name, lock.sort, 4, &figures);
        assert!(figures.involuntary + figures.voluntary > 0, "{}: {figures:?}", lock.name);
    }
}

#[test]
fn every_lock_survives_unlikely_schedules() {
    let machine = support::shared(2, 2);
    let perturb = Perturb::Pct { per_million: 2_000, max_ns: 50_000 };
    for lock in LOCKS.iter() {
        for seed in 0..3 {
            let plan = Plan { perturb, seed, threads: 6, ..plan(&machine, lock.name, "100/300,read=50") };
            assert!(figures(&plan).ops > 0, "{}", lock.name);
        }
    }
}

/// The simulator's purpose: beyond one node of this machine spinners on one word collapse, and queues do not.
#[test]
fn spinners_that_share_a_word_collapse_and_queued_ones_do_not() {
    let machine = Arc::new(turnwise_sim::spec::load("westmere-ex-80").expect("it is built in"));
    let kept = |lock| {
        let [node, all] = [10, 80].map(|cpus| figures(&on(cpus, plan(&machine, lock, "100/4000"))).ops_per_s);
        all / node
    };
    let [ttas, mcs] = ["ttas", "mcs"].map(kept);
    assert!(ttas < 0.1, "{ttas}");
    assert!(mcs > 0.4, "{mcs}");
    let [baseline, queued] = ["linux-mutex-baseline", "linux-mutex-patch1-and-2"].map(kept);
    assert!(baseline < 0.75 * queued, "{baseline} {queued}");
}

#[test]
fn readers_read_together() {
    let machine = support::shared(1, 8);
    let time = |lock, text| figures(&plan(&machine, lock, text)).op_ns;
    assert!(time("rwsem", "2000/0,read=100") < 0.3 * time("rwsem", "2000/0,read=0"));
    let mixed = figures(&plan(&machine, "rwsem", "100/500,read=90"));
    let share = mixed.reads.expect("it tells") as f64 / mixed.ops as f64;
    assert!((0.88..0.92).contains(&share), "{share}");
    let apart = figures(&plan(&machine, "seqrwlock", "seqlock:rare-writes-8"));
    let writes = apart.ops - apart.reads.expect("it tells");
    assert!((5..=15).contains(&writes), "one write each 100 us: {writes}");
}

#[test]
fn times_are_those_of_the_workload() {
    let machine = support::shared(1, 4);
    let alone = figures(&on(1, plan(&machine, "mutex", "1000/3000,jitter=0")));
    assert!((4_000.0..4_200.0).contains(&alone.op_ns), "{}", alone.op_ns);
    let hold = alone.hold.expect("it was held");
    assert!((1_000..1_100).contains(&hold.p50_ns), "{hold:?}");
    assert!(alone.cpu_ns <= alone.op_ns && alone.cpu_ns > 0.99 * alone.op_ns, "{} {}", alone.cpu_ns, alone.op_ns);
    let share = |f: &str| alone.profile.iter().filter(|r| r.function == f).map(|r| r.share).sum::<f64>();
    assert!((0.22..0.27).contains(&share("Work::inside")), "{:?}", alone.profile);
    assert!((0.70..0.76).contains(&share("Work::outside")), "{:?}", alone.profile);
    let asleep = figures(&plan(&machine, "mutex", "mutex:sleep"));
    assert!(asleep.op_ns >= 100_000.0 && asleep.voluntary > 0, "{}", asleep.op_ns);
}

#[test]
fn the_trace_shows_the_lock_travel() {
    let machine = support::shared(2, 2);
    let traced = run::run(&Plan { traced: true, ..plan(&machine, "mcs", "100/500") }).expect("it runs");
    let trace = traced.trace.expect("it was asked for");
    assert_eq!(trace.locks, ["mcs"]);
    let mut owner = None;
    for event in &trace.events {
        match event.what {
            Happened::Acquires { exclusive, .. } => {
                assert!(exclusive && owner.is_none(), "{event:?}");
                owner = Some(event.thread);
            }
            Happened::Releases { .. } => assert_eq!(owner.take(), Some(event.thread)),
            _ => {}
        }
    }
    assert!(trace.events.is_sorted_by_key(|event| event.ps));
    assert!(run::run(&plan(&machine, "mcs", "100/500")).expect("it runs").trace.is_none());
}

#[test]
fn a_lock_that_waits_for_ever_is_reported_as_stuck() {
    let machine = support::shared(1, 4);
    let starving =
        Plan { starvation_ns: Some(100_000), duration_ns: 100 * SMALL_MS, ..plan(&machine, "mutex", "5000/0") };
    let stuck = cell(&starving).result.expect_err("somebody is overtaken for longer than 100 us");
    assert_eq!(stuck.what, "starvation");
    assert!(stuck.who.contains("asks for mutex since"), "{}", stuck.who);
    assert!(stuck.replay.is_empty());
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let machine = support::shared(1, 4);
    let good = plan(&machine, "mutex", "tight");
    let cases = [
        (Plan { cpus: vec![], ..good.clone() }, "needs a CPU"),
        (Plan { cpus: vec![1, 4], ..good.clone() }, "has no CPU 4: it has 4, from 0"),
        (Plan { cpus: vec![1, 1], ..good.clone() }, "named twice"),
        (Plan { threads: 0, ..good.clone() }, "needs a thread"),
        (Plan { duration_ns: 0, ..good.clone() }, "longer than 0 ns"),
        (
            Plan { lock: SimLock::find("rwsem").expect("it is there"), ..plan(&machine, "rwsem", "sleep") },
            "do not sleep",
        ),
        (Plan { threads: 1, ..plan(&machine, "rwsem", "tight,writers=1") }, "more than 1 threads"),
    ];
    for (plan, hint) in cases {
        let error = format!("{:#}", run::run(&plan).expect_err(hint));
        assert!(error.contains(hint), "{error}");
    }
    let idle = figures(&Plan { duration_ns: 1, warm_up_ns: 0, ..good.clone() });
    assert_eq!(idle.ops, 0);
    assert!(idle.notes.iter().any(|note| note.contains("no operation")), "{:?}", idle.notes);
    let deaf = figures(&plan(&machine, "mutex", "tight,read=10"));
    assert!(deaf.notes.iter().any(|note| note.contains("does not distinguish readers")), "{:?}", deaf.notes);
}

/// How spinners wait must not depend on the machine's number of CPUs: from 16 on they once never rested, and a section
/// took three times as long as with 14.
#[test]
fn no_number_of_cpus_is_a_cliff() {
    let machine = Arc::new(spec::load("sapphire-rapids-2s").expect("it is built in"));
    for lock in ["mutex", "rwsem"] {
        let ns: Vec<f64> = [8, 10, 12, 14, 16, 20]
            .map(|cpus| figures(&on(cpus, Plan { duration_ns: 5 * SMALL_MS, ..plan(&machine, lock, "tight") })).op_ns)
            .into();
        let steps = ns.windows(2).map(|pair| pair[1] / pair[0]);
        assert!(steps.clone().all(|step| step < 1.1), "{lock}: {ns:?}");
    }
}

/// Where no thread does anything outside, the owner would repeatedly take the lock: a claim takes it from that thread
/// until all others have had it, however many CPUs there are.
#[test]
fn nobody_keeps_a_lock_with_long_sections_from_the_others() {
    let machine = support::shared(1, 16);
    for (cpus, lock) in [(8, "mutex"), (16, "mutex"), (16, "reentrant")] {
        let plan = Plan { duration_ns: 60 * SMALL_MS, ..on(cpus, plan(&machine, lock, "20000/0")) };
        let figures = figures(&Plan { threads: 8, ..plan });
        assert!(figures.fairness > 0.3, "{lock}, {cpus} CPUs: {figures:?}");
    }
}
