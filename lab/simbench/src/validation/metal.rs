//! Metal against simulator: every cell of a benchmark's report that the machine's model can express.

use super::{Judged, percent};
use crate::run::{Plan, run};
use crate::{LOCKS, SimLock, Workload};
use anyhow::{Result, ensure};
use std::sync::Arc;
use turnwise_bench::report::{LockReport, Method, Report, ScenarioReport};
use turnwise_present::stats::median;
use turnwise_sim::spec::Machine;

/// Samples with fewer operations than this, or two that differ by more than [`APART`], are some of several, as on
/// metal: what one of them shows is chance.
const FEW: f64 = 1_000.0;
const APART: f64 = 1.1;

/// The simulated lock that a benchmark's lock is.
fn simulated(bench: &str) -> Option<&'static SimLock> {
    LOCKS.iter().find(|lock| lock.name == bench)
}

/// A cell that can be expressed.
struct Cell<'a> {
    scenario: &'a ScenarioReport,
    metal: &'a LockReport,
    metal_ns: f64,
    lock: &'static SimLock,
}

fn cells(report: &Report) -> impl Iterator<Item = Cell<'_>> {
    let pairs = report.scenarios.iter().flat_map(|scenario| scenario.locks.iter().map(move |lock| (scenario, lock)));
    pairs.filter_map(|(scenario, metal)| {
        Some(Cell { scenario, metal, metal_ns: metal.op_ns?.median, lock: simulated(&metal.name)? })
    })
}

/// How many cells there are.
pub(super) fn count(report: &Report) -> usize {
    cells(report).count()
}

/// The table, as Markdown, and the errors.
pub(super) fn table(report: &Report, machine: &Arc<Machine>, mut tick: impl FnMut()) -> Result<(String, Judged)> {
    ensure!(report.subject == "mutex", "the benchmark's report is about {}: mutex is wanted", report.subject);
    let mut text = String::from(
        "| scenario | lock | metal, ns | simulated, ns | error | metal, fairness | simulated |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut judged = Judged::default();
    for Cell { scenario, metal, metal_ns, lock } in cells(report) {
        let fair = metal.fairness.map_or("-".to_owned(), |fair| format!("{:.2}", fair.median));
        let row = match simulate(machine, lock, scenario, &report.method)? {
            Some((ns, fairness)) => {
                let error = ns / metal_ns - 1.0;
                judged.add(error);
                format!("{ns:.1} | {} | {fair} | {fairness:.2}", percent(error))
            }
            None => format!("stuck | - | {fair} | -"),
        };
        text += &format!("| {} | {} | {metal_ns:.1} | {row} |\n", scenario.name, metal.name);
        tick();
    }
    Ok((text, judged))
}

/// Time per operation and fairness, from samples as long as those on metal; `None` if a run got stuck.
fn simulate(
    machine: &Arc<Machine>,
    lock: &'static SimLock,
    scenario: &ScenarioReport,
    method: &Method,
) -> Result<Option<(f64, f64)>> {
    let workload: Workload = format!("mutex:{}", scenario.name).parse()?;
    let duration_ns = u64::from(method.sample_ms) * 1_000_000;
    let sample = |seed| {
        let plan = Plan {
            threads: workload.threads.unwrap_or(1),
            pinned: workload.pinned.unwrap_or(false),
            duration_ns,
            warm_up_ns: (duration_ns / 10).min(20_000_000), // as on metal
            ..Plan::new(Arc::clone(machine), lock, workload.clone(), seed)
        };
        anyhow::Ok(run(&plan)?.cell.result.ok().map(|figures| (figures.op_ns, figures.fairness)))
    };
    let (Some(first), Some(second)) = (sample(1)?, sample(2)?) else { return Ok(None) };
    let many = duration_ns as f64 / first.0.max(second.0) >= FEW;
    if many && first.0 < second.0 * APART && second.0 < first.0 * APART {
        return Ok(Some(first));
    }
    let mut samples = vec![first, second];
    for seed in 3..=u64::from(method.samples) {
        let Some(more) = sample(seed)? else { return Ok(None) };
        samples.push(more);
    }
    let (mut ns, mut fairness): (Vec<_>, Vec<_>) = samples.into_iter().unzip();
    Ok(Some((median(&mut ns), median(&mut fairness))))
}
