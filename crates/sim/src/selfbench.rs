//! How fast the simulator is on this host, beside a bare switch of coroutines in the same run.

use crate::spec::Machine;
use crate::{Affinity, Config, Sim, Simulation};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use turnwise::platform::{IntWord, Platform, Word};
use turnwise::{McsLock, SpinLock, TicketLock, backoff::NoBackoff};

/// One measurement.
#[derive(Clone, Debug)]
pub struct Row {
    /// What ran.
    pub what: String,
    /// Simulated accesses to memory.
    pub accesses: u64,
    /// Time on the host, seconds.
    pub seconds: f64,
}

impl Row {
    /// Accesses per second of the host.
    #[must_use]
    pub fn per_s(&self) -> f64 {
        self.accesses as f64 / self.seconds
    }
}

/// The speed of the simulator.
#[derive(Clone, Debug)]
pub struct SelfBench {
    /// Into a coroutine that does nothing and back, per second.
    pub switches_per_s: f64,
    /// Simulated workloads.
    pub rows: Vec<Row>,
}

/// Measures for some seconds, on one thread of the host.
///
/// # Panics
/// When a lock of the benchmark deadlocks.
#[must_use]
pub fn run(machine: &Arc<Machine>) -> SelfBench {
    let all = machine.topology.cpus();
    let node = machine.topology.cpus_per_node();
    let switches = (0..3).map(|_| switches_per_s()).fold(0.0, f64::max);
    let rows = vec![
        contended(machine, "MCS lock", all, 20, |sim| {
            let lock = sim.place("lock", McsLock::<u64, Sim>::new_in(0));
            move || lock.with(|count| *count += 1)
        }),
        contended(machine, "ticket lock", all, 20, |sim| {
            let lock = sim.place("lock", TicketLock::<u64, NoBackoff, Sim>::new_in(0));
            move || *lock.lock() += 1
        }),
        contended(machine, "test-and-test-and-set lock", node, 20, |sim| {
            let lock = sim.place("lock", SpinLock::<u64, NoBackoff, Sim>::new_in(0));
            move || *lock.lock() += 1
        }),
        private(machine, 1),
        private(machine, node),
    ];
    SelfBench { switches_per_s: switches, rows }
}

fn switches_per_s() -> f64 {
    const SWITCHES: u32 = 5_000_000;
    let mut coroutine = Coroutine::new(|yielder: &Yielder<(), ()>, ()| {
        (0..SWITCHES).for_each(|_| yielder.suspend(()));
    });
    let begin = Instant::now();
    while let CoroutineResult::Yield(()) = coroutine.resume(()) {}
    f64::from(SWITCHES) / begin.elapsed().as_secs_f64()
}

/// All threads fight over one lock, in sections of an increment.
fn contended<F: Fn() + Clone + 'static>(
    machine: &Arc<Machine>,
    name: &str,
    cpus: u32,
    ms: u64,
    place: impl FnOnce(&mut Simulation) -> F,
) -> Row {
    let mut sim = Simulation::new(Config::new(Arc::clone(machine), 1), cpus as usize);
    let operate = place(&mut sim);
    for cpu in 0..cpus {
        let operate = operate.clone();
        sim.spawn(Affinity::Cpu(cpu), move || {
            while Sim::time_ns() < ms * 1_000_000 {
                operate();
                Sim::progress();
                Sim::compute(Sim::chance(200));
            }
        });
    }
    timed(format!("{name}, {cpus} CPUs, {ms} ms"), sim)
}

/// Each thread writes to lines of its own, which always hit.
fn private(machine: &Arc<Machine>, cpus: u32) -> Row {
    let mut sim = Simulation::new(Config::new(Arc::clone(machine), 1), cpus as usize);
    for cpu in 0..cpus {
        let word = sim.place("word", <<Sim as Platform>::U64 as Word>::new(0));
        sim.spawn(Affinity::Cpu(cpu), move || {
            for _ in 0..2_000_000 / cpus {
                word.fetch_add(1, Relaxed);
            }
        });
    }
    timed(format!("own lines, {cpus} CPUs"), sim)
}

fn timed(what: String, sim: Simulation) -> Row {
    let begin = Instant::now();
    let outcome = sim.run().expect("these locks do not deadlock");
    Row { what, accesses: outcome.counters.accesses, seconds: begin.elapsed().as_secs_f64() }
}
