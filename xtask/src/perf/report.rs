//! The results, as a table for a commit message and as JSON.

use super::job::Unit;
use super::measure::{Measured, Outcome};
use super::stats::{self, Interval, Verdict};
use crate::results::template::render;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnwise_present::machine::Machine;
use turnwise_present::stats::median;

/// What has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    pub(crate) cell: String,
    pub(crate) why: String,
}

/// The result for one cell.
#[derive(Serialize)]
pub(super) struct Row {
    cell: String,
    unit: Unit,
    /// The first pair of builds.
    #[serde(flatten)]
    build: Build,
    /// The others, with other placements of their functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_builds: Vec<Build>,
    /// What all of them show.
    pub(super) verdict: Verdict,
}

/// The result for one cell with one pair of builds.
#[derive(Serialize)]
struct Build {
    /// Values of the old and of the new version, by pair.
    pairs: Vec<[f64; 2]>,
    /// Medians of either.
    medians: [f64; 2],
    /// The speed of the new one as a multiple of the old one's.
    #[serde(flatten)]
    speed: Interval,
}

/// Describes this machine as it is now, with the threads that wanted a CPU, averaged over a minute.
pub(super) fn place(compiler: &str) -> Value {
    let machine = Machine::here();
    let load = machine.load_average.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}"));
    let mut place = json!(machine);
    (place["compiler"], place["load"]) = (compiler.into(), load.into());
    place
}

/// Returns the rows, and what failed.
pub(super) fn rows(outcome: Outcome, bound: f64) -> (Vec<Row>, Vec<Gap>) {
    let Outcome { measured, mut failed } = outcome;
    let error = stats::error_of_each(measured.iter().map(|measured| measured.builds.len()).sum());
    let mut rows = Vec::new();
    for Measured { cell, unit, builds } in measured {
        let builds: Option<Vec<Build>> = builds.into_iter().map(|pairs| Build::of(pairs, unit, error)).collect();
        let Some(mut builds) = builds else {
            failed.push(Gap { cell, why: "too few pairs of runs".to_owned() });
            continue;
        };
        let verdict = Verdict::of_all(builds.iter().map(|build| build.speed.verdict(bound)));
        rows.push(Row { cell, unit, build: builds.remove(0), other_builds: builds, verdict });
    }
    (rows, failed)
}

impl Build {
    fn of(pairs: Vec<[f64; 2]>, unit: Unit, error: f64) -> Option<Build> {
        let speed = Interval::of(&unit.speeds(&pairs), error)?;
        let middle = |index: usize| {
            let mut values: Vec<f64> = pairs.iter().map(|pair| pair[index]).collect();
            median(&mut values)
        };
        let medians = [middle(0), middle(1)];
        Some(Build { pairs, medians, speed })
    }
}

/// Writes a report as text.
pub(super) fn text(report: &Value) -> Result<String> {
    render("the table", include_str!("report.jinja"), report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cell: &str, unit: Unit, old: f64, new: f64) -> Measured {
        Measured { cell: cell.to_owned(), unit, builds: vec![vec![[old, new]; 12]] }
    }

    fn report(outcome: Outcome, builds: u32) -> Value {
        let (cells, failed) = rows(outcome, 0.01);
        let conditions = json!({ "rounds": 12, "program_rounds": 15, "sample_ms": 60, "beside": 2,
            "believed_cpus": 64, "bound": 0.01, "builds": builds, "seconds": 99 });
        let version = |name: &str| json!({ "name": name, "what": "word ".repeat(40) });
        let gone = Gap { cell: "gone".to_owned(), why: "no version has it".to_owned() };
        json!({ "format": "test", "command": "cargo xtask perf", "samples": 4, "new": version("two"),
            "old": version("one"), "machine": place("rustc 1"), "conditions": conditions, "error": stats::ERROR,
            "cells": cells, "left_out": [gone], "failed": failed })
    }

    #[test]
    fn the_table_fits_whatever_is_in_it() {
        let long = "c".repeat(50);
        let cells = vec![
            measured("short", Unit::Nanoseconds, 9.0, 9.0),
            measured(&long, Unit::Nanoseconds, 123_456.0, 1.0),
            measured("mutex", Unit::Nanoseconds, 1e9, 2e12),
            measured("program", Unit::Seconds, 1.0, 2.0),
            measured("server", Unit::PerSecond, 123_456.0, 234_567.0),
        ];
        let failed = vec![Gap { cell: "broken".to_owned(), why: "it\ndied".to_owned() }];
        let text = text(&report(Outcome { measured: cells, failed }, 1)).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for wanted in [
            "short                                     9.00 ns    9.00 ns   1.000  1.000 to 1.000  cannot tell\n",
            "program                                   1.000 s    2.000 s   0.500  0.500 to 0.500  WORSE\n",
            "server                                  123.5 k/s  234.6 k/s   1.900  1.900 to 1.900  BETTER\n",
            "runs     12 pairs of 4 x 60 ms per cell; 15 pairs per program; beside 2 busy processes;",
            "left out: gone: no version has it\n",
            "FAILED: broken: it died\n",
            "95% (99.00% each)",
            "\n2 worse, 2 better, and in 1 no difference can be seen\n",
        ] {
            assert!(text.contains(wanted), "no {wanted:?} in:\n{text}");
        }
    }

    #[test]
    fn too_few_pairs_are_no_row() {
        let few = Measured { builds: vec![vec![[1.0, 1.0]; 3]], ..measured("few", Unit::Seconds, 1.0, 1.0) };
        let (rows, failed) = rows(Outcome { measured: vec![few], failed: Vec::new() }, 0.01);
        assert!(rows.is_empty() && failed[0].why.contains("too few"), "{failed:?}");
    }

    #[test]
    fn what_one_placement_alone_shows_is_no_verdict() {
        let two = |cell: &str, [first, second]: [f64; 2]| {
            let builds = vec![vec![[10.0, first]; 12], vec![[10.0, second]; 12]];
            Measured { cell: cell.to_owned(), unit: Unit::Nanoseconds, builds }
        };
        let measured = vec![two("placement", [11.0, 10.0]), two("slower", [11.0, 12.0]), two("odd", [11.0, 9.0])];
        let report = report(Outcome { measured, failed: Vec::new() }, 2);
        let text = text(&report).unwrap();
        for wanted in [
            "placement            10.00 ns   11.00 ns   0.909  0.909 to 0.909\n  placed otherwise   10.00 ns   \
             10.00 ns   1.000  1.000 to 1.000  cannot tell\n",
            "  placed otherwise   10.00 ns   12.00 ns   0.833  0.833 to 0.833  WORSE\n",
            "  placed otherwise   10.00 ns    9.00 ns   1.111  1.111 to 1.111  cannot tell\n",
            "each with 2 pairs of builds",
            "by more than 1.0%, in all builds",
        ] {
            let flat = |text: &str| text.replace("\n         ", " ");
            assert!(text.contains(wanted) || flat(&text).contains(wanted), "no {wanted:?} in:\n{text}");
        }
        assert!(text.ends_with("\n1 worse, 0 better, and in 2 no difference can be seen\n"), "{text}");
        assert_eq!(report["cells"][0]["other_builds"][0]["ratio"], 1.0);
    }
}
