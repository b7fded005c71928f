//! OSv's mutex in OSv's benchmark, on a machine like the paper's.

use super::percent;
use crate::run::{Plan, run};
use crate::{SimLock, Workload};
use anyhow::Result;
use std::sync::Arc;
use turnwise_bench::published::{self, HandoffSpin};
use turnwise_sim::spec;

/// The locks, in the order of the columns of `handoff_spin` in `published.toml`.
const LOCKS: [&str; 2] = ["osv-mutex-no-spin", "osv-mutex-spin"];

/// Returns lock, threads, published nanoseconds per acquisition.
fn rows() -> Result<Vec<(&'static str, u32, f64)>> {
    let published: HandoffSpin = published::typed("handoff_spin")?;
    let column = |(n, lock)| published.rows.iter().map(move |row| (lock, row.threads, row.ns[n]));
    Ok(LOCKS.into_iter().enumerate().flat_map(column).collect())
}

/// Returns how many runs the table takes.
pub(super) fn count() -> usize {
    rows().map_or(0, |rows| rows.len())
}

/// Returns the table, as Markdown.
pub(super) fn table(mut tick: impl FnMut()) -> Result<String> {
    let machine = Arc::new(spec::load("osv-4")?);
    let mut text = String::from(
        "| lock | threads | published, ns | simulated, ns | error | run length |\n|---|---|---|---|---|---|\n",
    );
    for (lock, threads, published) in rows()? {
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
