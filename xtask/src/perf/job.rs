//! What is run under either version: the cells of one lock in one process of `turnwise-lab bench`, or a program.

use super::believed::Believed;
use super::cells::Cell;
use super::version::Version;
use crate::command::{last_lines, read_json};
use crate::programs::run::bounded;
use crate::programs::table::Ready;
use crate::results::{each, text};
use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use turnwise_present::stats::median;

/// Samples of a cell in one run, whose median counts: each begins with new threads.
pub(super) const SAMPLES: u32 = 4;
/// Their length.
pub(super) const SAMPLE_MS: u32 = 30;

/// The meaning of a cell's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Time of an operation.
    Nanoseconds,
    /// Time of a run.
    Seconds,
    PerSecond,
}

impl Unit {
    /// Returns how many times as fast the new version is.
    pub(crate) fn speed(self, old: f64, new: f64) -> f64 {
        match self {
            Unit::Nanoseconds | Unit::Seconds => old / new,
            Unit::PerSecond => new / old,
        }
    }

    /// Returns the same of each pair of the old and the new one.
    pub(crate) fn speeds(self, pairs: &[[f64; 2]]) -> Vec<f64> {
        pairs.iter().map(|[old, new]| self.speed(*old, *new)).collect()
    }
}

/// One process, and the cells that it measures.
pub(crate) struct Job {
    pub(super) what: What,
    /// Names of its cells.
    pub(crate) cells: Vec<String>,
    pub(super) unit: Unit,
    /// Pairs of runs.
    pub(super) rounds: u32,
}

pub(super) enum What {
    /// Cells of one lock of one subject.
    Bench(Vec<Cell>),
    Program {
        ready: Ready,
        figure: Regex,
    },
}

impl Job {
    /// Returns the jobs that measure cells of `turnwise-lab bench`.
    pub(super) fn of_cells(cells: impl IntoIterator<Item = Cell>, rounds: u32) -> Vec<Job> {
        let mut processes: Vec<Vec<Cell>> = Vec::new();
        for cell in cells {
            let fits = |all: &&mut Vec<Cell>| (&all[0].subject, &all[0].lock) == (&cell.subject, &cell.lock);
            match processes.iter_mut().find(fits) {
                Some(process) => process.push(cell),
                None => processes.push(vec![cell]),
            }
        }
        let job = |of: Vec<Cell>| {
            let cells = of.iter().map(Cell::to_string).collect();
            Job { what: What::Bench(of), cells, unit: Unit::Nanoseconds, rounds }
        };
        processes.into_iter().map(job).collect()
    }

    /// Runs it under a version; returns a value for each cell.
    pub(super) fn run(&self, version: &Version, believed: Option<&Believed>) -> Result<Vec<f64>> {
        match &self.what {
            What::Bench(cells) => bench(version, believed, cells),
            What::Program { ready, figure } => program(version, believed, ready, figure).map(|value| vec![value]),
        }
    }
}

fn bench(version: &Version, believed: Option<&Believed>, cells: &[Cell]) -> Result<Vec<f64>> {
    let Cell { subject, lock, .. } = &cells[0];
    let scenarios: Vec<&str> = cells.iter().map(|cell| cell.scenario.as_str()).collect();
    let file = tempfile::NamedTempFile::new().context("cannot make a file")?;
    let mut command = Command::new(&version.bench);
    believed.iter().for_each(|believed| believed.apply(&mut command));
    // Quick: at most two samples in addition to these, in which every wait is timed.
    command.args(["bench", subject, "--lock", lock, "--quick", "--samples", &SAMPLES.to_string()]);
    command.args(["--sample-ms", &SAMPLE_MS.to_string()]);
    if let Some(reported) = &version.overridden {
        command.args(reported.set.iter().flat_map(|set| ["--set", set])).envs(reported.variables.clone());
    }
    command.arg("--json").arg(file.path()).arg("--scenario").args(&scenarios);
    let (ended, printed) = bounded(&mut command)?;
    ensure!(ended.success(), "`turnwise-lab bench {subject}` fails: {}", last_lines(&printed));
    read(file.path(), lock, &scenarios)
}

/// Returns the lock's time per operation in each scenario, or in an open loop, where the number of operations is given,
/// the 99th percentile of its waits: its samples' median.
fn read(file: &Path, lock: &str, scenarios: &[&str]) -> Result<Vec<f64>> {
    let report: Value = read_json(file, "`turnwise-lab bench`")?;
    ensure!(report["scenarios"].is_array(), "the report of `turnwise-lab bench` has another shape");
    let named = |list: &'_ Value, field: &str, name: &str| each(list).iter().find(|one| one[field] == name).cloned();
    let value = |name: &&str| {
        let lock = named(&report["scenarios"], "name", name).and_then(|found| named(&found["locks"], "name", lock));
        let lock = lock.unwrap_or_default();
        let late = &lock["late"]["rounds_p99_ns"];
        let rounds = if late.is_array() { late } else { &lock["rounds_ns"] };
        let mut samples: Vec<f64> = each(rounds).iter().filter_map(Value::as_f64).collect();
        let left_out =
            named(&report["left_out"], "scenario", name).map_or_else(String::new, |left| text(&left["why"]).into());
        ensure!(!samples.is_empty(), "`turnwise-lab bench` does not measure it in {name} {left_out}");
        Ok(median(&mut samples))
    };
    scenarios.iter().map(value).collect()
}

fn program(version: &Version, believed: Option<&Believed>, ready: &Ready, figure: &Regex) -> Result<f64> {
    let mut command = match &version.overridden {
        Some(reported) => reported.command(&ready.command),
        None => {
            let mut command = Command::new(&version.program);
            believed.iter().for_each(|believed| believed.apply(&mut command));
            command.args(["run", "--lock", "adaptive", "--"]).args(&ready.command);
            command
        }
    };
    let (ended, printed) = bounded(&mut command)?;
    ensure!(ended.success(), "it fails: {}", last_lines(&printed));
    added_up(figure, &printed)
}

/// Returns the sum of the figures in what a program printed.
fn added_up(figure: &Regex, printed: &str) -> Result<f64> {
    let found: Vec<&str> =
        figure.captures_iter(printed).filter_map(|found| found.get(1)).map(|group| group.as_str()).collect();
    ensure!(!found.is_empty(), "it prints nothing like `{figure}`: {}", last_lines(printed));
    let number = |text: &&str| text.parse::<f64>().with_context(|| format!("`{figure}` finds {text}, no number"));
    let all: f64 = found.iter().map(number).sum::<Result<f64>>()?;
    ensure!(all > 0.0 && all.is_finite(), "its figure is {all}, which has no ratio");
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> Cell {
        let [subject, scenario, lock] = text.split(':').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let [subject, scenario, lock, group] = [subject, scenario, lock, "all"].map(str::to_owned);
        Cell { first: lock == "turnwise", subject, scenario, group, lock }
    }

    #[test]
    fn a_process_measures_all_cells_of_a_lock() {
        let cells = ["mutex:a:turnwise", "rwlock:a:turnwise", "mutex:b:std", "mutex:b:turnwise"].map(cell);
        let jobs = Job::of_cells(cells, 3);
        let names: Vec<_> = jobs.iter().map(|job| job.cells.join(" ")).collect();
        assert_eq!(names, ["mutex:a mutex:b", "rwlock:a", "mutex:b:std"]);
    }

    #[test]
    fn the_report_of_a_bench_is_read_by_its_names() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = |name: &str, ns: &[Option<f64>]| serde_json::json!({ "name": name, "rounds_ns": ns });
        let scenario = |name: &str, locks: Vec<serde_json::Value>| serde_json::json!({ "name": name, "locks": locks });
        let scenarios = [
            scenario("a", vec![lock("std", &[Some(1.0)]), lock("turnwise", &[Some(9.0), None, Some(2.5), Some(1.0)])]),
            scenario("b", vec![lock("turnwise", &[Some(7.0)])]),
            scenario("c", vec![lock("turnwise", &[None])]),
            scenario(
                "open",
                vec![serde_json::json!({ "name": "turnwise", "rounds_ns": [1.0],
                "late": { "rounds_p99_ns": [8.0, null, 9.0], "served": 1.0 } })],
            ),
        ];
        let left_out = [serde_json::json!({ "scenario": "d", "why": "be root" })];
        let report = serde_json::json!({ "format": "x", "scenarios": scenarios, "left_out": left_out });
        std::fs::write(file.path(), report.to_string()).unwrap();
        let of = |names: &[&str]| read(file.path(), "turnwise", names);
        assert_eq!(of(&["b", "a"]).unwrap(), [7.0, 2.5]);
        assert_eq!(of(&["open"]).unwrap(), [8.5], "how late, and not how many");
        assert!(format!("{:#}", of(&["d"]).unwrap_err()).ends_with("in d be root"));
        for absent in ["c", "d"] {
            assert!(format!("{:#}", of(&[absent]).unwrap_err()).contains(&format!("in {absent}")));
        }
        std::fs::write(file.path(), "{}").unwrap();
        assert!(format!("{:#}", of(&["a"]).unwrap_err()).contains("another shape"));
    }

    #[test]
    fn the_figures_of_a_program_are_added_up() {
        let figure = Regex::new("(?m)^time: ([0-9.x]+)").unwrap();
        assert_eq!(added_up(&figure, "time: 1.5\nok\ntime: 2\n").unwrap(), 3.5);
        let said = |printed: &str| format!("{:#}", added_up(&figure, printed).unwrap_err());
        assert!(said("segfault\n").contains("nothing like") && said("segfault\n").contains("segfault"));
        assert!(said("time: 1x").contains("no number"));
        assert!(said("time: 0").contains("no ratio"));
    }

    #[test]
    fn above_one_is_faster() {
        assert_eq!(Unit::Nanoseconds.speed(20.0, 10.0), 2.0);
        assert_eq!(Unit::Seconds.speed(1.0, 2.0), 0.5);
        assert_eq!(Unit::PerSecond.speed(10.0, 20.0), 2.0);
    }
}
