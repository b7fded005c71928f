//! AIM7's file server mix on the document's kernels, and the constants that are not known.

use crate::aim7::Outcome;
use crate::reproduce::Context;
use crate::reproduce::aim7_runs::{self, Constants, Run};
use crate::reproduce::fit::{Unknown, distance, fit};
use crate::reproduce::published::{self, MutexSpinners};
use crate::reproduce::report::Fitted;
use anyhow::Result;
use std::sync::Arc;
use turnwise_sim::spec::Machine;

/// The kernels of the three columns.
pub(super) const VARIANTS: [&str; 3] = ["linux-3.7", "linux-3.7-patch-1", "linux-3.7-patch-2"];
/// Today's locks.
pub(super) const TODAY: &str = "today";

/// All users are forked at once, and wait for each other at first: after a sixth of this time 1500 of them leave most
/// of 80 CPUs idle, whatever the mix.
const WARM_UP_NS: u64 = 60_000_000;
/// So long does a user have its CPU if it does not sleep: the machine file's `min_granularity`.
const SLICE_NS: u64 = 3_000_000;
/// Slices that each user has had before a window begins where users come to wait for locks. Until it has had one, a
/// user is no part of the crowd at them, and its CPU is busy.
const SLICES: u64 = 2;
/// Where that is: with fewer nodes hardly anybody waits, and every window is alike.
const CROWDED_NODES: u32 = 4;
/// The users of the rows that the constants are fitted on: of many more than CPUs the fewest, and so the fastest.
const FITTED_USERS: u32 = 600;

/// The users that stand for a range.
pub(super) fn users(range: &str) -> u32 {
    match range {
        "10-100" => 50,
        "200-1000" => 600,
        _ => 1500,
    }
}

/// The workload with its constants.
pub(super) struct Model {
    pub(super) machine: Arc<Machine>,
    pub(super) published: MutexSpinners,
    pub(super) constants: Constants,
}

const UNKNOWNS: [Unknown; 3] = [
    Unknown { name: "compute, ns", low: 1_500_000.0, high: 6_000_000.0, start: 2_850_000.0, whole: false },
    Unknown { name: "tax", low: 0.02, high: 0.8, start: 0.12, whole: false },
    Unknown { name: "orphan list, ns", low: 200.0, high: 10_000.0, start: 950.0, whole: false },
];

fn constants(values: &[f64]) -> Constants {
    Constants { compute_ns: values[0], tax: values[1], orphan_ns: values[2], journal: true, profiler: false }
}

impl Model {
    /// The constants for which the kernel with both patches has the published figures of 1, 2 and 4 nodes.
    pub(super) fn fitted(context: &Context<'_>) -> Result<Model> {
        let published: MutexSpinners = published::typed(super::NAME)?;
        let wanted = |nodes: u32| {
            let row = published.rows.iter().find(|row| row.nodes == nodes && users(&row.users) == FITTED_USERS);
            row.map_or(0.0, |row| row.jpm[2])
        };
        let mut model = Model {
            machine: aim7_runs::machine()?,
            constants: constants(&[1.0, 0.1, 1.0]),
            published: published.clone(),
        };
        let found = fit(&UNKNOWNS, context.rounds(6, 40), |values| {
            model.constants = constants(values);
            let runs: Vec<Run> =
                [1, 2, 4].map(|nodes| model.run(context, "fserver", VARIANTS[2], nodes, FITTED_USERS)).to_vec();
            let outcomes = context.pool.map("mutex_spinners: fit", &runs, Run::run)?;
            let pairs: Vec<(f64, f64)> = outcomes.iter().zip([1, 2, 4]).map(|(o, n)| (o.jpm, wanted(n))).collect();
            Ok(distance(&pairs))
        })?;
        model.constants = constants(&found.values);
        Ok(model)
    }

    /// One cell.
    pub(super) fn run(
        &self,
        context: &Context<'_>,
        workfile: &'static str,
        locks: &'static str,
        nodes: u32,
        users: u32,
    ) -> Run {
        Run {
            machine: Arc::clone(&self.machine),
            workfile,
            locks,
            nodes,
            users: if context.least { users.min(100) } else { users },
            directories: 1,
            file_systems: 1,
            scale: 50,
            constants: self.constants,
            seed: context.seed,
            ramp_ns: 0,
            warm_up_ns: if context.least { 200_000 } else { self.warm_up_ns(nodes, users) },
            measured_ns: if context.least { 300_000 } else { context.choose(12_000_000, 40_000_000) },
        }
    }

    /// When the window begins.
    fn warm_up_ns(&self, nodes: u32, users: u32) -> u64 {
        let topology = &self.machine.topology;
        let cpus = (0..topology.cpus()).filter(|&cpu| topology.node(cpu) < nodes).count() as u64;
        let turns_ns = SLICES * SLICE_NS * u64::from(users) / cpus.max(1);
        if nodes < CROWDED_NODES { WARM_UP_NS } else { turns_ns.max(WARM_UP_NS) }
    }

    /// What was fitted, on what.
    pub(super) fn described(&self) -> Vec<Fitted> {
        let fitted = |what: &str, value: f64, unit: &str, row: usize| Fitted {
            what: what.to_owned(),
            value,
            unit: unit.to_owned(),
            on: format!("mutex_spinners.rows[{row}].jpm[2]"),
        };
        let Constants { compute_ns, tax, orphan_ns, .. } = self.constants;
        vec![
            fitted("what a job computes", compute_ns / 1e6, "ms", 7),
            fitted("how much more that takes on two nodes", tax * 100.0, "%", 6),
            fitted("how long either visit to the orphan list holds its mutex", orphan_ns, "ns", 5),
        ]
    }
}

/// Whether the constants were fitted on this cell.
pub(super) fn is_fitted(range: &str, nodes: u32, column: usize) -> bool {
    users(range) == FITTED_USERS && nodes < 8 && column == 2
}

/// The share of busy time in functions whose names contain this, per cent.
pub(super) fn share(outcome: &Outcome, names: &[&str]) -> f64 {
    // Nothing is 0, not -0.
    outcome.busy_share(names) * 100.0 + 0.0
}
