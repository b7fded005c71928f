//! Facts in, predictions out: the time of a hand-over between CPUs, next to measurements on such a machine.

use super::qspinlock::KernelQueuedLock;
use super::{Judged, percent};
use anyhow::Result;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise::{McsLock, QueuedSpinLock};
use turnwise_sim::spec::Machine;
use turnwise_sim::{Affinity, Config, Sim, Simulation};

/// A published figure: nanoseconds for an acquisition, of CPUs that lock and unlock in a loop.
struct Published {
    place: &'static str,
    tasks: u32,
    /// CPUs from one task to the next.
    stride: u32,
    ns: f64,
}

/// Linux commit 2c83e8e9 (queued spin locks), on a Westmere-EX with 8 sockets: 5 million rounds by each task.
const PUBLISHED: &[Published] = &[
    Published { place: "same node", tasks: 3, stride: 1, ns: 150.0 },
    Published { place: "same node", tasks: 4, stride: 1, ns: 141.0 },
    Published { place: "same node", tasks: 5, stride: 1, ns: 141.0 },
    Published { place: "same node", tasks: 6, stride: 1, ns: 139.0 },
    Published { place: "same node", tasks: 7, stride: 1, ns: 139.0 },
    Published { place: "same node", tasks: 8, stride: 1, ns: 139.0 },
    Published { place: "a node each", tasks: 3, stride: 10, ns: 806.0 },
    Published { place: "a node each", tasks: 4, stride: 10, ns: 525.0 },
];

/// How many cells the table has.
pub(super) const RUNS: usize = PUBLISHED.len() * LOCKS.len();

/// How long to measure.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Runs of each cell, of which the median counts.
    pub(super) seeds: u64,
    /// Simulated time of each.
    pub(super) duration_ns: u64,
}

impl Effort {
    /// The effort for the page.
    pub(super) const PAGE: Effort = Effort { seeds: 5, duration_ns: 5_000_000 };
}

type Body = Rc<dyn Fn()>;

/// A lock's loop body, placed in a simulation of this many threads.
type PlaceBody = fn(&mut Simulation, u32) -> Body;

const LOCKS: [(&str, PlaceBody); 3] = [("kernel's shape", kernel), ("mcs", mcs), ("queued", queued)];

fn kernel(simulation: &mut Simulation, threads: u32) -> Body {
    let lock = KernelQueuedLock::place(simulation, threads);
    Rc::new(move || {
        lock.lock();
        lock.unlock();
    })
}

fn mcs(simulation: &mut Simulation, _: u32) -> Body {
    let lock = simulation.place("lock", McsLock::<(), Sim>::new_in(()));
    Rc::new(move || lock.with(|()| ()))
}

fn queued(simulation: &mut Simulation, _: u32) -> Body {
    let lock = simulation.place("lock", QueuedSpinLock::<(), Sim>::new_in(()));
    Rc::new(move || drop(lock.lock()))
}

/// Nanoseconds for an acquisition, over several seeds: the median.
fn simulated(machine: &Arc<Machine>, row: &Published, place: PlaceBody, effort: Effort) -> Result<f64> {
    let once = |seed| once(machine, row, place, seed, effort.duration_ns);
    let mut all: Vec<f64> = (1..=effort.seeds).map(once).collect::<Result<_>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[all.len() / 2])
}

fn once(machine: &Arc<Machine>, row: &Published, place: PlaceBody, seed: u64, duration_ns: u64) -> Result<f64> {
    let mut simulation = Simulation::new(Config::new(Arc::clone(machine), seed), row.tasks as usize);
    let body = place(&mut simulation, row.tasks);
    let done = Rc::new(Cell::new(0_u64));
    for task in 0..row.tasks {
        let (body, done) = (Rc::clone(&body), Rc::clone(&done));
        simulation.spawn(Affinity::Cpu(task * row.stride), move || {
            while Sim::time_ns() < duration_ns {
                body();
                Sim::progress();
                done.set(done.get() + 1);
            }
        });
    }
    let outcome = simulation.run()?;
    Ok(outcome.counters.now_ps as f64 / 1_000.0 / done.get().max(1) as f64)
}

/// Returns the table, as Markdown, and the errors of the kernel's lock.
pub(super) fn table(machine: &Arc<Machine>, effort: Effort, mut tick: impl FnMut()) -> Result<(String, Judged)> {
    let mut text = String::from(
        "| CPUs | tasks | published, ns | the kernel's shape | error | our `mcs` | error | our `queued` | error |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut judged = Judged::default();
    for row in PUBLISHED {
        text += &format!("| {} | {} | {:.0} |", row.place, row.tasks, row.ns);
        for (number, (_, place)) in LOCKS.iter().enumerate() {
            let ns = simulated(machine, row, *place, effort)?;
            let error = ns / row.ns - 1.0;
            if number == 0 {
                judged.add(error);
            }
            text += &format!(" {ns:.0} | {} |", percent(error));
            tick();
        }
        text += "\n";
    }
    Ok((text, judged))
}
