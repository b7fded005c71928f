//! One cell: some threads, one lock, a fixed simulated time.
//!
//! As on metal the threads count their operations, and what they have counted is read at the start and at the end of
//! the interval.

use super::SimLock;
use super::probe::SimProbe;
use super::report::{Cell, Figures, Stuck};
use super::workload::Workload;
use anyhow::{Context, Result, ensure};
use std::cell::Cell as Mutable;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use turnwise_bench::load::{Load, Work, any_section};
use turnwise_bench::run::{self, Counts, Roles, Section};
use turnwise_bench::simulated::Jitter;
use turnwise_sim::experiment::Window;
use turnwise_sim::spec::{Machine, NS};
use turnwise_sim::{Affinity, Config, Perturb, Sim, Simulation, TraceEvent};

/// How to run a cell.
#[derive(Clone)]
pub struct Plan {
    /// The machine.
    pub machine: Arc<Machine>,
    /// The lock.
    pub lock: &'static SimLock,
    /// What the threads do.
    pub workload: Workload,
    /// CPUs that they may use.
    pub cpus: Vec<u32>,
    /// How many they are.
    pub threads: u32,
    /// Thread `n` stays on the `n`th of the CPUs, wrapping around.
    pub pinned: bool,
    /// Simulated time before the measured interval.
    pub warm_up_ns: u64,
    /// The measured interval, in simulated time.
    pub duration_ns: u64,
    /// Random seed.
    pub seed: u64,
    /// Unlikely schedules.
    pub perturb: Perturb,
    /// A thread that waits for this long, while others make progress, starves; `None`: not checked.
    pub starvation_ns: Option<u64>,
    /// Whether to record what happens.
    pub traced: bool,
}

/// The result of a cell.
#[derive(Debug)]
pub struct Run {
    /// For the report; its index is 0, and the command that repeats it is empty: only the caller knows them.
    pub cell: Cell,
    /// What happened, if the plan requested it and the run did not get stuck.
    pub trace: Option<Trace>,
}

/// What happened, event by event.
#[derive(Debug)]
pub struct Trace {
    /// The events, in the order of time.
    pub events: Vec<TraceEvent>,
    /// The names of locks, by their numbers in the events.
    pub locks: Vec<String>,
}

/// Runs a cell.
///
/// # Errors
/// When the plan makes no sense, or when the lock broke its guarantee. A run whose threads make no progress is a result
/// of the cell, not an error.
pub fn run(plan: &Plan) -> Result<Run> {
    plan.check()?;
    (plan.lock.run)(plan).with_context(|| {
        format!("lock {} on {} CPUs with {} threads, seed {}", plan.lock.name, plan.cpus.len(), plan.threads, plan.seed)
    })
}

/// Runs a cell in which threads use a lock or a count like this.
pub(super) fn cell<U, L>(plan: &Plan) -> Result<Run>
where
    Load<(U, Sim, L), Work<Jitter>>: run::Workload,
{
    run_workload(plan, any_section::<U, Sim, L>(plan.workload.section, plan.workload.jitter)?)
}

impl Plan {
    /// Plans the named lock and workload on all CPUs of a machine, a thread each, for 10 ms after 1 ms of warming up.
    #[must_use]
    pub fn new(machine: Arc<Machine>, lock: &'static SimLock, workload: Workload, seed: u64) -> Plan {
        let cpus: Vec<u32> = (0..machine.topology.cpus()).collect();
        Plan {
            threads: cpus.len() as u32,
            machine,
            lock,
            workload,
            cpus,
            pinned: false,
            warm_up_ns: 1_000_000,
            duration_ns: 10_000_000,
            seed,
            perturb: Perturb::None,
            starvation_ns: None,
            traced: false,
        }
    }

    fn check(&self) -> Result<()> {
        let (name, cpus) = (&self.machine.name, self.machine.topology.cpus());
        ensure!(!self.cpus.is_empty(), "a simulation needs a CPU");
        ensure!(self.threads > 0, "a simulation needs a thread");
        ensure!(self.duration_ns > 0, "a measurement must last longer than 0 ns");
        ensure!(self.cpus.iter().collect::<BTreeSet<_>>().len() == self.cpus.len(), "a CPU is named twice");
        if let Some(cpu) = self.cpus.iter().find(|&&cpu| cpu >= cpus) {
            anyhow::bail!("machine {name} has no CPU {cpu}: it has {cpus}, from 0");
        }
        Ok(())
    }

    fn end_ns(&self) -> u64 {
        self.warm_up_ns.saturating_add(self.duration_ns)
    }

    fn config(&self) -> Config {
        Config {
            cpus: self.cpus.clone(),
            perturb: self.perturb,
            traced: self.traced,
            starvation_ns: self.starvation_ns,
            silence_ns: self.silence_ns(),
            ..Config::new(Arc::clone(&self.machine), self.seed)
        }
    }

    /// Returns after how long without a completed operation the run counts as stuck: a second, or ten of the longest.
    fn silence_ns(&self) -> u64 {
        let longest_ns = match self.workload.section {
            Section::Tight => 0,
            Section::Work { inside, outside } => u64::from(inside) + u64::from(outside),
            Section::Sleep(time) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
        };
        longest_ns.saturating_mul(10).max(1_000_000_000)
    }

    fn affinity(&self, thread: usize) -> Affinity {
        if self.pinned { Affinity::Cpu(self.cpus[thread % self.cpus.len()]) } else { Affinity::Any }
    }

    fn cell(&self, result: Result<Figures, Stuck>) -> Cell {
        let nodes: BTreeSet<u32> = self.cpus.iter().map(|&cpu| self.machine.topology.node(cpu)).collect();
        Cell {
            index: 0,
            lock: self.lock.name.to_owned(),
            cpus: self.cpus.len() as u32,
            nodes: nodes.len() as u32,
            threads: self.threads,
            seed: self.seed,
            result,
        }
    }
}

/// What the threads of a cell, and the readers of their counts, share.
struct CellState {
    roles: Roles,
    end_ns: u64,
    /// What each thread has done so far.
    tallies: Vec<Mutable<Counts>>,
    /// One of them saw a state that no thread may see.
    torn: Mutable<bool>,
}

impl CellState {
    fn new(plan: &Plan) -> Result<CellState> {
        Ok(CellState {
            roles: plan.workload.roles(plan.threads)?,
            end_ns: plan.end_ns(),
            tallies: (0..plan.threads).map(|_| Mutable::default()).collect(),
            torn: Mutable::new(false),
        })
    }

    fn tallies(&self) -> Vec<Counts> {
        self.tallies.iter().map(Mutable::get).collect()
    }

    fn done(&self) -> Counts {
        let add = |a: Counts, b: Counts| Counts { read: a.read + b.read, write: a.write + b.write };
        self.tallies().into_iter().fold(Counts::default(), add)
    }
}

/// Runs the loop of one thread.
fn run_thread<W: run::Workload>(work: W, lock: &W::Shared, state: &CellState, thread: usize, mut probe: SimProbe) {
    let tally = &state.tallies[thread];
    let mut local = work.local(state.roles, thread);
    work.prepare();
    while Sim::time_ns() < state.end_ns {
        let mut done = tally.get();
        *done.get_mut(work.operate(lock, &mut local, &mut probe)) += 1;
        tally.set(done);
        Sim::progress();
        work.rest(&mut local);
    }
    state.torn.set(state.torn.get() | W::torn(&local));
}

/// Runs a workload according to the plan.
fn run_workload<W: run::Workload>(plan: &Plan, work: W) -> Result<Run> {
    let state = Rc::new(CellState::new(plan)?);
    let mut simulation = Simulation::new(plan.config(), plan.threads as usize);
    let lock = simulation.place(plan.lock.name, work.shared());
    let probe = SimProbe::new(plan.warm_up_ns * NS..plan.end_ns() * NS);
    for thread in 0..plan.threads as usize {
        let (state, lock, probe) = (Rc::clone(&state), lock.clone(), probe.clone());
        simulation.spawn(plan.affinity(thread), move || run_thread(work, &lock, &state, thread, probe));
    }
    let counting = Rc::clone(&state);
    let window = Window::of(&mut simulation, [plan.warm_up_ns, plan.end_ns()], move || counting.tallies());
    match simulation.run() {
        Ok(outcome) => {
            W::check(&lock, state.done(), state.torn.get())?;
            let figures = plan.figures(state.roles, window.ends()?, &probe);
            let trace = plan.traced.then_some(Trace { events: outcome.trace, locks: outcome.locks });
            Ok(Run { cell: plan.cell(Ok(figures)), trace })
        }
        Err(stuck) => {
            let stuck = Stuck { what: stuck.kind.to_string(), who: stuck.who, replay: String::new() };
            Ok(Run { cell: plan.cell(Err(stuck)), trace: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sort;
    use turnwise::{RawLock, RawMutex};
    use turnwise_bench::load::exclusive::{Exclusive, Lock, Protected};
    use turnwise_sim::spec;

    /// Gives every caller a copy and keeps the last one: what two threads in one critical section do to data.
    struct OpenDoor(std::sync::Mutex<Protected>);

    impl Lock<Protected> for OpenDoor {
        fn new(value: Protected) -> Self {
            OpenDoor(std::sync::Mutex::new(value))
        }

        fn with<R>(&self, f: impl FnOnce(&mut Protected) -> R) -> R {
            // Not on the stack, where words that are never dropped would keep their lines.
            let mut copy = Box::new(*self.0.lock().expect("nobody panics"));
            let result = f(&mut copy);
            *self.0.lock().expect("nobody panics") = *copy;
            result
        }
    }

    /// Is never released.
    struct OneWay(RawMutex<Sim>);

    impl Lock<Protected> for OneWay {
        fn new(_value: Protected) -> Self {
            OneWay(RawMutex::new_in())
        }

        fn with<R>(&self, f: impl FnOnce(&mut Protected) -> R) -> R {
            self.0.lock();
            f(&mut Protected::default())
        }
    }

    static OPEN: SimLock = SimLock { name: "open", help: "", sort: Sort::Exclusive, run: cell::<Exclusive, OpenDoor> };
    static ONE_WAY: SimLock =
        SimLock { name: "one-way", help: "", sort: Sort::Exclusive, run: cell::<Exclusive, OneWay> };

    fn plan(lock: &'static SimLock) -> Plan {
        let machine = spec::load("desktop-4").expect("it is built in");
        let plan = Plan::new(Arc::new(machine), lock, "100/100".parse().expect("it is a workload"), 7);
        Plan { warm_up_ns: 10_000, duration_ns: 100_000, ..plan }
    }

    #[test]
    fn a_lock_that_lets_everybody_in_is_caught() {
        let error = format!("{:#}", run(&plan(&OPEN)).expect_err("it lets two threads in"));
        assert!(error.contains("lock open on 4 CPUs with 4 threads, seed 7: the lock let two threads in"), "{error}");
    }

    #[test]
    fn a_lock_that_is_never_released_is_a_deadlock() {
        let cell = run(&plan(&ONE_WAY)).expect("that is a result").cell;
        let stuck = cell.result.expect_err("nobody gets on");
        assert_eq!(stuck.what, "deadlock");
        assert!(
            stuck.who.contains("thread 3 sleeps on one-way") && stuck.who.contains("asks for one-way"),
            "{stuck:?}"
        );
    }
}
