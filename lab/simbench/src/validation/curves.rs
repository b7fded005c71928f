//! Shapes that every model of this kind must show: test-and-test-and-set and ticket locks collapse, queues do not.

use crate::run::{Plan, run};
use crate::{SimLock, Workload};
use anyhow::{Context, Result};
use std::sync::Arc;
use turnwise_sim::spec::Machine;

/// CPUs of the curves.
const CPUS: [u32; 6] = [1, 2, 10, 20, 40, 80];
/// Locks of the curves, and whether they collapse beyond one node in theory.
pub(super) const LOCKS: [(&str, Option<bool>); 7] = [
    ("ttas", Some(true)),
    ("ticket", Some(true)),
    ("mcs", Some(false)),
    ("queued", Some(false)),
    ("mutex", Some(false)),
    ("linux-mutex-baseline", None),
    ("linux-mutex-patch1-and-2", None),
];
/// What the threads do: the second is where nothing happens but the lock.
pub(super) const WORKLOADS: [&str; 2] = ["100/4000", "tight"];
/// A lock whose throughput on all CPUs is less than this share of that on one node has collapsed.
const COLLAPSED: f64 = 0.3;

/// Returns how many runs a table takes.
pub(super) const fn count() -> usize {
    CPUS.len() * LOCKS.len() * WORKLOADS.len()
}

fn ops_per_s(machine: &Arc<Machine>, lock: &'static SimLock, workload: &Workload, cpus: u32) -> Result<f64> {
    let plan = Plan {
        cpus: (0..cpus).collect(),
        threads: cpus,
        pinned: true,
        warm_up_ns: 2_000_000,
        duration_ns: 20_000_000,
        ..Plan::new(Arc::clone(machine), lock, workload.clone(), 1)
    };
    let figures = run(&plan)?.cell.result;
    figures.map(|figures| figures.ops_per_s).map_err(|stuck| anyhow::anyhow!("{}: {}", stuck.what, stuck.who))
}

/// Returns one workload's table, as Markdown, and what deviates from theory.
pub(super) fn table(machine: &Arc<Machine>, workload: &str, mut tick: impl FnMut()) -> Result<(String, Vec<String>)> {
    let parsed: Workload = workload.parse()?;
    let mut text = String::from("| lock |");
    CPUS.iter().for_each(|cpus| text += &format!(" {cpus} CPUs |"));
    text += " 80 / one node |\n|---|";
    text += &"---|".repeat(CPUS.len() + 1);
    text += "\n";
    let mut surprises = Vec::new();
    for (name, collapses) in LOCKS {
        let lock = SimLock::find(name)?;
        text += &format!("| `{name}` |");
        let mut curve = Vec::new();
        for cpus in CPUS {
            let ops = ops_per_s(machine, lock, &parsed, cpus).with_context(|| format!("{name} on {cpus} CPUs"))?;
            text += &format!(" {:.3} |", ops / 1e6);
            curve.push(ops);
            tick();
        }
        let share = curve[CPUS.len() - 1] / curve[2];
        text += &format!(" {share:.2} |\n");
        if collapses.is_some_and(|collapses| collapses != (share < COLLAPSED)) {
            surprises.push(format!("`{name}` keeps {share:.2} of its throughput on one node in `{workload}`"));
        }
    }
    Ok((text, surprises))
}
