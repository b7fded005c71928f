//! A seed determines a run: the same events at the same times, whatever else the host does.

use crate::support;
use crate::world::{row, traced, word};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use turnwise::platform::{IntWord, Lane, Platform};
use turnwise::{Condvar, McsLock, Mutex, RwSem, TicketLock, backoff::NoBackoff};
use turnwise_sim::spec::{Machine, Protocol};
use turnwise_sim::{Affinity, Config, Outcome, Perturb, Sim, Simulation};

/// The state that the threads of the run share.
struct Shared {
    mutex: Mutex<u64, Sim>,
    changed: Condvar<Sim>,
    rwsem: RwSem<u64, Sim>,
    ticket: TicketLock<u64, NoBackoff, Sim>,
    mcs: McsLock<u64, Sim>,
    word: crate::world::Word32,
    /// On the host's heap. Their sections are long, so that threads note how spins ended.
    elsewhere: [Box<Mutex<u64, Sim>>; 5],
}

/// Runs threads that use a bit of everything, also words on their stacks and on the host's heap.
fn run(config: Config, threads: usize) -> Outcome {
    let mut sim = Simulation::new(config, threads);
    let shared = sim.place(
        "shared",
        Shared {
            mutex: Mutex::new_in(0),
            changed: Condvar::new_in(),
            rwsem: RwSem::new_in(0),
            ticket: TicketLock::new_in(0),
            mcs: McsLock::new_in(0),
            word: word(),
            elsewhere: std::array::from_fn(|_| Box::new(Mutex::new_in(0))),
        },
    );
    for _ in 0..threads {
        let shared = shared.clone();
        sim.spawn(Affinity::Any, move || {
            let own = Box::new(word());
            for _ in 0..30 {
                own.fetch_add(1, SeqCst);
                something(&shared);
                Sim::compute(Sim::chance(3_000));
                Sim::progress();
            }
            shared.changed.notify_all();
        });
    }
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"))
}

fn something(shared: &Shared) {
    Sim::asks(std::ptr::from_ref(shared).cast());
    match Sim::chance(12) {
        0 => *shared.mutex.lock() += 1,
        1 => *shared.rwsem.write() += 1,
        2 => assert!(*shared.rwsem.read() < 1_000),
        3 => *shared.ticket.lock() += 1,
        4 => shared.mcs.with(|count| *count += 1),
        5 => {
            let mut guard = shared.mutex.lock();
            shared.changed.wait_for(&mut guard, std::time::Duration::from_micros(20));
        }
        6 => shared.changed.notify_all(),
        7..=10 => (0..4).for_each(|_| {
            let mut count = shared.elsewhere[Sim::chance(5) as usize % 5].lock();
            *count += 1;
            Sim::compute(Sim::chance(30_000));
        }),
        _ => {
            shared.word.fetch_add(1, SeqCst);
            Sim::wake(&raw const shared.word, Lane::Waiters, 1);
        }
    }
    Sim::acquired(std::ptr::from_ref(shared).cast(), false);
    Sim::released(std::ptr::from_ref(shared).cast());
}

fn machines() -> Vec<Arc<Machine>> {
    vec![support::shared(1, 1), support::shared(2, 3), Arc::new(row(Protocol::Moesi))]
}

/// Returns one simulation of several, by number.
fn numbered(number: u64) -> Outcome {
    let machines = machines();
    let machine = &machines[number as usize % machines.len()];
    let perturb = match number % 4 {
        0 => Perturb::Stalls { per_million: 1_000, max_ns: 10_000 },
        1 => Perturb::Pct { per_million: 1_000, max_ns: 10_000 },
        _ => Perturb::None,
    };
    run(Config { perturb, ..traced(machine, number) }, 5 + number as usize % 7)
}

#[test]
fn one_seed_is_one_run_and_another_another() {
    for machine in machines() {
        let first = run(traced(&machine, 1), 8);
        assert!(!first.trace.is_empty());
        assert_eq!(first, run(traced(&machine, 1), 8));
        let other = run(traced(&machine, 2), 8);
        assert_ne!(first.trace, other.trace);
        assert_ne!(first.counters, other.counters);
    }
}

#[test]
fn a_trace_changes_nothing() {
    let machine = support::shared(2, 3);
    let traced = run(traced(&machine, 3), 8);
    let plain = run(crate::world::config(&machine, 3), 8);
    assert!(plain.trace.is_empty());
    assert_eq!((traced.counters, traced.profile), (plain.counters, plain.profile));
}

#[test]
fn a_trace_is_in_the_order_of_time() {
    let outcome = numbered(2);
    assert!(outcome.trace.is_sorted_by_key(|event| event.ps));
    assert!(outcome.trace.last().unwrap().ps <= outcome.counters.now_ps);
}

#[test]
fn many_threads_of_the_host_and_another_order_change_nothing() {
    const RUNS: u64 = 12;
    let alone: Vec<Outcome> = (0..RUNS).map(numbered).collect();
    let alone = &alone;
    std::thread::scope(|scope| {
        for worker in 0..8 {
            scope.spawn(move || {
                // Memory that this worker alone has had before, and an order of its own.
                let litter: Vec<Box<[u8]>> = (0..worker * 50).map(|n| vec![1; n * 37 + 1].into()).collect();
                let place = |n: u64| (n * 5 + worker as u64) % RUNS;
                for number in (0..RUNS).map(place).filter(|number| number % 2 == worker as u64 % 2) {
                    assert_eq!(numbered(number), alone[number as usize], "run {number} on worker {worker}");
                }
                drop(litter);
            });
        }
    });
}

/// Returns what a process of its own prints of a run, in which every address differs.
fn in_another_process() -> String {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "determinism::prints_a_run", "--nocapture", "--test-threads=1"];
    let output = std::process::Command::new(program).args(arguments).env(PRINT, "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.split_once("a run: ")).expect("the run's line").1.to_owned()
}

const PRINT: &str = "TURNWISE_TEST_PRINTS_A_RUN";

/// Returns all of a run but where the source lies.
fn digest(outcome: &Outcome) -> String {
    let mut text = format!("{:?}{:?}{:?}{:?}", outcome.counters, outcome.profile, outcome.trace, outcome.locks);
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    text.bytes().for_each(|byte| sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    text.truncate(200);
    format!("{sum:016x} {text}")
}

#[test]
fn prints_a_run() {
    let outcome = numbered(5);
    assert!(outcome.counters.accesses > 0);
    if std::env::var_os(PRINT).is_some() {
        println!("a run: {}", digest(&outcome));
    }
}

#[test]
fn where_the_process_lies_in_memory_changes_nothing() {
    let here = digest(&numbered(5));
    for _ in 0..3 {
        assert_eq!(in_another_process(), here);
    }
}
