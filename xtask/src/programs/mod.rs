//! `cargo xtask programs`: unmodified programs, on the C library's locks and on ours. The same results, and how fast:
//! kept in `bench/runs`, written to `docs/results/programs.md`, and drawn in `docs/results/programs.svg`.

mod report;
pub(crate) mod run;
pub(crate) mod table;

use crate::command::{install, outcome};
use crate::perf::busy::Busy;
use crate::results::record::{Record, command_line, over};
use crate::results::{self, PAGES, RUNS, Subject};
use crate::root::write;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use table::{Program, Ready, chosen};
use turnwise_preload_abi::Policy;
use turnwise_present::others::Watch;
use turnwise_present::quota::Quota;

/// Arguments of `cargo xtask programs`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Programs, by any part of their names (all, if none is named)
    name: Vec<String>,
    /// Runs per policy
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(6..))]
    runs: u32,
    /// Install what is missing by apt-get (as root)
    #[arg(long)]
    install: bool,
    /// Compare each program once more next to two busy processes
    #[arg(long)]
    beside_busy: bool,
    /// Compare each program once more where all its threads and processes together may use one CPU
    #[arg(long)]
    quota: bool,
    /// Write the report here as Markdown, and nothing elsewhere [default: all programs go to bench/runs and
    /// docs/results, some to standard output]
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// List the programs
    #[arg(long)]
    list: bool,
}

/// Busy processes alongside a program that is compared once more.
const BUSY: u32 = 2;
/// Hundredths of a CPU that such a program may use.
const QUOTA: u32 = 100;

/// The policies: the first is the baseline of the others.
const POLICIES: [&str; 2] = [Policy::Libc.name(), Policy::ADAPTIVE.name()];

/// The name of the report on all programs, of its page and of its picture.
const NAME: &str = "programs";

/// Runs the programs; `true` if none of those that could be run failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let here = Path::new("xtask/programs").canonicalize().context("cannot find xtask/programs")?;
    let programs = chosen(&here, &args.name)?;
    if args.list {
        for program in &programs {
            println!("{}: {}", program.name, program.command.join(" "));
        }
        return Ok(true);
    }
    if args.install {
        install(programs.iter().flat_map(|program| &program.packages))?;
    }
    let left_out = left_out(args, || Quota::enter(QUOTA).map(drop));
    let turnwise = results::built("turnwise-cli", "turnwise")?;
    let record = Record::now(Path::new(RUNS))?;
    let (watch, start) = (Watch::begin(), Instant::now());
    let mut entries = Vec::new();
    for program in programs {
        eprintln!("==> {}", program.name);
        let outcome = outcome(
            program.prepare(&here).and_then(|ready| measure(&turnwise, &program, &ready, args, left_out.is_none())),
        );
        eprintln!("    {}", report::line(&outcome));
        entries.push(report::entry(&program, outcome));
    }
    let is_fine = entries.iter().all(|entry| entry["outcome"].get("failed").is_none());
    let report = report::report(&record.env, args, entries, left_out.as_deref());
    deliver(report, &record, over(command_line(), start, watch.as_ref()), args)?;
    Ok(is_fine)
}

/// Where a report goes.
#[derive(PartialEq, Debug)]
enum ReportPath<'a> {
    /// To `bench/runs` and `docs/results`.
    Record,
    File(&'a Path),
    Output,
}

/// Returns where the report goes: one on some programs must not replace that on all.
fn place(args: &Args) -> ReportPath<'_> {
    match &args.markdown {
        Some(file) => ReportPath::File(file),
        None if args.name.is_empty() => ReportPath::Record,
        None => ReportPath::Output,
    }
}

fn deliver(report: Value, record: &Record, run: Value, args: &Args) -> Result<()> {
    let subject = Subject::named(NAME)?;
    match place(args) {
        ReportPath::File(file) => write(file, subject.body(&report)?),
        ReportPath::Output => subject.body(&report).map(|page| println!("{page}")),
        ReportPath::Record => {
            record.keep(NAME, report, run)?;
            results::rewrite(&record.folder, subject, Path::new(PAGES))
        }
    }
}

/// Returns why `--quota` is left out, if it was requested and `quota` says that it cannot be had here.
fn left_out(args: &Args, quota: impl FnOnce() -> Result<()>) -> Option<String> {
    let why = format!("--quota is left out: {:#}", args.quota.then(quota)?.err()?);
    eprintln!("{why}");
    Some(why)
}

fn measure(turnwise: &Path, program: &Program, ready: &Ready, args: &Args, has_quota: bool) -> Result<Value> {
    let mut results: Vec<_> =
        POLICIES.iter().map(|policy| run::results(turnwise, policy, program, ready)).collect::<Result<_>>()?;
    if results.iter().any(|result| *result != results[0]) {
        bail!("the results differ: {} under {}, {} under {}", results[0], POLICIES[0], results[1], POLICIES[1]);
    }
    if program.metric.is_none() {
        return Ok(json!({ "passed": results.swap_remove(0) }));
    }
    let mut measured = run::compare(turnwise, program, ready, args.runs, program.bound)?;
    let once_more =
        || -> Result<Value> { Ok(run::compare(turnwise, program, ready, args.runs, false)?["speed"].take()) };
    if args.beside_busy {
        let mut busy = Busy::start(BUSY)?;
        measured["beside_busy"] = once_more().context("beside busy processes")?;
        busy.check()?;
    }
    if args.quota && has_quota {
        // It holds for this process and all that it starts.
        let _quota = Quota::enter(QUOTA)?;
        measured["quota"] = once_more().context("under a quota of one CPU")?;
    }
    Ok(json!({ "measured": measured }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::rows_in;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_report_on_some_programs_goes_only_where_it_is_sent() {
        let args = |line: &[&str]| Line::parse_from([&["programs"], line].concat()).args;
        assert_eq!(place(&args(&[])), ReportPath::Record);
        assert_eq!(place(&args(&["Tokyo"])), ReportPath::Output);
        assert_eq!(place(&args(&["Tokyo", "--markdown", "part.md"])), ReportPath::File(Path::new("part.md")));
    }

    #[test]
    fn programs_are_chosen_by_parts_of_their_names() {
        let of = |names: &[&str]| chosen(Path::new("programs"), names);
        let all: Vec<Program> = rows_in("programs/programs.toml").unwrap();
        assert_eq!(of(&[]).unwrap().len(), all.len());
        let some = of(&["TESTS OF", "verified"]).unwrap();
        assert!(some.len() == 3 && some.iter().all(|program| program.metric.is_none()));
        let Err(error) = of(&["no such"]) else { panic!("found") };
        assert!(error.to_string().contains("--list"), "{error}");
    }

    #[test]
    fn a_quota_that_cannot_be_had_is_left_out_with_the_reason() {
        let args = |line: &[&str]| Line::parse_from([&["programs"], line].concat()).args;
        let of = |line: &[&str], can: bool| {
            let quota = || if can { Ok(()) } else { Err(anyhow::anyhow!("no").context("be root")) };
            left_out(&args(line), quota)
        };
        assert_eq!(of(&["--beside-busy", "--quota"], true), None);
        assert_eq!(of(&["--quota"], false), Some("--quota is left out: be root: no".to_owned()));
        assert_eq!(of(&["--beside-busy"], false), None);
    }
}
