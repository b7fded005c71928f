//! Threads that take one lock repeatedly for a while: how long a section takes, divided by the number of threads.

use super::small_locks::PlaceLock;
use anyhow::Result;
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
#[derive(Clone, Copy, Default)]
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

/// The threads, their places, and for how long they run.
#[derive(Clone)]
pub(super) struct Loops {
    pub(super) threads: u32,
    /// The CPUs that there are.
    pub(super) cpus: Vec<u32>,
    /// Thread `n` stays on the `n`th of them.
    pub(super) pinned: bool,
    pub(super) section: Section,
    pub(super) warm_up_ns: u64,
    pub(super) duration_ns: u64,
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
pub(super) fn once(machine: &Arc<Machine>, place: PlaceLock, loops: &Loops) -> Result<f64> {
    let config = Config { cpus: loops.cpus.clone(), ..Config::new(Arc::clone(machine), 1) };
    let mut simulation = Simulation::new(config, loops.threads as usize);
    let lock = place(&mut simulation, loops.threads);
    let data = Rc::new(Data::place(&mut simulation, loops));
    let done = Rc::new(Cell::new(0_u64));
    let counted = loops.warm_up_ns..loops.warm_up_ns + loops.duration_ns;
    let Loops { section, threads, .. } = *loops;
    for thread in 0..threads {
        let (lock, data, done, counted) = (Rc::clone(&lock), Rc::clone(&data), Rc::clone(&done), counted.clone());
        let affinity = if loops.pinned { Affinity::Cpu(loops.cpus[thread as usize]) } else { Affinity::Any };
        let delayed = u64::from(section.delay.1 * threads);
        simulation.spawn(affinity, move || {
            while Sim::time_ns() < counted.end {
                lock.acquire();
                data.update(section, thread);
                compute(section.inside_ns);
                if delayed > 0 && Sim::chance(delayed) == 0 {
                    compute(section.delay.0);
                }
                if counted.contains(&Sim::time_ns()) {
                    done.set(done.get() + 1);
                }
                lock.release();
                Sim::progress();
                compute(section.outside_ns);
            }
        });
    }
    simulation.run()?;
    Ok(loops.duration_ns as f64 / done.get().max(1) as f64)
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
