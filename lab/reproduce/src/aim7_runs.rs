//! AIM7 on the papers' machine, as in both papers that measured it.

use super::Context;
use super::mean::mean;
use anyhow::{Context as _, Result, anyhow};
use std::ops::Range;
use std::sync::Arc;
use turnwise_aim7::{self, Length, Outcome, Plan, Set, Workfile};
use turnwise_sim::spec::{self, Machine};
use turnwise_vfs::journal;

/// The papers' file systems have small journals.
const JOURNAL_MIB: u32 = 4;

/// Values that are not in a workfile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    /// The private computation of a job.
    pub(super) compute_ns: f64,
    /// How much more that takes on two nodes, as a share; with more nodes more of the memory is far away.
    pub(super) tax: f64,
    /// Either visit to the list of orphans.
    pub(super) orphan_ns: f64,
    /// Whether file systems have a journal.
    pub(super) journal: bool,
    /// Whether a profiler asks for the path of everything that is mapped.
    pub(super) profiler: bool,
}

/// One run.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) machine: Arc<Machine>,
    pub(super) workfile: &'static str,
    /// The locks of a kernel: a name that `turnwise-lab aim7 --list` has.
    pub(super) locks: &'static str,
    pub(super) nodes: u32,
    pub(super) users: u32,
    /// Directories for the users' files.
    pub(super) directories: u32,
    /// File systems that these are spread over.
    pub(super) file_systems: u32,
    /// Each job does only the n-th part of everything.
    pub(super) scale: u32,
    pub(super) constants: Constants,
    pub(super) seed: u64,
    /// Users are forked one after the other over this part of the time of warming up; 0: all at once.
    pub(super) ramp_ns: u64,
    pub(super) warm_up_ns: u64,
    pub(super) measured_ns: u64,
    /// Every user runs all of its jobs once, for as long as that takes, instead of a window.
    pub(super) whole: bool,
}

/// Returns the machine of both.
pub(super) fn machine() -> Result<Arc<Machine>> {
    Ok(Arc::new(spec::load("westmere-ex-80")?))
}

impl Run {
    /// Returns about how long it takes, compared with others: simulated time of all CPUs.
    pub(super) fn cost(&self) -> u64 {
        u64::from(self.nodes * self.machine.topology.cpus_per_node()) * (self.warm_up_ns + self.measured_ns)
    }

    /// Returns jobs a minute, and where the time went. A stuck run is an error that states which thread waits for what.
    pub(super) fn run(&self) -> Result<Outcome> {
        let workfile = Workfile::load(self.workfile).map_err(|fault| anyhow!("{fault:?}"))?;
        let locks = Set::find(self.locks).with_context(|| format!("no set of locks '{}'", self.locks))?;
        let mut plan = Plan::new(workfile, locks, Arc::clone(&self.machine), self.users).on_nodes(self.nodes);
        let Constants { compute_ns, tax, orphan_ns, journal, profiler } = self.constants;
        // Of n nodes' memory, a share of 1 - 1/n is far away; on two nodes it is a half.
        let far = 2.0 * (1.0 - 1.0 / f64::from(self.nodes));
        plan.setup.compute_ns = compute_ns as u32;
        plan.setup.tax_permille = (1000.0 * (1.0 + tax * far)) as u32;
        plan.setup.seed = self.seed;
        plan.setup.scale = self.scale;
        (plan.setup.directories, plan.setup.file_systems) = (self.directories, self.file_systems);
        plan.setup.sleeps = false;
        plan.setup.profiler = profiler;
        let orphan_ns = orphan_ns as u32;
        plan.setup.journal =
            journal.then(|| journal::Config { truncate_handles: 2, orphan_ns, ..journal::Config::of_mib(JOURNAL_MIB) });
        plan.ramp_ns = self.ramp_ns;
        plan.length = match self.whole {
            true => Length::Whole,
            false => Length::Window { warm_up_ns: self.warm_up_ns, measured_ns: self.measured_ns },
        };
        turnwise_aim7::simulate(&plan)
    }
}

/// One run with some seeds: a crowd at a lock comes and goes, so that one window shows little.
pub(super) struct Sample(pub(super) Vec<Outcome>);

impl Sample {
    /// Runs each of these with its seed and those after it, this many in all.
    pub(super) fn run_all(context: &Context<'_>, what: &str, runs: &[(Run, u64)]) -> Result<Vec<Sample>> {
        let runs: Vec<(&Run, Range<u64>)> = runs.iter().map(|(run, count)| (run, 0..*count)).collect();
        Sample::run_each(context, what, &runs)
    }

    /// Does what [`run_all`](Sample::run_all), but with a few seeds only where these agree about jobs a minute: then a
    /// change of that figure between two such samples has a standard error of less than three points.
    pub(super) fn run_enough(context: &Context<'_>, what: &str, runs: &[(Run, u64)]) -> Result<Vec<Sample>> {
        const FEW: u64 = 3;
        const AGREE: f64 = 0.02;
        let few: Vec<(Run, u64)> = runs.iter().map(|(run, count)| (run.clone(), FEW.min(*count))).collect();
        let mut samples = Sample::run_all(context, what, &few)?;
        let unsure = |sample: &Sample| {
            let (jpm, error) = mean(sample.each(|outcome| outcome.jpm));
            error.is_none_or(|error| error > AGREE * jpm)
        };
        let more = |place: &usize| runs[*place].1 > FEW && unsure(&samples[*place]);
        let places: Vec<usize> = (0..runs.len()).filter(more).collect();
        let rest: Vec<(&Run, Range<u64>)> = places.iter().map(|&n| (&runs[n].0, FEW..runs[n].1)).collect();
        for (place, others) in places.iter().zip(Sample::run_each(context, what, &rest)?) {
            samples[*place].0.extend(others.0);
        }
        Ok(samples)
    }

    /// Runs each of these, with those of its seeds.
    fn run_each(context: &Context<'_>, what: &str, runs: &[(&Run, Range<u64>)]) -> Result<Vec<Sample>> {
        let seeded = |run: &Run, n: u64| Run { seed: run.seed + n, ..run.clone() };
        let all: Vec<Vec<Run>> =
            runs.iter().map(|(run, seeds)| seeds.clone().map(|n| seeded(run, n)).collect()).collect();
        let outcomes = context.pool.map_longest_first(what, &all.concat(), Run::cost, Run::run)?;
        let mut outcomes = outcomes.into_iter();
        Ok(all.iter().map(|seeds| Sample(outcomes.by_ref().take(seeds.len()).collect())).collect())
    }

    /// Returns the mean of all seeds: between two states a median is one of them.
    pub(super) fn mean(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        mean(self.0.iter().map(of)).0
    }

    /// Returns the figure of each seed.
    pub(super) fn each(&self, of: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.0.iter().map(of).collect()
    }
}
