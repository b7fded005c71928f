//! One cell: some threads, one lock, a fixed simulated time.
//!
//! As on metal the threads count their operations, and what they have counted is read at the start and at the end of
//! the interval.

use super::probe::SimProbe;
use super::report::{Cell, Figures, Handoffs, Stuck};
use super::workload::Workload;
use super::world::Spread;
use super::{SimLock, Sort, profile};
use crate::load;
use crate::load::counted::Counter;
use crate::load::exclusive::{Lock, Protected};
use crate::load::shared::SharedLock;
use crate::run::{self, Counts, Roles, Runner, Section};
use crate::stats::fairness;
use anyhow::{Context, Result, ensure};
use std::cell::{Cell as Mutable, OnceCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use turnwise_sim::spec::{Machine, NS};
use turnwise_sim::{Affinity, Config, Outcome, Perturb, Sim, Simulation, Snapshot, TraceEvent};

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
    /// Thread `n` stays on the `n`th of the CPUs, and again from the first.
    pub pinned: bool,
    /// Simulated time before the measured interval.
    pub warm_up_ns: u64,
    /// The measured interval, in simulated time.
    pub duration_ns: u64,
    /// Where chance starts.
    pub seed: u64,
    /// Unlikely schedules.
    pub perturb: Perturb,
    /// A thread that waits for so long, while others get on, starves; `None`: nobody looks.
    pub starvation_ns: Option<u64>,
    /// Whether to write down what happens.
    pub traced: bool,
}

/// What a cell brought.
#[derive(Debug)]
pub struct Run {
    /// For the report; its index is 0, and the command that repeats it is empty: only the caller knows.
    pub cell: Cell,
    /// What happened, if the plan asked for it and nobody got stuck.
    pub trace: Option<Trace>,
}

/// What happened, event by event.
#[derive(Debug)]
pub struct Trace {
    /// In the order of time.
    pub events: Vec<TraceEvent>,
    /// The names of locks, by their numbers in the events.
    pub locks: Vec<String>,
}

/// Runs a cell.
///
/// # Errors
/// When the plan makes no sense, or when the lock broke its promise. A run in which threads get nowhere is no error,
/// but a result of the cell.
pub fn run(plan: &Plan) -> Result<Run> {
    plan.check()?;
    (plan.lock.run)(plan).with_context(|| {
        format!("lock {} on {} CPUs with {} threads, seed {}", plan.lock.name, plan.cpus.len(), plan.threads, plan.seed)
    })
}

/// Runs a cell with a lock for one thread at a time.
pub(super) fn exclusive<L: Lock<Protected>>(plan: &Plan) -> Result<Run> {
    let (section, spread) = plan.section();
    load::exclusive::run_in::<Sim, L, _>(section, spread, Simulated(plan))
}

/// Runs a cell with a lock for readers and writers.
pub(super) fn shared<L: SharedLock>(plan: &Plan) -> Result<Run> {
    let (section, spread) = plan.section();
    load::shared::run_in::<Sim, L, _>(section, spread, Simulated(plan))
}

/// Runs a cell with a count of references.
pub(super) fn counted<C: Counter>(plan: &Plan) -> Result<Run> {
    let (section, spread) = plan.section();
    load::counted::run_in::<Sim, C, _>(section, spread, Simulated(plan))
}

impl Plan {
    /// The named lock and workload on all CPUs of a machine, a thread for each, for 10 ms after 1 ms of warming up.
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

    fn section(&self) -> (Section, Spread) {
        (self.workload.section(), self.workload.spread)
    }

    fn begin_ns(&self) -> u64 {
        self.warm_up_ns
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
            ..Config::new(Arc::clone(&self.machine), self.seed)
        }
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

/// Runs workloads as a plan says.
struct Simulated<'a>(&'a Plan);

/// What the threads of a cell, and whoever reads their counts, share.
struct Stage {
    roles: Roles,
    end_ns: u64,
    /// What each thread has done so far.
    tallies: Vec<Mutable<Counts>>,
    begin: OnceCell<Reading>,
    end: OnceCell<Reading>,
}

/// The state of a cell at one time.
struct Reading {
    machine: Snapshot,
    tallies: Vec<Counts>,
}

impl Stage {
    fn new(plan: &Plan) -> Result<Stage> {
        Ok(Stage {
            roles: plan.workload.roles(plan.threads)?,
            end_ns: plan.end_ns(),
            tallies: (0..plan.threads).map(|_| Mutable::default()).collect(),
            begin: OnceCell::new(),
            end: OnceCell::new(),
        })
    }

    fn tallies(&self) -> Vec<Counts> {
        self.tallies.iter().map(Mutable::get).collect()
    }

    fn read(&self, place: &OnceCell<Reading>, machine: &Snapshot) {
        // Each time comes once.
        let _ = place.set(Reading { machine: machine.clone(), tallies: self.tallies() });
    }

    fn done(&self) -> Counts {
        let add = |a: Counts, b: Counts| Counts { read: a.read + b.read, write: a.write + b.write };
        self.tallies().into_iter().fold(Counts::default(), add)
    }
}

impl Runner for Simulated<'_> {
    type Outcome = Run;

    fn run<W: run::Workload>(self, work: W) -> Result<Run> {
        let plan = self.0;
        let stage = Rc::new(Stage::new(plan)?);
        let probe = SimProbe::new(plan.begin_ns() * NS..plan.end_ns() * NS);
        let mut simulation = Simulation::new(plan.config(), plan.threads as usize);
        let lock = simulation.place(plan.lock.name, work.shared());
        let locals: Vec<Rc<OnceCell<W::Local>>> = (0..plan.threads).map(|_| Rc::default()).collect();
        for (thread, home) in locals.iter().enumerate() {
            let (stage, lock, home, probe) = (Rc::clone(&stage), lock.clone(), Rc::clone(home), probe.clone());
            let body = move || drop(home.set(operate(&stage, &*lock, thread, work, probe)));
            simulation.spawn(plan.affinity(thread), body);
        }
        watch(&mut simulation, plan, &stage);
        match simulation.run() {
            Ok(outcome) => {
                let locals: Vec<_> = locals.into_iter().filter_map(|l| Rc::into_inner(l)?.into_inner()).collect();
                W::check(&lock, &locals, stage.done())?;
                finish(plan, &stage, &probe, outcome)
            }
            Err(stuck) => {
                let stuck = Stuck { what: stuck.kind.to_string(), who: stuck.who, replay: String::new() };
                Ok(Run { cell: plan.cell(Err(stuck)), trace: None })
            }
        }
    }
}

/// What a thread does all day.
fn operate<W: run::Workload>(stage: &Stage, lock: &W::Shared, thread: usize, work: W, mut probe: SimProbe) -> W::Local {
    let mut local = work.local(stage.roles, thread);
    work.prepare();
    let tally = &stage.tallies[thread];
    while Sim::time_ns() < stage.end_ns {
        let mut done = tally.get();
        *done.get_mut(work.operate(lock, &mut local, &mut probe)) += 1;
        tally.set(done);
        Sim::progress();
        work.rest(&mut local);
    }
    local
}

/// Has the counts read at both ends of the interval.
fn watch(simulation: &mut Simulation, plan: &Plan, stage: &Rc<Stage>) {
    let begin = Rc::clone(stage);
    simulation.at(plan.begin_ns(), move |machine| begin.read(&begin.begin, machine));
    let end = Rc::clone(stage);
    simulation.at(plan.end_ns(), move |machine| end.read(&end.end, machine));
}

fn finish(plan: &Plan, stage: &Stage, probe: &SimProbe, outcome: Outcome) -> Result<Run> {
    let (begin, end) = (stage.begin.get(), stage.end.get());
    let (begin, end) = begin.zip(end).context("the simulation ended before the interval did")?;
    let interval = Interval { plan, roles: stage.roles, begin, end };
    let trace = plan.traced.then_some(Trace { events: outcome.trace, locks: outcome.locks });
    Ok(Run { cell: plan.cell(Ok(interval.figures(probe))), trace })
}

/// What happened between two readings.
struct Interval<'a> {
    plan: &'a Plan,
    roles: Roles,
    begin: &'a Reading,
    end: &'a Reading,
}

impl Interval<'_> {
    fn figures(&self, probe: &SimProbe) -> Figures {
        let counts = self.counts();
        let ops: u64 = counts.iter().map(|c| c.total()).sum();
        let reads: u64 = counts.iter().map(|c| c.read).sum();
        let (begin, end) = (&self.begin.machine.counters, &self.end.machine.counters);
        let per_op = |figure: u64| figure as f64 / ops.max(1) as f64;
        let duration_ns = self.plan.duration_ns;
        let times = probe.times();
        Figures {
            ops,
            reads: self.tells_readers().then_some(reads),
            ops_per_s: ops as f64 * 1e9 / duration_ns as f64,
            op_ns: per_op(duration_ns),
            cpu_ns: per_op(end.cpu_ps - begin.cpu_ps) / NS as f64,
            fairness: self.fairness(&counts),
            wait: times.wait(),
            hold: times.hold(),
            handoffs: self.handoffs(),
            transfers_per_op: per_op(end.transfers - begin.transfers),
            remote_transfers_per_op: per_op(end.remote_transfers - begin.remote_transfers),
            voluntary: end.voluntary - begin.voluntary,
            involuntary: end.involuntary - begin.involuntary,
            profile: profile::rows(&self.begin.machine.profile, &self.end.machine.profile),
            notes: self.notes(&counts),
        }
    }

    /// What each thread did.
    fn counts(&self) -> Vec<Counts> {
        let pairs = self.end.tallies.iter().zip(&self.begin.tallies);
        pairs.map(|(e, b)| Counts { read: e.read - b.read, write: e.write - b.write }).collect()
    }

    fn tells_readers(&self) -> bool {
        matches!(self.plan.lock.sort, Sort::Shared | Sort::Sequence)
    }

    /// Among those with the same role; of two roles, the less fair.
    fn fairness(&self, counts: &[Counts]) -> f64 {
        let totals: Vec<u64> = counts.iter().map(|c| c.total()).collect();
        match self.roles {
            Roles::Apart { writers, .. } if self.tells_readers() && writers > 0 => {
                fairness(&totals[..writers]).min(fairness(&totals[writers..]))
            }
            _ => fairness(&totals),
        }
    }

    fn handoffs(&self) -> Handoffs {
        let (begin, end) = (self.begin.machine.counters.handoffs, self.end.machine.counters.handoffs);
        let same_thread = end.same_thread - begin.same_thread;
        let (same_node, other_node) = (end.same_node - begin.same_node, end.other_node - begin.other_node);
        let (all, runs) = (same_thread + same_node + other_node, same_node + other_node);
        let run_length = all as f64 / runs.max(1) as f64;
        Handoffs { same_thread, same_node, other_node, run_length }
    }

    fn notes(&self, counts: &[Counts]) -> Vec<String> {
        let mut notes = Vec::new();
        let idle = counts.iter().filter(|c| c.total() == 0).count();
        if idle == counts.len() {
            notes.push("no operation was completed in the interval: figures per operation are totals".to_owned());
        } else if idle > 0 {
            notes.push(format!("{idle} of {} threads completed no operation in the interval", counts.len()));
        }
        match self.plan.lock.sort {
            Sort::Exclusive if self.plan.workload.reads() => {
                notes.push("this lock does not tell readers from writers: everybody writes".to_owned());
            }
            Sort::Counted if self.plan.workload.reads() => {
                notes.push("references are taken and dropped: nobody reads or writes".to_owned());
            }
            _ => {}
        }
        notes
    }
}
