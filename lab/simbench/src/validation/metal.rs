//! Metal against simulator: every cell of a benchmark's report that the machine's model can express.

use super::{Judged, percent};
use crate::run::{Plan, run};
use crate::{LOCKS, SimLock, Workload};
use anyhow::{Result, ensure};
use std::sync::Arc;
use turnwise_bench::report::{LockReport, Method, Report, ScenarioReport};
use turnwise_present::stats::median;
use turnwise_sim::spec::{Class, Machine, NS};

/// Samples with fewer operations than this, or two that differ by more than [`APART`], are repeated, as on metal: a
/// single one of them shows chance.
const FEW: f64 = 1_000.0;
const APART: f64 = 1.1;

/// Returns the simulated lock that a benchmark's lock is.
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

fn cells<'a>(report: &'a Report, machine: &'a Machine) -> impl Iterator<Item = Cell<'a>> {
    let pairs = report.scenarios.iter().flat_map(|scenario| scenario.locks.iter().map(move |lock| (scenario, lock)));
    pairs.filter_map(|(scenario, metal)| {
        Some(Cell { scenario, metal, metal_ns: metal_ns(metal, machine)?, lock: simulated(&metal.name)? })
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

/// Returns a sentence about the samples that count; empty if all do.
pub(super) fn samples(report: &Report, machine: &Machine) -> String {
    let all = report.lines_ns();
    let Some(line_ns) = line_ns(machine).filter(|_| !all.is_empty()) else { return String::new() };
    let here = all.iter().filter(|&&around| is_here(machine, Some(around))).count();
    format!(
        " Only those samples on metal count around which a cache line from another CPU cost {line_ns:.0} ns, as the \
         machine file says, within a quarter: {here} of {}.",
        all.len()
    )
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

/// Returns the table, as Markdown, and the errors.
pub(super) fn table(report: &Report, machine: &Arc<Machine>, mut tick: impl FnMut()) -> Result<(String, Judged)> {
    ensure!(report.subject == "mutex", "the benchmark's report is about {}: mutex is wanted", report.subject);
    let mut text = String::from(
        "| scenario | lock | metal, ns | simulated, ns | error | metal, fairness | simulated |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut judged = Judged::default();
    for Cell { scenario, metal, metal_ns, lock } in cells(report, machine) {
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
