//! AIM7 on the simulated machine: a simulated thread for each user.
//!
//! A full run of 1500 users is far too long. So a window of a steady state is simulated: users begin somewhere in their
//! lists of jobs and begin again after the last, and after a time of warming up the jobs are counted that they
//! complete.

use super::child::{Child, Site};
use super::meter::Meters;
use super::outcome::{Outcome, ScopeRow};
use super::setup::Setup;
use anyhow::{Context, Result, anyhow, ensure};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use turnwise_sim::experiment::{Mark, Window};
use turnwise_sim::spec::{Machine, NS};
use turnwise_sim::{Affinity, Config, Kind, ProfileEntry, Sim, Simulation, Snapshot};
use turnwise_simbench::{functions, profile};
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{WithSet, with_set};

/// A run of AIM7 on the simulated machine.
#[derive(Clone)]
pub struct Plan {
    /// The mix of jobs, the file systems, what a job computes.
    pub setup: Setup,
    /// The locks of that kernel: a name of [`turnwise_vfs::locks::SETS`].
    pub locks: &'static str,
    /// The machine.
    pub machine: Arc<Machine>,
    /// CPUs that the users have.
    pub cpus: Vec<u32>,
    /// Users: N.
    pub users: u32,
    /// What is measured.
    pub length: Length,
    /// Users are forked one after the other over this time; 0: all at once.
    pub ramp_ns: u64,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// Every user runs all of its jobs once.
    Whole,
    /// The jobs completed in a window of simulated time.
    Window {
        /// Before the window.
        warm_up_ns: u64,
        /// The window.
        measured_ns: u64,
    },
}

impl Plan {
    /// Plans this many users on all CPUs of a machine: 40 ms measured after 20 ms, with jobs that do a 50th of AIM7's.
    #[must_use]
    pub fn new(workfile: super::Workfile, locks: &'static str, machine: Arc<Machine>, users: u32) -> Plan {
        let cpus = (0..machine.topology.cpus()).collect();
        let setup = Setup { scale: 50, ..Setup::new(workfile) };
        let length = Length::Window { warm_up_ns: 20_000_000, measured_ns: 40_000_000 };
        Plan { setup, locks, machine, cpus, users, length, ramp_ns: 0 }
    }

    /// Uses the CPUs of this many first nodes, as with numactl.
    #[must_use]
    pub fn on_nodes(mut self, nodes: u32) -> Plan {
        self.cpus = self.machine.topology.cpus_of_first_nodes(nodes);
        self
    }

    fn check(&self) -> Result<()> {
        let cpus = self.machine.topology.cpus();
        ensure!(self.users > 0, "a run needs a user");
        ensure!(!self.cpus.is_empty(), "a run needs a CPU");
        if let Some(cpu) = self.cpus.iter().find(|&&cpu| cpu >= cpus) {
            anyhow::bail!("machine {} has no CPU {cpu}: it has {cpus}, from 0", self.machine.name);
        }
        if let Length::Window { measured_ns, .. } = self.length {
            ensure!(measured_ns > 0, "a window must last longer than 0 ns");
        }
        Ok(())
    }

    fn config(&self) -> Config {
        Config {
            cpus: self.cpus.clone(),
            arena_bytes: ARENA_BYTES,
            stack_bytes: STACK_BYTES,
            ..Config::new(Arc::clone(&self.machine), self.setup.seed)
        }
    }
}

/// Simulated memory for dentries, inodes, data and processes.
const ARENA_BYTES: usize = 1 << 30;
/// Jobs nest deeper than the loops of a benchmark.
const STACK_BYTES: usize = 128 << 10;

/// Runs AIM7 on the simulated machine: one seed is one outcome.
///
/// # Errors
/// The plan makes no sense, the file system refuses something, or the users got stuck.
pub fn simulate(plan: &Plan) -> Result<Outcome> {
    plan.check()?;
    let Plan { users, cpus, locks, .. } = plan;
    let outcome = with_set::<Sim, _>(locks, plan).with_context(|| format!("no set of locks {locks}"))?;
    outcome.with_context(|| format!("{users} users on {} CPUs with the locks {locks}", cpus.len()))
}

impl WithSet<Sim> for &Plan {
    type Out = Result<Outcome>;

    fn with<L: LockSet<Sim>>(self) -> Result<Outcome> {
        run::<L>(self)
    }
}

/// What users have done so far.
#[derive(Clone, Copy, Default)]
struct Tally {
    jobs: u64,
    meters: Meters,
}

/// What users and the readers of their counts share.
struct UserStates {
    tallies: Vec<Cell<Tally>>,
    commits: Cell<u64>,
    users_left: Cell<u32>,
    /// When the last user ended so far.
    ended_ns: Cell<u64>,
    failure: RefCell<Option<anyhow::Error>>,
}

impl UserStates {
    fn new(users: u32) -> UserStates {
        UserStates {
            tallies: (0..users).map(|_| Cell::default()).collect(),
            commits: Cell::new(0),
            users_left: Cell::new(users),
            ended_ns: Cell::new(0),
            failure: RefCell::new(None),
        }
    }

    /// Returns what all users have done so far.
    fn counted(&self) -> Tally {
        let add = |all: Tally, one: Tally| Tally {
            jobs: all.jobs + one.jobs,
            meters: all.meters.with(one.meters, |a, b| a + b),
        };
        self.tallies.iter().map(Cell::get).fold(Tally::default(), add)
    }

    fn note(&self, user: usize, jobs: u64, meters: Meters) {
        self.tallies[user].set(Tally { jobs: self.tallies[user].get().jobs + jobs, meters });
    }

    fn fail(&self, error: anyhow::Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }
}

/// Runs the plan with one set of locks.
fn run<L: LockSet<Sim>>(plan: &Plan) -> Result<Outcome> {
    let journals = plan.setup.journal.map_or(0, |_| plan.setup.file_systems);
    let mut simulation = Simulation::new(plan.config(), (plan.users + journals) as usize);
    let site = simulation.build(|| Site::<L>::new(&plan.setup, plan.users));
    let site = Rc::new(site?);
    let users = Rc::new(UserStates::new(plan.users));
    for number in 0..plan.users {
        let (site, users, length) = (Rc::clone(&site), Rc::clone(&users), plan.length);
        let later_ns = plan.ramp_ns * u64::from(number) / u64::from(plan.users);
        simulation.spawn(Affinity::Any, move || {
            if later_ns > 0 {
                Sim::sleep(later_ns);
            }
            if let Err(error) = user(&site, &users, number, length) {
                users.fail(error);
            }
            users.users_left.set(users.users_left.get() - 1);
            if users.users_left.get() == 0 {
                users.commits.set(site.files.commits());
                site.files.dismiss();
            }
        });
    }
    for system in 0..site.files.journals() {
        let site = Rc::clone(&site);
        simulation.spawn(Affinity::Any, move || Sim::in_kernel(|| site.files.commit_on(system)));
    }
    // The last user drops it: the simulated memory does not outlive the run.
    drop(site);
    let window = match plan.length {
        Length::Whole => None,
        Length::Window { warm_up_ns, measured_ns } => {
            let (ends, counting) = ([warm_up_ns, warm_up_ns + measured_ns], Rc::clone(&users));
            Some(Window::of(&mut simulation, ends, move || counting.counted()))
        }
    };
    let outcome = simulation.run();
    if let Some(failure) = users.failure.borrow_mut().take() {
        return Err(failure);
    }
    let outcome = outcome.map_err(|stuck| anyhow!("the simulated run got stuck: {stuck}"))?;
    let last = Snapshot { counters: outcome.counters, profile: outcome.profile };
    let start = Mark { machine: Snapshot::default(), counted: Tally::default() };
    let last = Mark { machine: last, counted: users.counted() };
    let [begin, end] = window.as_ref().map_or(Ok([&start, &last]), Window::ends)?;
    Ok(outcome_of(plan, &users, begin, end))
}

fn user<L: LockSet<Sim>>(site: &Site<L>, users: &UserStates, number: u32, length: Length) -> Result<()> {
    let mut child = Sim::in_kernel(|| Child::new(site, number))?;
    let user = number as usize;
    match length {
        Length::Whole => {
            let jobs = child.run_all()?;
            users.note(user, jobs.into(), child.meters);
        }
        Length::Window { warm_up_ns, measured_ns } => {
            child.skip_some();
            while Sim::time_ns() < warm_up_ns + measured_ns && users.failure.borrow().is_none() {
                child.next_job()?;
                users.note(user, 1, child.meters);
            }
        }
    }
    Sim::in_kernel(|| child.exit())?;
    // The driver's clock runs until it has waited for the last user: exits are part of a run.
    users.ended_ns.set(Sim::time_ns());
    Ok(())
}

fn outcome_of(plan: &Plan, users: &UserStates, begin: &Mark<Tally>, end: &Mark<Tally>) -> Outcome {
    let ns = match plan.length {
        Length::Whole => users.ended_ns.get(),
        Length::Window { measured_ns, .. } => measured_ns,
    };
    let (before, after) = (begin.machine.counters, end.machine.counters);
    let seconds = ns as f64 / 1e9;
    let jobs = end.counted.jobs - begin.counted.jobs;
    let of_aim7 = jobs as f64 / f64::from(plan.setup.scale);
    let cpu_s = (after.cpu_ps - before.cpu_ps) as f64 / NS as f64 / 1e9;
    Outcome {
        jobs,
        seconds,
        jpm: 60.0 * of_aim7 / seconds,
        cpu_ms_per_job: cpu_s * 1e3 / of_aim7,
        busy: cpu_s / (seconds * plan.cpus.len() as f64),
        commits: users.commits.get(),
        meters: end.counted.meters.with(begin.counted.meters, |end, begin| end - begin),
        profile: profile::rows(&begin.machine.profile, &end.machine.profile),
        scopes: scopes(&begin.machine.profile, &end.machine.profile),
    }
}

/// Returns what processes did, by command and by named part of the kernel, between two profiles.
fn scopes(begin: &[ProfileEntry], end: &[ProfileEntry]) -> Vec<ScopeRow> {
    let spent = profile::spent(begin, end);
    let all: u64 = spent.iter().filter(|(entry, _)| entry.kind != Kind::Idle).map(|(_, ps)| ps).sum();
    let mut sums: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for (entry, ps) in spent.into_iter().filter(|(entry, _)| !entry.command.is_empty()) {
        let function = functions::at(entry.file, entry.line, entry.column).unwrap_or(entry.file);
        *sums.entry((entry.command, entry.scope, function)).or_default() += ps;
    }
    let row = |((command, scope, function), ps): ((&str, &str, &str), u64)| ScopeRow {
        command: command.to_owned(),
        scope: scope.to_owned(),
        function: function.to_owned(),
        share: ps as f64 / all.max(1) as f64,
    };
    sums.into_iter().map(row).collect()
}
