//! Threads that take one lock repeatedly: how long a section takes, divided by the number of threads.

use super::small_locks::PlaceLock;
use anyhow::Result;
use serde::Deserialize;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Platform, Word};
use turnwise_sim::spec::Machine;
use turnwise_sim::{Affinity, Config, Placed, Sim, Simulation};

/// A line of data.
#[repr(align(64))]
struct Line(<Sim as Platform>::U32);

impl Line {
    fn update(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }
}

/// What threads do with the lock and without it.
#[derive(Clone, Copy, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Section {
    /// Lines that each section reads and writes.
    pub(super) written: u32,
    /// One of this many more, at random.
    pub(super) one_of: u32,
    /// Each thread also updates a count of its own, and this many threads' counts share a line; 0 for none.
    pub(super) counts_per_line: u32,
    /// Time with the lock.
    pub(super) inside_ns: u64,
    /// Time without it.
    pub(super) outside_ns: u64,
    /// A delay with the lock, and in how many sections of each thread, times the threads, there is one; 0 for never.
    pub(super) delay: (u64, u32),
}

/// When threads stop, and which of their sections count.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// After this many sections of each, which all begin at [`START_NS`]; all count, until the last thread has ended.
    Rounds(u32),
    /// At this time; all count, until the last thread has ended.
    Whole { duration_ns: u64 },
    /// When the window ends in which sections count.
    Window { warm_up_ns: u64, duration_ns: u64 },
}

/// All threads have their CPUs by then, and start together.
const START_NS: u64 = 100_000;

/// The threads, their places, and for how long they run.
#[derive(Clone)]
pub(super) struct Loops {
    pub(super) threads: u32,
    /// The CPUs that there are.
    pub(super) cpus: Vec<u32>,
    /// Threads do not stay on their CPUs.
    pub(super) roams: bool,
    /// How many of them lie from one thread's to the next one's.
    pub(super) stride: u32,
    pub(super) section: Section,
    pub(super) ends: Ends,
}

/// The lines that sections update.
struct Data {
    written: Vec<Placed<Line>>,
    one_of: Vec<Placed<Line>>,
    counts: Vec<Placed<Line>>,
}

impl Data {
    fn place(simulation: &mut Simulation, loops: &Loops) -> Data {
        let Section { written, one_of, counts_per_line, .. } = loops.section;
        let counts = loops.threads.checked_div(counts_per_line).map_or(0, |lines| lines + 1);
        let mut lines = |count: u32| {
            let line = |_| simulation.place("data", Line(<Sim as Platform>::U32::new(0)));
            (0..count).map(line).collect()
        };
        Data { written: lines(written), one_of: lines(one_of), counts: lines(counts) }
    }

    fn update(&self, section: Section, thread: u32) {
        self.written.iter().for_each(|line| line.update());
        if section.one_of > 0 {
            self.one_of[Sim::chance(section.one_of.into()) as usize].update();
        }
        if let Some(line) = thread.checked_div(section.counts_per_line) {
            self.counts[line as usize].update();
        }
    }
}

fn compute(ns: u64) {
    if ns > 0 {
        Sim::compute(ns);
    }
}

/// Nanoseconds for each completed section.
///
/// # Errors
/// Threads get nowhere.
pub(super) fn once(machine: &Arc<Machine>, place: PlaceLock, loops: &Loops, seed: u64) -> Result<f64> {
    let config = Config { cpus: loops.cpus.clone(), ..Config::new(Arc::clone(machine), seed) };
    let mut simulation = Simulation::new(config, loops.threads as usize);
    let lock = place(&mut simulation, loops.threads);
    let data = Rc::new(Data::place(&mut simulation, loops));
    let done = Rc::new(Cell::new(0_u64));
    let Loops { section, threads, ends, .. } = *loops;
    let (start_ns, rounds, end_ns, counted) = match ends {
        Ends::Rounds(rounds) => (START_NS, rounds, u64::MAX, 0..u64::MAX),
        Ends::Whole { duration_ns } => (0, u32::MAX, duration_ns, 0..u64::MAX),
        Ends::Window { warm_up_ns, duration_ns } => {
            (0, u32::MAX, warm_up_ns + duration_ns, warm_up_ns..warm_up_ns + duration_ns)
        }
    };
    for thread in 0..threads {
        let (lock, data, done, counted) = (Rc::clone(&lock), Rc::clone(&data), Rc::clone(&done), counted.clone());
        let cpu = || Affinity::Cpu(loops.cpus[(thread * loops.stride) as usize]);
        let affinity = if loops.roams { Affinity::Any } else { cpu() };
        let delayed = u64::from(section.delay.1 * threads);
        simulation.spawn(affinity, move || {
            while Sim::time_ns() < start_ns {
                Sim::compute(1.max(start_ns - Sim::time_ns()));
            }
            for _ in 0..rounds {
                if Sim::time_ns() >= end_ns {
                    return;
                }
                lock.acquire();
                data.update(section, thread);
                compute(section.inside_ns);
                if delayed > 0 && Sim::chance(delayed) == 0 {
                    compute(section.delay.0);
                }
                done.set(done.get() + u64::from(counted.contains(&Sim::time_ns())));
                lock.release();
                Sim::progress();
                compute(section.outside_ns);
            }
        });
    }
    let outcome = simulation.run()?;
    let took_ns = match ends {
        Ends::Window { duration_ns, .. } => duration_ns as f64,
        _ => outcome.counters.now_ps as f64 / 1_000.0 - start_ns as f64,
    };
    Ok(took_ns / done.get().max(1) as f64)
}

/// Returns the CPUs as a scheduler fills them: node by node in turn, a core's second thread after all first ones.
pub(super) fn spread(machine: &Machine, cores_per_node: u32) -> Vec<u32> {
    let topology = &machine.topology;
    let (per_core, nodes) = (topology.threads_per_core, topology.nodes);
    let node_size = topology.cpus() / nodes;
    let places = (0..per_core).flat_map(|thread| (0..cores_per_node).map(move |core| (thread, core)));
    places.flat_map(|(thread, core)| (0..nodes).map(move |node| node * node_size + core * per_core + thread)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_sim::spec;

    #[test]
    fn sockets_fill_in_turn_and_second_threads_last() {
        let machine = spec::load("oracle-x5-4").expect("it is built in");
        let cpus = spread(&machine, 18);
        assert_eq!(cpus[..5], [0, 36, 72, 108, 2]);
        assert_eq!((cpus.len(), cpus[72], cpus[143]), (144, 1, 143));
        assert_eq!(spread(&machine, 14).len(), 112);
    }
}
