//! The same workload on a modern machine of up to 1024 CPUs.

use super::{EXCHANGES, LOCKS, SPIN_LOCKS, TODAY, plan};
use crate::Context;
use crate::aim7_runs::{Run, Sample};
use crate::report::Plot;
use crate::scaling::{self, COUNTS};
use crate::words::Number;
use anyhow::Result;

/// The paper's two kernels, and today's locks.
const KERNELS: [&str; 3] = [LOCKS[0], LOCKS[1], LOCKS[TODAY]];
/// Users that are forked all at once queue for so long that the window would show little else.
const RAMP_NS: u64 = 4_000_000;
const WARM_UP_NS: u64 = 16_000_000;
const MEASURED_NS: u64 = 4_000_000;

/// The numbers of these curves in `words.toml`.
pub(super) const NUMBERS: [Number<'static>; 4] = [
    ("curves_machine", &scaling::MACHINE),
    ("curves_ms", &(MEASURED_NS / 1_000_000)),
    ("curves_warm_up_ms", &(WARM_UP_NS / 1_000_000)),
    ("curves_ramp_ms", &(RAMP_NS / 1_000_000)),
];

/// Paths made for the profiler, jobs a minute, and the time that the dentry cache's locks and counts take.
pub(super) fn to_1024(context: &Context<'_>, compute_ns: f64) -> Result<Vec<Plot>> {
    let machine = scaling::machine_of_a_kernel()?;
    let run = |locks, cpus: u32| {
        let (part, nodes) = scaling::part(&machine, cpus);
        Run {
            nodes,
            users: cpus,
            ramp_ns: RAMP_NS,
            warm_up_ns: WARM_UP_NS,
            measured_ns: MEASURED_NS * scaling::longer(&machine, cpus),
            whole: false,
            ..plan(context, &part, locks, compute_ns, true)
        }
    };
    let runs: Vec<Run> = KERNELS.iter().flat_map(|&locks| COUNTS.map(|cpus| run(locks, cpus))).collect();
    let outcomes =
        context.pool.map_longest_first("dcache: 1024 CPUs", &runs, Run::cost, |run| Ok(Sample(vec![run.run()?])))?;
    let curves = |what: &str, unit: &str, of: &dyn Fn(&Sample) -> f64| {
        let title = format!("high_systime, a user for each CPU: {what}");
        scaling::curves([&title, unit, "CPUs"], &KERNELS, outcomes.iter().map(of))
    };
    Ok(vec![
        curves("paths made", "thousand/s", &|kernel| paths_per_s(kernel) / 1e3),
        curves("jobs", "thousand/min", &|kernel| kernel.mean(|outcome| outcome.jpm / 1e3)),
        curves("time in spin locks and counts", "% of busy time", &|kernel| {
            kernel.mean(|outcome| (outcome.busy_share(SPIN_LOCKS) + outcome.busy_share(EXCHANGES)) * 100.0)
        }),
    ])
}

/// Paths made in a second of the window.
fn paths_per_s(kernel: &Sample) -> f64 {
    kernel.counts()[1] as f64 / kernel.0.iter().map(|outcome| outcome.seconds).sum::<f64>()
}
