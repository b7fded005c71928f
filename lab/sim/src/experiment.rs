//! Runs a group of threads on a simulated machine, and reports what the machine showed of the run.

use crate::spec::Machine;
use crate::{Affinity, Config, Simulation, Snapshot};
use anyhow::{Context, Result, anyhow};
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// The threads of a workload, and all that they share.
pub trait ThreadGroup: Sync + 'static {
    /// Returns how many there are.
    fn threads(&self) -> usize;
    /// Does what one of them does, from start to end.
    fn act(&self, thread: usize);
}

/// A place to run a group on the simulated machine.
#[derive(Clone)]
pub struct Experiment {
    /// The machine.
    pub machine: Arc<Machine>,
    /// CPUs that the threads may use.
    pub cpus: Vec<u32>,
    /// Whether thread `n` stays on the `n`th of them, wrapping around.
    pub pinned: bool,
    /// The random seed.
    pub seed: u64,
    /// Simulated time in which counts and profile are taken; `None`: all of the run.
    pub window: Option<(u64, u64)>,
}

/// What the machine showed of a run.
#[derive(Debug)]
pub struct Seen {
    /// Length of the window.
    pub ns: u64,
    /// CPU time over the window's length: how many CPUs were busy.
    pub busy: f64,
    /// Times that a thread slept in it.
    pub voluntary: u64,
    /// Times that a thread was preempted in it.
    pub involuntary: u64,
    /// Mean number of acquisitions in a row by one thread; of the locks that the group reports.
    pub run_length: f64,
}

/// A run: what the group counted, and what the machine showed.
#[derive(Debug)]
pub struct Ran<T> {
    /// What the group had counted at the beginning of the window, if there is one.
    pub begin: Option<T>,
    /// What it had counted at the end.
    pub end: T,
    /// What the machine showed between them.
    pub seen: Seen,
}

/// A moment of a run.
#[derive(Clone, Debug)]
pub struct Mark<T> {
    /// What the machine showed.
    pub machine: Snapshot,
    /// What the threads had counted.
    pub counted: T,
}

/// Both ends of a window of simulated time.
pub struct Window<T>(Rc<[OnceCell<Mark<T>>; 2]>);

impl<T: 'static> Window<T> {
    /// Has both ends marked during the run; `counted` returns what the threads have counted so far.
    pub fn of(simulation: &mut Simulation, ends_ns: [u64; 2], counted: impl Fn() -> T + Clone + 'static) -> Window<T> {
        let window = Window(Rc::new([OnceCell::new(), OnceCell::new()]));
        for (place, ns) in ends_ns.into_iter().enumerate() {
            let (marks, counted) = (Rc::clone(&window.0), counted.clone());
            let mark = move |machine: &Snapshot| Mark { machine: machine.clone(), counted: counted() };
            simulation.at(ns, move |machine| drop(marks[place].set(mark(machine))));
        }
        window
    }

    /// Returns both ends.
    ///
    /// # Errors
    /// The run ended before the window did.
    pub fn ends(&self) -> Result<[&Mark<T>; 2]> {
        let [begin, end] = self.0.each_ref().map(|mark| mark.get());
        begin.zip(end).map(|(begin, end)| [begin, end]).context("the run ended before its window did")
    }
}

impl Experiment {
    /// Returns the first `cpus` CPUs of a machine, a pinned thread on each, all of the run.
    #[must_use]
    pub fn of(machine: &Arc<Machine>, cpus: u32, seed: u64) -> Experiment {
        Experiment { machine: Arc::clone(machine), cpus: (0..cpus).collect(), pinned: true, seed, window: None }
    }

    /// Runs a group. `read` returns what the group itself has counted: at the end, and where there is a window, at its
    /// beginning and at its end.
    ///
    /// # Errors
    /// When the threads make no progress.
    pub fn run<C: ThreadGroup, T: Clone + 'static>(
        &self,
        name: &str,
        group: C,
        read: impl Fn(&C) -> T + Copy + 'static,
    ) -> Result<Ran<T>> {
        let threads = group.threads();
        let config = Config { cpus: self.cpus.clone(), ..Config::new(Arc::clone(&self.machine), self.seed) };
        let mut simulation = Simulation::new(config, threads);
        let group = simulation.place(name, group);
        let acting = group.clone();
        self.run_placed(
            name,
            simulation,
            threads,
            Rc::new(move |thread| acting.act(thread)),
            Rc::new(move || read(&group)),
        )
    }

    /// Runs what is in the simulation's memory: what a thread does, and what the threads have counted so far. Not
    /// generic over the group, of which there are as many types as locks.
    fn run_placed<T: Clone + 'static>(
        &self,
        name: &str,
        mut simulation: Simulation,
        threads: usize,
        act: Rc<dyn Fn(usize)>,
        read: Rc<dyn Fn() -> T>,
    ) -> Result<Ran<T>> {
        for thread in 0..threads {
            let act = Rc::clone(&act);
            let affinity = if self.pinned { Affinity::Cpu(self.cpus[thread % self.cpus.len()]) } else { Affinity::Any };
            simulation.spawn(affinity, move || act(thread));
        }
        let counted = Rc::clone(&read);
        let window = |(begin, end)| Window::of(&mut simulation, [begin, end], move || counted());
        let window = self.window.map(window);
        let outcome = simulation.run().map_err(|stuck| anyhow!("{name}: {}\n{}", stuck.kind, stuck.who))?;
        let Some(window) = window else {
            let all = Snapshot { counters: outcome.counters, profile: outcome.profile };
            return Ok(Ran { begin: None, end: read(), seen: seen(&Snapshot::default(), &all) });
        };
        let [begin, end] = window.ends().with_context(|| name.to_owned())?;
        let seen = seen(&begin.machine, &end.machine);
        Ok(Ran { begin: Some(begin.counted.clone()), end: end.counted.clone(), seen })
    }
}

fn seen(begin: &Snapshot, end: &Snapshot) -> Seen {
    let (b, e) = (&begin.counters, &end.counters);
    let ps = (e.now_ps - b.now_ps).max(1);
    let same = e.handoffs.same_thread - b.handoffs.same_thread;
    let moved = e.handoffs.same_node + e.handoffs.other_node - b.handoffs.same_node - b.handoffs.other_node;
    Seen {
        ns: ps / 1000,
        busy: (e.cpu_ps - b.cpu_ps) as f64 / ps as f64,
        voluntary: e.voluntary - b.voluntary,
        involuntary: e.involuntary - b.involuntary,
        run_length: (same + moved) as f64 / moved.max(1) as f64,
    }
}
