//! OSv's mutex in OSv's benchmark, on a machine like the one that the document was measured on.

use super::percent;
use crate::run::{Plan, run};
use crate::{SimLock, Workload};
use anyhow::Result;
use std::sync::Arc;
use turnwise_sim::spec;

/// Lock, threads, published nanoseconds per acquisition (`published.toml`, `handoff_spin`).
const PUBLISHED: [(&str, u32, f64); 4] = [
    ("osv-mutex-no-spin", 2, 800.0),
    ("osv-mutex-no-spin", 4, 1800.0),
    ("osv-mutex-spin", 2, 33.0),
    ("osv-mutex-spin", 4, 153.0),
];

/// How many runs the table takes.
pub(super) const RUNS: usize = PUBLISHED.len();

/// The table, as Markdown.
pub(super) fn table(mut tick: impl FnMut()) -> Result<String> {
    let machine = Arc::new(spec::load("osv-4")?);
    let mut text = String::from(
        "| lock | threads | published, ns | simulated, ns | error | run length |\n|---|---|---|---|---|---|\n",
    );
    for (lock, threads, published) in PUBLISHED {
        let workload: Workload = format!("lineage:osv-{threads}").parse()?;
        let plan = Plan {
            cpus: (0..threads.min(machine.topology.cpus())).collect(),
            threads,
            pinned: workload.pinned.unwrap_or(false),
            duration_ns: 20_000_000,
            ..Plan::new(Arc::clone(&machine), SimLock::find(lock)?, workload, 1)
        };
        let row = match run(&plan)?.cell.result {
            Ok(f) => format!("{:.0} | {} | {:.1}", f.op_ns, percent(f.op_ns / published - 1.0), f.handoffs.run_length),
            Err(stuck) => format!("{} | - | -", stuck.what),
        };
        text += &format!("| `{lock}` | {threads} | {published:.0} | {row} |\n");
        tick();
    }
    Ok(text)
}
