//! Locks of the catalogue: which of them collapse.

use crate::SimLock;
use crate::run::{Plan, run};
use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use std::sync::Arc;
use turnwise_sim::spec::Machine;

/// CPUs of the shapes; the third is a node of `westmere-ex-80`.
const CPUS: [u32; 6] = [1, 2, 10, 20, 40, 80];
/// Locks of the shapes that every model of this kind must show, and whether they collapse beyond one node in theory:
/// test-and-test-and-set and ticket locks do, queues do not.
const LOCKS: [(&str, Option<bool>); 7] = [
    ("ttas", Some(true)),
    ("ticket", Some(true)),
    ("mcs", Some(false)),
    ("queued", Some(false)),
    ("mutex", Some(false)),
    ("linux-mutex-baseline", None),
    ("linux-mutex-patch1-and-2", None),
];
/// What the threads do: in the second nothing happens but the lock.
const WORKLOADS: [&str; 2] = ["100/4000", "tight"];
/// A lock whose throughput on all CPUs is less than this share of that on one node has collapsed.
const COLLAPSED: f64 = 0.3;

/// How many runs the shapes take.
pub(super) const RUNS: usize = CPUS.len() * LOCKS.len() * WORKLOADS.len();

/// Throughput on more and more CPUs.
#[derive(Serialize)]
pub(super) struct Shape {
    workload: &'static str,
    cpus: [u32; 6],
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    lock: &'static str,
    ops_per_s: Vec<f64>,
    /// The last over that on one node.
    share: f64,
    /// It is not as in theory.
    surprising: bool,
}

/// Simulates the shapes; calls `tick` after each run.
pub(super) fn shapes(machine: &Arc<Machine>, tick: &mut dyn FnMut()) -> Result<Vec<Shape>> {
    let mut rows = |workload| {
        let rows = LOCKS.iter().map(|&(lock, collapses)| row(machine, lock, collapses, workload, tick));
        rows.collect::<Result<Vec<Row>>>()
    };
    WORKLOADS.iter().map(|&workload| Ok(Shape { workload, cpus: CPUS, rows: rows(workload)? })).collect()
}

fn row(
    machine: &Arc<Machine>,
    lock: &'static str,
    collapses: Option<bool>,
    workload: &str,
    tick: &mut dyn FnMut(),
) -> Result<Row> {
    let mut ops_per_s = Vec::new();
    for cpus in CPUS {
        let plan = Plan {
            cpus: (0..cpus).collect(),
            threads: cpus,
            pinned: true,
            warm_up_ns: 2_000_000,
            duration_ns: 20_000_000,
            ..Plan::new(Arc::clone(machine), SimLock::find(lock)?, workload.parse()?, 1)
        };
        let figures = run(&plan)?.cell.result.map_err(|stuck| anyhow!("{}: {}", stuck.what, stuck.who));
        ops_per_s.push(figures.with_context(|| format!("{lock} on {cpus} CPUs"))?.ops_per_s);
        tick();
    }
    let share = ops_per_s[CPUS.len() - 1] / ops_per_s[2];
    let surprising = collapses.is_some_and(|collapses| collapses != (share < COLLAPSED));
    Ok(Row { lock, ops_per_s, share, surprising })
}
