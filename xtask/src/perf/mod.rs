//! `cargo xtask perf`: the effect of a change to lock code on its speed. The working tree and a commit, side by side in
//! one run: cells of `turnwise-lab bench`, and unmodified programs.

mod believed;
pub(crate) mod busy;
mod cells;
pub(crate) mod job;
pub(crate) mod measure;
mod placement;
pub(crate) mod report;
pub(crate) mod stats;
pub(crate) mod version;

use crate::command::{Run, skipped};
use crate::programs;
use crate::results::record::command_line;
use anyhow::{Context, Result, bail, ensure};
use believed::Believed;
use busy::Busy;
use cells::Cell;
use job::{Job, Unit, What};
use measure::Versions;
use placement::Placement;
use regex::Regex;
use report::Gap;
use serde::Deserialize;
use serde_json::json;
use stats::Verdict;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Instant;
use turnwise_present::json::publish;
use turnwise_present::output_file::OutputFile;
use version::Version;

/// Compare the speed of the working tree's locks with a commit's
///
/// Builds `turnwise`, which carries the preload library, and `turnwise-lab` of the working tree as it is and of COMMIT
/// (below target/perf, once), and runs cells of `turnwise-lab bench` and programs of `cargo xtask programs` with both,
/// interleaved in pairs of runs, in alternating order. Prints a table to paste
/// into a commit message.
///
/// The speed of a cell is the median of its pairs' ratios; above 1 the working tree is faster. Its interval needs
/// no assumption on how runs are distributed (it lies between two of the ratios), and is widened so that with
/// 95% all intervals of the table hold together, however many cells there are (Bonferroni): a table of equal versions
/// claims a difference once in twenty at most. A cell is better or worse if its whole interval lies beyond 1 by more
/// than the bound. More cells need more pairs for the same width.
///
/// Exit status: 0 if no cell is worse, 1 if some cell is, 2 for errors: also if something failed or is unknown.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The commit to compare with, by any name that git knows
    #[arg(long, value_name = "COMMIT", required_unless_present = "old_program", conflicts_with = "old_program")]
    against: Option<String>,
    /// Cells of `turnwise-lab bench`: SUBJECT, SUBJECT:SCENARIO or SUBJECT:SCENARIO:LOCK; or a group of scenarios
    #[arg(long, value_name = "CELL", num_args = 1.., value_delimiter = ',')]
    bench: Vec<String>,
    /// Programs of `cargo xtask programs`, by any part of their names
    #[arg(long, value_name = "NAME", num_args = 1..)]
    programs: Vec<String>,
    /// Two minutes instead of ten: fewer cells, and no programs unless they are named
    #[arg(long)]
    quick: bool,
    /// Pairs of runs of each cell [default: 40, with --quick 30]
    #[arg(long, value_name = "N", value_parser = pairs())]
    rounds: Option<u32>,
    /// Pairs of runs of each program
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = pairs())]
    program_rounds: u32,
    /// Measure next to N processes that each keep a CPU busy
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    beside: u32,
    /// Make the locks assume that the machine has N CPUs; 16 or more count as many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    believed_cpus: Option<u32>,
    /// Build each version N times, each time with its functions placed in another order, and count only what all N
    /// pairs of builds show; N times the time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    builds: u32,
    /// Ignore differences smaller than this, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    bound: f64,
    /// Write all figures as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// An existing program `turnwise`, instead of building COMMIT; with --builds N as many of them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    old_program: Vec<PathBuf>,
    /// An existing program `turnwise`, instead of building the working tree, likewise
    #[arg(long, value_name = "FILE", num_args = 1..)]
    new_program: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask perf --against main --quick
  cargo xtask perf --against HEAD~3 --bench mutex rwlock:2x95/5 mutex:4x50/100:semaphore
  cargo xtask perf --against main --programs 'Kyoto' 'SQLite, one' --beside 2
  cargo xtask perf --against main --quick --believed-cpus 64 --json result.json
  cargo xtask perf --against main --quick --builds 2";

/// What runs if nothing is named: `defaults.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {
    cells: Vec<String>,
    quick: Vec<String>,
    programs: Vec<String>,
    pub(crate) ablated: Vec<String>,
}

pub(crate) static DEFAULTS: LazyLock<Defaults> =
    LazyLock::new(|| toml::from_str(include_str!("defaults.toml")).expect("tests read it"));

fn pairs() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(6..=i64::from(stats::MOST_PAIRS))
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent),
        _ => Err("a number from 0 to below 100 is expected".to_owned()),
    }
}

/// Compares; returns `true` if nothing is worse.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let json = OutputFile::asked("--json", args.json.as_deref()).context("name a file in a folder that exists")?;
    // The typed arguments are at least this many cells; later, minutes of building would be lost.
    let (cells, programs) = args.chosen();
    args.has_enough_pairs(cells.len(), programs.len())?;
    let builds = builds(args)?;
    let versions = &builds[0];
    let plan = Plan::of(&cells, &programs, [args.rounds(), args.program_rounds], versions)?;
    let programs = plan.jobs.iter().filter(|job| job.unit != Unit::Nanoseconds).count();
    args.has_enough_pairs(plan.cells() - programs, programs)?;
    let machine = report::place(&version::compiler()?);
    let believed = args.believed_cpus.map(Believed::new).transpose()?;
    let start = Instant::now();
    let outcome = {
        let mut busy = Busy::start(args.beside)?;
        measure::measure(&plan.jobs, &builds, believed.as_ref(), &mut busy)?
    };
    let bound = args.bound / 100.0;
    let (cells, failed) = report::rows(outcome, bound);
    let is_worse = cells.iter().any(|row| row.verdict == Verdict::Worse);
    let failures = failed.len();
    let report = json!({
        // When a field changes its meaning or is removed, the number is raised.
        "format": "turnwise-perf/1",
        "command": command_line(),
        "new": versions[1],
        "old": versions[0],
        "machine": machine,
        "conditions": {
            "rounds": args.rounds(),
            "program_rounds": args.program_rounds,
            "sample_ms": job::SAMPLE_MS,
            "beside": args.beside,
            "believed_cpus": args.believed_cpus,
            "bound": bound,
            "builds": builds.len(),
            "seconds": start.elapsed().as_secs(),
        },
        "samples": job::SAMPLES,
        // How often any interval may miss, all of them together.
        "error": stats::ERROR,
        "cells": cells,
        "left_out": plan.left_out,
        "failed": failed,
    });
    publish(&report, &report::text(&report)?, json)?;
    ensure!(failures == 0, "{failures} of the measurements failed: see FAILED above");
    Ok(!is_worse)
}

impl Args {
    /// Refuses pairs of runs that are too few to conclude anything about this many cells and programs.
    fn has_enough_pairs(&self, cells: usize, programs: usize) -> Result<()> {
        let number = cells + programs;
        let fewest = stats::fewest_pairs(stats::error_of_each(number * self.builds as usize));
        let kinds = [("--rounds", cells, self.rounds()), ("--program-rounds", programs, self.program_rounds)];
        if let Some((option, _, rounds)) = kinds.into_iter().find(|&(_, number, rounds)| number > 0 && rounds < fewest)
        {
            bail!("{rounds} pairs of runs are too few for {number} cells at once: {option} {fewest} or more");
        }
        Ok(())
    }

    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 30 } else { 40 })
    }

    /// Returns cells and programs.
    fn chosen(&self) -> (Vec<&str>, Vec<&str>) {
        let Defaults { cells, quick, programs, .. } = &*DEFAULTS;
        chosen([&self.bench, &self.programs], if self.quick { [quick, &[]] } else { [cells, programs] }).into()
    }
}

/// Returns the cells and programs that are named, or else the default; if only one kind is named, none of the other.
pub(crate) fn chosen<'a>(named: [&'a [String]; 2], default: [&'a [String]; 2]) -> [Vec<&'a str>; 2] {
    let meant = if named.iter().all(|names| names.is_empty()) { default } else { named };
    meant.map(|names| names.iter().map(String::as_str).collect())
}

/// Makes the requested pairs of builds; one at least.
fn builds(args: &Args) -> Result<Vec<Versions>> {
    for (option, given) in [("--old-program", &args.old_program), ("--new-program", &args.new_program)] {
        if !given.is_empty() && given.len() != args.builds as usize {
            bail!("{option} names {} programs, and there are to be {} builds", given.len(), args.builds);
        }
    }
    let pair = |(index, placement): (usize, Placement)| -> Result<Versions> {
        let old = match (args.old_program.get(index), &args.against) {
            (Some(program), _) => version::given(program)?,
            (None, Some(commit)) => version::commit(commit, placement)?,
            (None, None) => bail!("name the commit to compare with: --against COMMIT"),
        };
        let new = args.new_program.get(index);
        Ok([old, new.map_or_else(|| version::working_tree(placement), |program| version::given(program))?])
    };
    Placement::of_builds(args.builds).enumerate().map(pair).collect()
}

/// What is to be run, and what cannot be.
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    pub(crate) left_out: Vec<Gap>,
}

impl Plan {
    /// Makes a plan of cells and programs as typed, with this many rounds of either.
    pub(crate) fn of(cells: &[&str], programs: &[&str], rounds: [u32; 2], versions: &Versions) -> Result<Plan> {
        let (cells, mut left_out) = in_both(cells, versions)?;
        let mut jobs = Job::of_cells(cells, rounds[0]);
        let here = Path::new("xtask/programs").canonicalize().context("cannot find xtask/programs")?;
        programs_of(&here, programs, rounds[1], &mut jobs, &mut left_out)?;
        let plan = Plan { jobs, left_out };
        if plan.cells() == 0 {
            let why: String = plan.left_out.iter().map(|Gap { cell, why }| format!("\n  {cell}: {why}")).collect();
            bail!("nothing left to compare:{why}");
        }
        Ok(plan)
    }

    /// Returns the number of its cells and programs.
    fn cells(&self) -> usize {
        self.jobs.iter().map(|job| job.cells.len()).sum()
    }
}

/// Returns the cells that were typed and that both versions have.
fn in_both(typed: &[&str], versions: &Versions) -> Result<(Vec<Cell>, Vec<Gap>)> {
    if typed.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let [old, new] = versions;
    let (of_old, of_new) = (listed(old)?, listed(new)?);
    let mut all: Vec<Cell> = Vec::new();
    for typed in typed {
        let cells = cells::named(&of_new, typed)?;
        all.extend(cells.into_iter().filter(|cell| !all.contains(cell)).cloned().collect::<Vec<_>>());
    }
    let (both, new_only): (Vec<Cell>, Vec<Cell>) =
        all.into_iter().partition(|cell| of_old.iter().any(|other| other.is(cell)));
    let gap = |cell: &Cell| Gap { cell: cell.to_string(), why: format!("{} does not have it", old.name) };
    Ok((both, new_only.iter().map(gap).collect()))
}

fn listed(version: &Version) -> Result<Vec<Cell>> {
    let list = Command::new(&version.bench).args(["bench", "--list"]).text();
    cells::listed(&list.context("it cannot list its benchmarks")?).with_context(|| format!("of {}", version.name))
}

/// Adds the jobs of programs; those that cannot run here are left out.
fn programs_of(here: &Path, names: &[&str], rounds: u32, jobs: &mut Vec<Job>, left_out: &mut Vec<Gap>) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    for program in programs::table::chosen(here, names)? {
        let Some(metric) = &program.metric else {
            let why = "a test of the program by itself, without a figure".to_owned();
            left_out.push(Gap { cell: program.name, why });
            continue;
        };
        let figure = Regex::new(&format!("(?m){metric}"))?;
        let prepared = skipped(program.prepare(here));
        match prepared.with_context(|| format!("{} cannot be prepared", program.name))? {
            Err(why) => left_out.push(Gap { cell: program.name, why }),
            Ok(ready) => jobs.push(Job {
                what: What::Program { ready, figure },
                cells: vec![program.name],
                unit: if program.lower { Unit::Seconds } else { Unit::PerSecond },
                rounds,
            }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &[&str]) -> Result<Args, clap::Error> {
        Line::try_parse_from([&["perf"], line].concat()).map(|line| line.args)
    }

    #[test]
    fn who_names_something_gets_that_alone() {
        let runs = |line: &[&str]| {
            let args = parsed(&[&["--against", "main"], line].concat()).unwrap();
            let (cells, programs) = args.chosen();
            (cells.len(), programs.len())
        };
        assert_eq!(runs(&[]), (DEFAULTS.cells.len(), DEFAULTS.programs.len()));
        assert_eq!(runs(&["--quick"]), (DEFAULTS.quick.len(), 0));
        assert_eq!(runs(&["--bench", "mutex", "spin:2x50/100"]), (2, 0));
        assert_eq!(runs(&["--bench", "mutex,spin"]), (2, 0));
        assert_eq!(runs(&["--programs", "Kyoto cache, ordered", "SQLite"]), (0, 2));
        assert_eq!(runs(&["--quick", "--bench", "mutex", "--programs", "SQLite"]), (1, 1));
    }

    #[test]
    fn too_few_pairs_are_refused_before_anything_is_built() {
        let refusal = |line: &[&str]| {
            let args = parsed(&[&["--against", "no-such-commit"], line].concat()).unwrap();
            format!("{:#}", run(&args).unwrap_err())
        };
        let few = "6 pairs of runs are too few for 9 cells at once: --rounds 10 or more";
        assert_eq!(refusal(&["--quick", "--builds", "2", "--rounds", "6"]), few);
        let few = "6 pairs of runs are too few for 2 cells at once: --program-rounds 7 or more";
        assert_eq!(refusal(&["--programs", "Tokyo", "SQLite", "--program-rounds", "6"]), few);
        assert!(refusal(&["--quick", "--rounds", "10"]).contains("no commit `no-such-commit`"));
    }

    #[test]
    fn bad_numbers_and_no_commit_are_refused() {
        for line in [
            &["--quick"][..],
            &["--against", "main", "--old-program", "x"],
            &["--against", "main", "--rounds", "5"],
            &["--against", "main", "--bound", "-1"],
            &["--against", "main", "--bound", "much"],
            &["--against", "main", "--believed-cpus", "0"],
            &["--against", "main", "--builds", "0"],
        ] {
            assert!(parsed(line).is_err(), "{line:?}");
        }
        assert_eq!(parsed(&["--against", "main", "--bound", "2.5"]).unwrap().bound, 2.5);
    }

    #[test]
    fn the_default_programs_are_in_the_table_and_have_figures() {
        let all = programs::table::chosen(Path::new("programs"), &[""; 0]).unwrap();
        for name in &DEFAULTS.programs {
            assert!(all.iter().any(|program| program.name == *name && program.metric.is_some()), "{name}");
        }
    }

    #[test]
    fn programs_without_figures_are_left_out_and_unknown_ones_refused() {
        let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
        let mut named = |name: &str| programs_of(Path::new("programs"), &[name], 15, &mut jobs, &mut left_out);
        named("GLib's tests").unwrap();
        assert!(named("no such").is_err());
        assert_eq!((jobs.len(), left_out.len()), (0, 1));
        assert!(left_out[0].why.contains("without a figure"));
    }
}
