//! How fast the simulator is on this host, compared with its bare switch from stack to stack in the same run.

use crate::engine::there_and_back;
use crate::spec::Machine;
use crate::{Affinity, Config, Sim, Simulation};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{IntWord, Platform, Word};
use turnwise::{McsLock, SpinLock, TicketLock, backoff::NoBackoff};
use turnwise_present::spent::Spent;

/// One measurement.
#[derive(Clone, Debug)]
pub struct Row {
    /// What ran.
    pub what: String,
    /// Simulated accesses to memory.
    pub accesses: u64,
    /// CPU time of the host, seconds: other activity there does not count.
    pub seconds: f64,
}

impl Row {
    /// Accesses per second of the host's CPU time.
    #[must_use]
    pub fn per_s(&self) -> f64 {
        self.accesses as f64 / self.seconds
    }
}

/// The speed of the simulator.
#[derive(Clone, Debug)]
pub struct SelfBench {
    /// Round trips to another stack, without other work, per second.
    pub switches_per_s: f64,
    /// Simulated workloads.
    pub rows: Vec<Row>,
    /// The most memory that this process had in use.
    pub peak_bytes: u64,
}

/// Measures for some seconds, on one thread of the host.
///
/// # Errors
/// The host does not report CPU times.
///
/// # Panics
/// When a lock of the benchmark deadlocks.
pub fn run(machine: &Arc<Machine>) -> io::Result<SelfBench> {
    let all = machine.topology.cpus();
    let node = machine.topology.cpus_per_node();
    let switches: Vec<f64> = (0..3).map(|_| switches_per_s()).collect::<io::Result<_>>()?;
    let rows = vec![
        contended(machine, "MCS lock", all, 20, |sim| {
            let lock = sim.place("lock", McsLock::<u64, Sim>::new_in(0));
            move || lock.with(|count| *count += 1)
        })?,
        contended(machine, "ticket lock", all, 20, |sim| {
            let lock = sim.place("lock", TicketLock::<u64, NoBackoff, Sim>::new_in(0));
            move || *lock.lock() += 1
        })?,
        contended(machine, "test-and-test-and-set lock", node, 20, |sim| {
            let lock = sim.place("lock", SpinLock::<u64, NoBackoff, Sim>::new_in(0));
            move || *lock.lock() += 1
        })?,
        private(machine, 1)?,
        private(machine, node)?,
    ];
    let switches_per_s = switches.into_iter().fold(0.0, f64::max);
    Ok(SelfBench { switches_per_s, rows, peak_bytes: Spent::here().peak_bytes })
}

fn switches_per_s() -> io::Result<f64> {
    const SWITCHES: u32 = 5_000_000;
    let begin = cpu_seconds()?;
    let switches = there_and_back(SWITCHES);
    Ok(f64::from(switches) / (cpu_seconds()? - begin))
}

/// Returns the CPU time of the calling thread of the host.
fn cpu_seconds() -> io::Result<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

/// Lets all threads fight over one lock, in sections of an increment.
fn contended<F: Fn() + Clone + 'static>(
    machine: &Arc<Machine>,
    name: &str,
    cpus: u32,
    ms: u64,
    place: impl FnOnce(&mut Simulation) -> F,
) -> io::Result<Row> {
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

/// Lets each thread write to lines of its own, which always hit.
fn private(machine: &Arc<Machine>, cpus: u32) -> io::Result<Row> {
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

fn timed(what: String, sim: Simulation) -> io::Result<Row> {
    let begin = cpu_seconds()?;
    let outcome = sim.run().expect("these locks do not deadlock");
    Ok(Row { what, accesses: outcome.counters.accesses, seconds: cpu_seconds()? - begin })
}
