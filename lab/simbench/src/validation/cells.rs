//! Locks of the catalogue: which of them collapse, and OSv's mutex in OSv's benchmark.

use crate::run::{Plan, run};
use crate::{SimLock, Workload};
use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use std::sync::Arc;
use turnwise_bench::published::{self, HandoffSpin};
use turnwise_sim::spec::{self, Machine};

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

/// OSv's mutex, published and simulated.
#[derive(Serialize)]
pub(super) struct Osv {
    lock: &'static str,
    threads: u32,
    published_ns: f64,
    /// Otherwise it got stuck.
    ns: Option<f64>,
    run_length: Option<f64>,
}

/// The locks, in the order of the columns of `handoff_spin` in the papers' `published.toml`.
const OSV: [&str; 2] = ["osv-mutex-no-spin", "osv-mutex-spin"];

fn osv_published() -> Result<HandoffSpin> {
    published::typed("handoff_spin")
}

/// Returns how many runs they take.
pub(super) fn osv_runs() -> Result<usize> {
    Ok(osv_published()?.rows.len() * OSV.len())
}

/// Simulates them on a machine like the paper's; calls `tick` after each run.
pub(super) fn osv(tick: &mut dyn FnMut()) -> Result<Vec<Osv>> {
    let (machine, published) = (Arc::new(spec::load("osv-4")?), osv_published()?);
    let mut found = Vec::new();
    for (column, lock) in OSV.into_iter().enumerate() {
        for row in &published.rows {
            let workload: Workload = format!("lineage:osv-{}", row.threads).parse()?;
            let plan = Plan {
                cpus: (0..row.threads.min(machine.topology.cpus())).collect(),
                threads: row.threads,
                pinned: workload.pinned.unwrap_or(false),
                duration_ns: 20_000_000,
                ..Plan::new(Arc::clone(&machine), SimLock::find(lock)?, workload, 1)
            };
            let figures = run(&plan)?.cell.result.ok();
            let (ns, run_length) = figures.map(|f| (f.op_ns, f.handoffs.run_length)).unzip();
            found.push(Osv { lock, threads: row.threads, published_ns: row.ns[column], ns, run_length });
            tick();
        }
    }
    Ok(found)
}
