//! Metal against simulator: every cell of a benchmark's report that the machine's model can express.

use super::judge::{Judgement, judge};
use crate::run::{Plan, run};
use crate::{LOCKS, SimLock, Workload};
use anyhow::{Result, ensure};
use serde::Serialize;
use std::sync::Arc;
use turnwise_bench::report::{LockReport, Method, Report, ScenarioReport};
use turnwise_present::stats::median;
use turnwise_sim::spec::{Class, Machine, NS};

/// Samples with fewer operations than this, or two that differ by more than [`APART`], are repeated, as on metal: a
/// single one of them shows chance.
const FEW: f64 = 1_000.0;
const APART: f64 = 1.1;

/// One host's cells.
#[derive(Serialize)]
pub(super) struct Host {
    command: String,
    commit: Option<String>,
    cpus: usize,
    cpu: Option<String>,
    machine: String,
    provisional: Vec<String>,
    /// What a line costs there, if the benchmark measured it, and how many samples were taken where it does.
    line_ns: Option<f64>,
    samples_here: usize,
    samples: usize,
    cells: Vec<Cell>,
    pub(super) judged: Judgement,
}

/// A cell that can be expressed.
#[derive(Serialize)]
struct Cell {
    scenario: String,
    lock: String,
    metal_ns: f64,
    metal_fairness: Option<f64>,
    /// Otherwise it got stuck.
    ns: Option<f64>,
    fairness: Option<f64>,
}

/// What it is expressed by: scenario, lock on metal and its time, simulated lock.
type Known<'a> = (&'a ScenarioReport, &'a LockReport, f64, &'static SimLock);

fn cells<'a>(report: &'a Report, machine: &'a Machine) -> impl Iterator<Item = Known<'a>> {
    let pairs = report.scenarios.iter().flat_map(|scenario| scenario.locks.iter().map(move |lock| (scenario, lock)));
    pairs.filter_map(|(scenario, metal)| {
        let simulated = LOCKS.iter().find(|lock| lock.name == metal.name)?;
        Some((scenario, metal, metal_ns(metal, machine)?, simulated))
    })
}

/// Returns the median of the samples that were taken on this machine. All of them, if the benchmark did not measure it.
fn metal_ns(metal: &LockReport, machine: &Machine) -> Option<f64> {
    if metal.rounds_line_ns.iter().all(Option::is_none) {
        return Some(metal.op_ns?.median);
    }
    let rounds = metal.rounds_ns.iter().zip(&metal.rounds_line_ns);
    let here = rounds.filter(|(_, around)| is_here(machine, **around));
    let mut found: Vec<f64> = here.filter_map(|(&ns, _)| ns).collect();
    (!found.is_empty()).then(|| median(&mut found))
}

/// Returns whether a cache line cost about what the machine file states.
fn is_here(machine: &Machine, around: Option<f64>) -> bool {
    /// Nearer than any two distances between CPUs.
    const ABOUT: f64 = 0.25;
    let (Some(found), Some(line_ns)) = (around, line_ns(machine)) else { return false };
    (found / line_ns - 1.0).abs() <= ABOUT
}

/// Returns by how many nanoseconds a locked operation takes longer where the nearest other core has written the line.
fn line_ns(machine: &Machine) -> Option<f64> {
    let others = (1..machine.topology.cpus()).map(|cpu| machine.topology.between(0, cpu));
    let nearest = others.filter(|class| *class > Class::SAME_CORE).min()?;
    let more = machine.coherence.rmw_modified.at(nearest).saturating_sub(machine.cpu.rmw_hit);
    Some(more as f64 / NS as f64)
}

/// Returns how many cells there are.
pub(super) fn count(report: &Report, machine: &Machine) -> usize {
    cells(report, machine).count()
}

/// Simulates a host's cells; calls `tick` after each.
///
/// # Errors
/// The report is about something else, or a lock broke its guarantee.
pub(super) fn host(report: &Report, machine: &Arc<Machine>, tick: &mut dyn FnMut()) -> Result<Host> {
    ensure!(report.subject == "mutex", "the benchmark's report is about {}: mutex is wanted", report.subject);
    let mut all = Vec::new();
    for (scenario, metal, metal_ns, lock) in cells(report, machine) {
        let (ns, fairness) = simulate(machine, lock, scenario, &report.method)?.unzip();
        let metal_fairness = metal.fairness.map(|fair| fair.median);
        let (scenario, lock) = (scenario.name.clone(), metal.name.clone());
        all.push(Cell { scenario, lock, metal_ns, metal_fairness, ns, fairness });
        tick();
    }
    let samples = report.lines_ns();
    Ok(Host {
        command: report.command.clone(),
        commit: report.commit.clone(),
        cpus: report.machine.cpus,
        cpu: report.machine.cpu.clone(),
        machine: machine.name.clone(),
        provisional: machine.provisional().into_iter().map(str::to_owned).collect(),
        line_ns: line_ns(machine).filter(|_| !samples.is_empty()),
        samples_here: samples.iter().filter(|&&around| is_here(machine, Some(around))).count(),
        samples: samples.len(),
        judged: judge(all.iter().filter_map(|cell| Some(cell.ns? / cell.metal_ns - 1.0))),
        cells: all,
    })
}

/// Returns time per operation and fairness, from samples as long as those on metal; `None` if a run got stuck.
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

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_sim::spec::load;

    #[test]
    fn samples_of_another_machine_do_not_count() {
        let machine = load("desktop-4").expect("it is built in");
        let line_ns = line_ns(&machine).expect("it has four cores");
        let lock = |around: &[Option<f64>]| -> LockReport {
            let spread = serde_json::json!({ "median": 20.0, "min": 10.0, "max": 30.0 });
            let lock = serde_json::json!({
                "name": "mutex", "ours": true, "sleeps": true, "notes": [], "op_ns": spread,
                "rounds_ns": [10.0, 20.0, 30.0], "rounds_voluntary_per_s": [], "rounds_line_ns": around,
            });
            serde_json::from_value(lock).expect("as a benchmark writes it")
        };
        let (here, there) = (Some(line_ns * 1.2), Some(line_ns * 3.0));
        assert_eq!(metal_ns(&lock(&[]), &machine), Some(20.0), "it was not asked");
        assert_eq!(metal_ns(&lock(&[None; 3]), &machine), Some(20.0), "one core alone");
        assert_eq!(metal_ns(&lock(&[here, there, here]), &machine), Some(20.0), "the mean of 10 and 30");
        assert_eq!(metal_ns(&lock(&[there, there, here]), &machine), Some(30.0));
        assert_eq!(metal_ns(&lock(&[there; 3]), &machine), None);
        assert!(is_here(&machine, here) && !is_here(&machine, there) && !is_here(&machine, None));
    }
}
