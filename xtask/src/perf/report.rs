//! The results, as a table for a commit message and as JSON.

use super::job::{SAMPLES, Unit};
use super::measure::{Measured, Outcome};
use super::stats::{self, Interval, Verdict};
use super::version::Version;
use crate::programs::report::figure;
use serde::{Deserialize, Serialize};
use turnwise_present::machine::Machine;
use turnwise_present::stats::median;

/// No line of the table is wider.
const WIDTH: usize = 100;

/// The whole report.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    /// When a field changes its meaning or is removed, the number is raised.
    pub(super) format: &'static str,
    pub(super) command: String,
    pub(super) new: &'a Version,
    pub(super) old: &'a Version,
    pub(super) machine: Place,
    pub(super) conditions: Conditions,
    /// How often any interval may miss, all of them together.
    pub(super) error: f64,
    pub(super) cells: Vec<Row>,
    /// What was requested and not compared, and why.
    pub(super) left_out: Vec<Gap>,
    /// What failed, and how.
    pub(super) failed: Vec<Gap>,
}

/// What has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    pub(crate) cell: String,
    pub(crate) why: String,
}

/// Where it was measured.
#[derive(Serialize)]
pub(super) struct Place {
    #[serde(flatten)]
    machine: Machine,
    compiler: String,
    /// Threads that wanted a CPU before the first run, averaged over a minute.
    load: String,
}

/// How it was measured.
#[derive(Serialize)]
pub(super) struct Conditions {
    pub(super) rounds: u32,
    pub(super) program_rounds: u32,
    pub(super) sample_ms: u32,
    pub(super) beside: u32,
    pub(super) believed_cpus: Option<u32>,
    pub(super) bound: f64,
    /// Pairs of builds, each with another placement of its functions.
    pub(super) builds: usize,
    /// How long all runs took.
    pub(super) seconds: u64,
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

impl Place {
    /// Describes this machine as it is now.
    pub(super) fn here(compiler: String) -> Place {
        let machine = Machine::here();
        let load = machine.load_average.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}"));
        Place { machine, compiler, load }
    }
}

/// Returns the rows, and what failed.
pub(super) fn rows(outcome: Outcome, bound: f64) -> (Vec<Row>, Vec<Gap>) {
    let intervals = outcome.measured.iter().map(|measured| measured.builds.len()).sum();
    let error = stats::error_of_each(intervals);
    let mut failed = outcome.failed;
    let mut rows = Vec::new();
    for measured in outcome.measured {
        let cell = measured.cell.clone();
        match row(measured, error, bound) {
            Some(row) => rows.push(row),
            None => failed.push(Gap { cell, why: "too few pairs of runs".to_owned() }),
        }
    }
    (rows, failed)
}

fn row(measured: Measured, error: f64, bound: f64) -> Option<Row> {
    let Measured { cell, unit, builds } = measured;
    let mut builds =
        builds.into_iter().map(|pairs| Build::of(pairs, unit, error)).collect::<Option<Vec<_>>>()?.into_iter();
    let build = builds.next()?;
    let other_builds: Vec<Build> = builds.collect();
    let all = std::iter::once(&build).chain(&other_builds);
    let verdict = Verdict::of_all(all.map(|build| build.speed.verdict(bound)));
    Some(Row { cell, unit, build, other_builds, verdict })
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

impl Report<'_> {
    fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Returns whether some cell is worse.
    pub(super) fn is_worse(&self) -> bool {
        self.count(Verdict::Worse) > 0
    }

    /// Writes the report as text.
    pub(super) fn text(&self) -> String {
        let mut lines = self.head();
        lines.push(String::new());
        let width = self.cells.iter().map(|row| row.cell.chars().count()).max().unwrap_or(0).clamp(4, 38);
        let width = if self.conditions.builds > 1 { width.max(18) } else { width };
        lines
            .push(format!("{:width$}  {:>9}  {:>9}  {:>6}  {:14}  verdict", "cell", "old", "new", "speed", "interval"));
        lines.extend(self.cells.iter().flat_map(|row| row.text(width)));
        for Gap { cell, why } in &self.left_out {
            lines.push(format!("left out: {cell}: {why}"));
        }
        for Gap { cell, why } in &self.failed {
            lines.push(format!("FAILED: {cell}: {}", why.replace('\n', " ")));
        }
        lines.push(String::new());
        lines.push(self.conclusion());
        let options = textwrap::Options::new(WIDTH).subsequent_indent("         ");
        let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
        lines.iter().map(|line| textwrap::fill(line, &options) + "\n").collect()
    }

    fn head(&self) -> Vec<String> {
        let Place { machine, compiler, load } = &self.machine;
        let (cpus, cpu, kernel) = (machine.cpus, machine.cpu_name(), machine.kernel.as_deref().unwrap_or("unknown"));
        let Conditions { rounds, program_rounds, sample_ms, beside, believed_cpus, bound, builds, seconds } =
            &self.conditions;
        let (cells, programs) = self.cells.iter().partition::<Vec<_>, _>(|row| row.unit == Unit::Nanoseconds);
        let runs = [
            (!cells.is_empty()).then(|| format!("{rounds} pairs of {SAMPLES} x {sample_ms} ms per cell")),
            (!programs.is_empty()).then(|| format!("{program_rounds} pairs per program")),
            (*builds > 1).then(|| format!("each with {builds} pairs of builds, whose functions are placed otherwise")),
            Some(match beside {
                0 => "quiet".to_owned(),
                1 => "beside 1 busy process".to_owned(),
                more => format!("beside {more} busy processes"),
            }),
            believed_cpus.map(|cpus| format!("the locks believe in {cpus} CPUs")),
            Some(format!("{seconds} s")),
        ];
        let runs = runs.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let all = (1.0 - self.error) * 100.0;
        let each = (1.0 - stats::error_of_each(self.cells.len() * builds)) * 100.0;
        let agree = if *builds > 1 { ", in all builds" } else { "" };
        vec![
            format!("new      {}  {}", self.new.name, self.new.what),
            format!("old      {}  {}", self.old.name, self.old.what),
            format!("machine  {cpus} x {cpu}, Linux {kernel}, {compiler}; load {load} at the start"),
            format!("runs     {runs}"),
            format!("command  {}", self.command),
            format!(
                "speed    of the new, as a multiple of the old's: above 1 is faster; median of the pairs. All \
                 intervals hold together with {all:.0}% ({each:.2}% each); better and worse lie beyond 1 by more than \
                 {:.1}%{agree}",
                bound * 100.0
            ),
        ]
    }

    fn conclusion(&self) -> String {
        let [worse, better, none] =
            [Verdict::Worse, Verdict::Better, Verdict::NoDifference].map(|verdict| self.count(verdict));
        format!("{worse} worse, {better} better, and in {none} no difference can be seen")
    }
}

impl Row {
    /// Renders a line for each pair of builds, with the verdict in the last.
    fn text(&self, width: usize) -> Vec<String> {
        let cell: String = self.cell.chars().take(width).collect();
        let names = std::iter::once(cell.as_str()).chain(std::iter::repeat("  placed otherwise"));
        let builds = std::iter::once(&self.build).chain(&self.other_builds);
        let mut lines: Vec<String> =
            names.zip(builds).map(|(name, build)| build.text(name, width, self.unit)).collect();
        if let Some(last) = lines.last_mut() {
            *last = format!("{last}  {}", self.verdict.words());
        }
        lines
    }
}

impl Build {
    fn text(&self, name: &str, width: usize, unit: Unit) -> String {
        let [old, new] = self.medians.map(|value| shown(value, unit));
        let Interval { ratio, low, high } = self.speed;
        let interval = format!("{} to {}", ratio_shown(low), ratio_shown(high));
        format!("{name:width$}  {old:>9}  {new:>9}  {:>6}  {interval:14}", ratio_shown(ratio))
    }
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => figure(value, true),
        Unit::PerSecond => figure(value, false),
        Unit::Nanoseconds if value < 999.5 => format!("{value:.*} ns", if value < 99.95 { 2 } else { 1 }),
        Unit::Nanoseconds if value < 999.5e3 => format!("{:.2} us", value / 1e3),
        Unit::Nanoseconds => format!("{:.2} ms", value / 1e6),
    }
}

/// Formats a ratio, with three places where they are significant.
pub(crate) fn ratio_shown(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 9.9995 => format!("{ratio:.3}"),
        ratio if ratio < 999.5 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cell: &str, unit: Unit, old: f64, new: f64) -> Measured {
        Measured { cell: cell.to_owned(), unit, builds: vec![vec![[old, new]; 12]] }
    }

    fn report(outcome: Outcome, versions: &[Version; 2]) -> Report<'_> {
        let (cells, failed) = rows(outcome, 0.01);
        let conditions = Conditions {
            rounds: 12,
            program_rounds: 15,
            sample_ms: 60,
            beside: 2,
            believed_cpus: Some(64),
            bound: 0.01,
            builds: 1,
            seconds: 99,
        };
        Report {
            format: "test",
            command: "cargo xtask perf".to_owned(),
            new: &versions[1],
            old: &versions[0],
            machine: Place::here("rustc 1".to_owned()),
            conditions,
            error: stats::ERROR,
            cells,
            left_out: vec![Gap { cell: "gone".to_owned(), why: "no version has it".to_owned() }],
            failed,
        }
    }

    fn version(name: &str) -> Version {
        Version {
            name: name.to_owned(),
            what: "word ".repeat(40),
            program: "x".into(),
            bench: "x".into(),
            overridden: None,
        }
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
        let versions = [version("one"), version("two")];
        let report = report(Outcome { measured: cells, failed }, &versions);
        let text = report.text();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
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
        assert!(report.is_worse());
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
        let versions = [version("one"), version("two")];
        let mut report = report(Outcome { measured, failed: Vec::new() }, &versions);
        report.conditions.builds = 2;
        let text = report.text();
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
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["cells"][0]["other_builds"][0]["ratio"], 1.0);
    }
}
