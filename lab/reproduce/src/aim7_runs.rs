//! AIM7 on the papers' machine, as in both papers that measured it.

use super::Context;
use super::mean::mean;
use anyhow::Result;
use std::sync::Arc;
use turnwise_aim7::{Length, Outcome, Plan, Workfile};
use turnwise_sim::spec::Machine;

/// The machine of both papers.
pub(super) const MACHINE: &str = "westmere-ex-80";

/// Returns a run of a workfile with the locks of a kernel on this many first nodes: all users are forked at once.
pub(super) fn plan(machine: &Arc<Machine>, workfile: &str, locks: &'static str, (nodes, users): (u32, u32)) -> Plan {
    let workfile = Workfile::load(workfile).expect("each workfile of a paper is built in");
    Plan::new(workfile, locks, Arc::clone(machine), users).on_nodes(nodes)
}

/// Returns about how long a run takes, compared with others: simulated time of all CPUs.
fn cost(plan: &Plan) -> u64 {
    match plan.length {
        Length::Whole => u64::MAX,
        Length::Window { warm_up_ns, measured_ns } => plan.cpus.len() as u64 * (warm_up_ns + measured_ns),
    }
}

/// Returns the run whose seed comes this many later.
fn after(run: &Plan, seeds: u64) -> Plan {
    let mut run = run.clone();
    run.setup.seed += seeds;
    run
}

/// One run with some seeds: a crowd at a lock comes and goes, so that one window shows little.
pub(super) struct Sample(pub(super) Vec<Outcome>);

impl Sample {
    /// Runs each of these with its seed and those after it, this many in all.
    pub(super) fn run_all(context: &Context<'_>, what: &str, runs: &[(Plan, u64)]) -> Result<Vec<Sample>> {
        let all: Vec<Plan> =
            runs.iter().flat_map(|(run, count)| (0..*count).map(move |seeds| after(run, seeds))).collect();
        let outcomes = context.pool.map_longest_first(|_| what.to_owned(), &all, cost, turnwise_aim7::simulate)?;
        let mut outcomes = outcomes.into_iter();
        Ok(runs.iter().map(|(_, count)| Sample(outcomes.by_ref().take(*count as usize).collect())).collect())
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
        let rest: Vec<(Plan, u64)> =
            places.iter().map(|&place| (after(&runs[place].0, FEW), runs[place].1 - FEW)).collect();
        for (place, others) in places.iter().zip(Sample::run_all(context, what, &rest)?) {
            samples[*place].0.extend(others.0);
        }
        Ok(samples)
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
