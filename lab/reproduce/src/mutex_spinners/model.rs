//! AIM7's file server mix on the paper's kernels, and the unknown constants.

use crate::Context;
use crate::aim7_runs::{self, Sample};
use crate::bracket::{Tried, nearest, three_digits};
use crate::numbers::Numbers;
use anyhow::{Context as _, Result};
use std::sync::Arc;
use turnwise_aim7::{Length, Outcome, Plan, Setup};
use turnwise_bench::published::{self, MutexSpinners};
use turnwise_sim::spec::Machine;
use turnwise_vfs::journal;

/// The kernels of the three columns.
pub(super) const VARIANTS: [&str; 3] = ["linux-3.7", "linux-3.7-patch-1", "linux-3.7-patch-2"];
/// The same columns a version later.
pub(super) const LATER: [&str; 2] = ["linux-3.8-patch-1", "linux-3.8-patch-2"];
/// Today's locks.
pub(super) const TODAY: &str = "today";

/// All users are forked at once, and wait for each other at first: after a sixth of this time 1500 of them leave most
/// of 80 CPUs idle, whatever the mix.
const WARM_UP_NS: u64 = 60_000_000;
/// How long a user has its CPU if it does not sleep: the machine file's `min_granularity`.
const SLICE_NS: u64 = 3_000_000;
/// Slices that each user has had before a window begins where users come to wait for locks. Until it has had one, a
/// user is not part of the crowd at them, and its CPU is busy.
const SLICES: u64 = 2;
/// Where that is: with fewer nodes hardly any user waits, and every window is alike.
const CROWDED_NODES: u32 = 4;
/// The users of the rows that the constants are fitted on: the fewest that far outnumber CPUs, and so the fastest.
const FITTED: &str = "200-1000";
/// The bracket that the search for the time at the orphan list starts with: with the lower bound no user waits on 4
/// nodes, with the upper one most do.
const ORPHAN_NS: [f64; 2] = [400.0, 2_000.0];

/// The workload with its constants.
pub(super) struct Model {
    pub(super) machine: Arc<Machine>,
    pub(super) published: MutexSpinners,
    /// The private computation of a job.
    pub(super) compute_ns: f64,
    /// How much more that takes on two nodes, as a share; with more nodes more of the memory is far away.
    pub(super) tax: f64,
    /// Either visit to the list of orphans.
    pub(super) orphan_ns: f64,
    journal: journal::Config,
    /// The users that stand for the three ranges, the fewest first.
    users: [u32; 3],
    pub(super) directories: u32,
    file_systems: u32,
    /// Times at the orphan list that were tried, nanoseconds, with thousand jobs a minute of each seed on 4 nodes.
    pub(super) tried: Vec<Tried>,
}

impl Model {
    /// Returns the constants for which the kernel with both patches has the published figures of 1, 2 and 4 nodes, one
    /// after the other: each hardly matters for the rows before its own.
    pub(super) fn fitted(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Model> {
        let journal = journal::Config {
            truncate_handles: numbers.count("truncate_handles")?,
            commit_ns: numbers.times("commit_us", 1000)? as u32,
            ..journal::Config::of_mib(numbers.count("journal_mib")?)
        };
        let mut model = Model {
            machine: numbers.machine(aim7_runs::MACHINE)?,
            published: published::typed("mutex_spinners")?,
            compute_ns: 2.7e6,
            tax: 0.15,
            orphan_ns: ORPHAN_NS[0],
            journal,
            users: [numbers.count("few")?, numbers.count("some")?, numbers.count("many")?],
            directories: numbers.count("directories")?,
            file_systems: numbers.count("file_systems")?,
            tried: Vec::new(),
        };
        for nodes in [1, 2] {
            for _ in 0..context.rounds(2, 3) {
                model.compute_more(context, nodes)?;
            }
        }
        model.fit_orphans(context)?;
        Ok(model)
    }

    /// Returns the users that stand for a range.
    pub(super) fn users(&self, range: &str) -> u32 {
        self.users[["10-100", FITTED].iter().position(|known| *known == range).unwrap_or(2)]
    }

    /// Returns what the kernel with both patches published for this many nodes.
    fn wanted(&self, nodes: u32) -> f64 {
        let row = self.published.rows.iter().find(|row| row.nodes == nodes && row.users == FITTED);
        row.map_or(0.0, |row| row.jpm[2])
    }

    /// Returns a sample of our figures for that kernel.
    fn sample(&self, context: &Context<'_>, nodes: u32) -> Result<Sample> {
        let run = self.run(context, "fserver", VARIANTS[2], nodes, self.users(FITTED));
        let mut samples = Sample::run_all(context, "mutex_spinners: fit", &[(run, seeds(context, nodes))])?;
        samples.pop().context("one for each run")
    }

    /// Where no user waits all CPUs are busy, and a job takes their number x 60 s / jobs a minute: what is missing is
    /// computed, on one node by itself, on two as the tax.
    fn compute_more(&mut self, context: &Context<'_>, nodes: u32) -> Result<()> {
        let jpm = self.sample(context, nodes)?.mean(|outcome| outcome.jpm);
        let missing_ns = self.cpus(nodes) as f64 * 60e9 * (1.0 / self.wanted(nodes) - 1.0 / jpm);
        match nodes {
            1 => self.compute_ns = three_digits((self.compute_ns + missing_ns).clamp(1e6, 6e6)),
            _ => self.tax = three_digits((self.tax + missing_ns / self.compute_ns).clamp(0.01, 0.9)),
        }
        Ok(())
    }

    /// Fits the time at the orphan list: of those tried the one whose figure on 4 nodes is nearest.
    fn fit_orphans(&mut self, context: &Context<'_>) -> Result<()> {
        let wanted = self.wanted(4) / 1e3;
        let found = nearest(ORPHAN_NS, context.rounds(5, 7), wanted, |orphan_ns| {
            self.orphan_ns = orphan_ns;
            let figures = self.sample(context, 4)?.0.iter().map(|outcome| outcome.jpm / 1e3).collect();
            Ok(((), figures))
        })?;
        (self.orphan_ns, self.tried) = (found.value, found.tried);
        Ok(())
    }

    /// Describes the runs of one cell of the table.
    pub(super) fn run(
        &self,
        context: &Context<'_>,
        workfile: &str,
        locks: &'static str,
        nodes: u32,
        users: u32,
    ) -> Plan {
        let some = if context.least { users.min(100) } else { users };
        let plan = aim7_runs::plan(&self.machine, workfile, locks, (nodes, some));
        let warm_up_ns = if context.least { 3_000_000 } else { self.warm_up_ns(nodes, users) };
        // Of n nodes' memory, a share of 1 - 1/n is far away; on two nodes it is a half.
        let far = 2.0 * (1.0 - 1.0 / f64::from(nodes));
        let Model { directories, file_systems, .. } = *self;
        let measured_ns = if context.least { 300_000 } else { context.choose(12_000_000, 120_000_000) };
        Plan {
            setup: Setup {
                journal: Some(journal::Config { orphan_ns: self.orphan_ns as u32, ..self.journal }),
                directories,
                file_systems,
                compute_ns: self.compute_ns as u32,
                tax_permille: (1000.0 * (1.0 + self.tax * far)) as u32,
                scale: 50,
                seed: context.seed,
                ..plan.setup
            },
            length: Length::Window { warm_up_ns, measured_ns },
            ..plan
        }
    }

    /// Returns when the window begins.
    fn warm_up_ns(&self, nodes: u32, users: u32) -> u64 {
        let turns_ns = SLICES * SLICE_NS * u64::from(users) / self.cpus(nodes).max(1);
        if nodes < CROWDED_NODES { WARM_UP_NS } else { turns_ns.max(WARM_UP_NS) }
    }

    /// Returns the CPUs of this many first nodes.
    fn cpus(&self, nodes: u32) -> u64 {
        self.machine.topology.cpus_of_first_nodes(nodes).len() as u64
    }
}

/// Returns the seeds of a cell: where users come to wait, one shows little.
pub(super) fn seeds(context: &Context<'_>, nodes: u32) -> u64 {
    if nodes < CROWDED_NODES || context.least { 1 } else { context.seeds(2, 6) }
}

/// Returns the share of busy time in functions whose names contain one of these, per cent.
pub(super) fn busy(outcome: &Outcome, names: &[&str]) -> f64 {
    // Nothing is 0, not -0.
    outcome.busy_share(names) * 100.0 + 0.0
}

/// Returns the mean of it over the seeds.
pub(super) fn share(sample: &Sample, names: &[&str]) -> f64 {
    sample.mean(|outcome| busy(outcome, names))
}
