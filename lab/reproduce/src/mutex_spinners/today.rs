//! The same workload on a modern machine of up to 1024 CPUs.

use super::model::{DIRECTORIES, Model, TODAY, VARIANTS};
use crate::Context;
use crate::aim7_runs::Run;
use crate::report::Plot;
use crate::scaling::{self, COUNTS};
use crate::words::Number;
use anyhow::Result;

/// The paper has 19; with these, too, all CPUs are busy until a lock is in the way.
const USERS_PER_CPU: u32 = 2;
/// Users that are forked all at once queue for so long that the window would show little else.
const RAMP_NS: u64 = 10_000_000;
const WARM_UP_NS: u64 = 30_000_000;
const MEASURED_NS: u64 = 10_000_000;
/// Directories and file systems: those of the tables above, and one of either for each node of the machine.
const PLACES: [(u32, u32, &str); 2] =
    [(DIRECTORIES, 1, "16 directories in one file system"), (64, 64, "64 directories and file systems")];
const NAMES: [&str; 4] = ["baseline", "patch 1", "patches 1 and 2", "turnwise"];

/// The numbers of these curves in `words.toml`.
pub(super) const NUMBERS: [Number<'static>; 5] = [
    ("curves_machine", &scaling::MACHINE),
    ("curves_ms", &(MEASURED_NS / 1_000_000)),
    ("curves_warm_up_ms", &(WARM_UP_NS / 1_000_000)),
    ("curves_ramp_ms", &(RAMP_NS / 1_000_000)),
    ("users_per_cpu", &USERS_PER_CPU),
];

/// Returns jobs a minute of the paper's kernels and of today's locks.
pub(super) fn to_1024(context: &Context<'_>, model: &Model) -> Result<Vec<Plot>> {
    let machine = scaling::machine_of_a_kernel()?;
    let locks = [VARIANTS[0], VARIANTS[1], VARIANTS[2], TODAY];
    let run = |(directories, file_systems), locks, cpus: u32| {
        let (part, nodes) = scaling::part(&machine, cpus);
        Run {
            machine: part,
            directories,
            file_systems,
            ramp_ns: RAMP_NS,
            warm_up_ns: WARM_UP_NS,
            measured_ns: MEASURED_NS * scaling::longer(&machine, cpus),
            whole: false,
            ..model.run(context, "fserver", locks, nodes, USERS_PER_CPU * cpus)
        }
    };
    let rows = || PLACES.iter().flat_map(|&(directories, systems, _)| locks.map(|l| ((directories, systems), l)));
    let runs: Vec<Run> = rows().flat_map(|(place, locks)| COUNTS.map(|cpus| run(place, locks, cpus))).collect();
    let outcomes = context.pool.map_longest_first("mutex_spinners: 1024 CPUs", &runs, Run::cost, Run::run)?;
    let mut jpm = outcomes.iter().map(|outcome| outcome.jpm / 1e3);
    let scaling = PLACES.map(|(_, _, place)| {
        let title = format!("AIM7 fserver, {USERS_PER_CPU} users for each CPU, {place}");
        let of_place = jpm.by_ref().take(NAMES.len() * COUNTS.len());
        scaling::curves([&title, "thousand jobs/min", "CPUs"], &NAMES, of_place)
    });
    Ok(scaling.into())
}
