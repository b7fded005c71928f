//! AIM7 on the papers' machine, as in both papers that measured it.

use super::Context;
use super::mean::mean;
use anyhow::Result;
use std::ops::Range;
use std::sync::Arc;
use turnwise_aim7::{Length, Outcome, Plan, Workfile};
use turnwise_sim::spec::Machine;
use turnwise_vfs::journal;

/// The machine of both papers.
pub(super) const MACHINE: &str = "westmere-ex-80";

/// Values that are not in a workfile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    /// The private computation of a job.
    pub(super) compute_ns: f64,
    /// How much more that takes on two nodes, as a share; with more nodes more of the memory is far away.
    pub(super) tax: f64,
    /// Either visit to the list of orphans.
    pub(super) orphan_ns: f64,
    /// The file systems' journals, if they have any.
    pub(super) journal: Option<journal::Config>,
    /// Whether a profiler asks for the path of everything that is mapped.
    pub(super) profiler: bool,
}

/// Returns a run of a workfile with the locks of a kernel on this many first nodes: all users are forked at once.
pub(super) fn plan(
    machine: &Arc<Machine>,
    workfile: &str,
    locks: &'static str,
    (nodes, users): (u32, u32),
    constants: Constants,
) -> Plan {
    let Constants { compute_ns, tax, orphan_ns, journal, profiler } = constants;
    let workfile = Workfile::load(workfile).expect("each workfile of a paper is built in");
    let mut plan = Plan::new(workfile, locks, Arc::clone(machine), users).on_nodes(nodes);
    // Of n nodes' memory, a share of 1 - 1/n is far away; on two nodes it is a half.
    let far = 2.0 * (1.0 - 1.0 / f64::from(nodes));
    plan.setup.compute_ns = compute_ns as u32;
    plan.setup.tax_permille = (1000.0 * (1.0 + tax * far)) as u32;
    plan.setup.profiler = profiler;
    plan.setup.journal = journal.map(|journal| journal::Config { orphan_ns: orphan_ns as u32, ..journal });
    plan
}

/// Returns about how long a run takes, compared with others: simulated time of all CPUs.
fn cost(plan: &Plan) -> u64 {
    match plan.length {
        Length::Whole => u64::MAX,
        Length::Window { warm_up_ns, measured_ns } => plan.cpus.len() as u64 * (warm_up_ns + measured_ns),
    }
}

/// One run with some seeds: a crowd at a lock comes and goes, so that one window shows little.
pub(super) struct Sample(pub(super) Vec<Outcome>);

impl Sample {
    /// Runs each of these with its seed and those after it, this many in all.
    pub(super) fn run_all(context: &Context<'_>, what: &str, runs: &[(Plan, u64)]) -> Result<Vec<Sample>> {
        let runs: Vec<(&Plan, Range<u64>)> = runs.iter().map(|(run, count)| (run, 0..*count)).collect();
        Sample::run_each(context, what, &runs)
    }

    /// Does what [`run_all`](Sample::run_all), but with a few seeds only where these agree about jobs a minute: then a
    /// change of that figure between two such samples has a standard error of less than three points.
    pub(super) fn run_enough(context: &Context<'_>, what: &str, runs: &[(Plan, u64)]) -> Result<Vec<Sample>> {
        const FEW: u64 = 3;
        const AGREE: f64 = 0.02;
        let few: Vec<(Plan, u64)> = runs.iter().map(|(run, count)| (run.clone(), FEW.min(*count))).collect();
        let mut samples = Sample::run_all(context, what, &few)?;
        let unsure = |sample: &Sample| {
            let (jpm, error) = mean(sample.each(|outcome| outcome.jpm));
            error.is_none_or(|error| error > AGREE * jpm)
        };
        let more = |place: &usize| runs[*place].1 > FEW && unsure(&samples[*place]);
        let places: Vec<usize> = (0..runs.len()).filter(more).collect();
        let rest: Vec<(&Plan, Range<u64>)> = places.iter().map(|&n| (&runs[n].0, FEW..runs[n].1)).collect();
        for (place, others) in places.iter().zip(Sample::run_each(context, what, &rest)?) {
            samples[*place].0.extend(others.0);
        }
        Ok(samples)
    }

    /// Runs each of these, with those of its seeds.
    fn run_each(context: &Context<'_>, what: &str, runs: &[(&Plan, Range<u64>)]) -> Result<Vec<Sample>> {
        let seeded = |run: &Plan, n: u64| {
            let mut run = run.clone();
            run.setup.seed += n;
            run
        };
        let all: Vec<Vec<Plan>> =
            runs.iter().map(|(run, seeds)| seeds.clone().map(|n| seeded(run, n)).collect()).collect();
        let outcomes =
            context.pool.map_longest_first(|_| what.to_owned(), &all.concat(), cost, turnwise_aim7::simulate)?;
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
