//! `cargo xtask programs`: programs that nobody rebuilt, on the C library's locks and on ours. The same results, and
//! how fast: written to `docs/results/programs.md`, and drawn in `docs/results/programs.svg`.

pub(crate) mod picture;
pub(crate) mod prepare;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod table;

use anyhow::{Context, Result, bail};
use prepare::Ready;
use run::{Measured, Turnwise};
use std::path::{Path, PathBuf};
use table::Program;
use turnwise_preload_abi::Policy;

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
    /// Where to write the report [default: docs/results/programs.md if all programs run, else standard output]
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// List the programs
    #[arg(long)]
    list: bool,
    /// Only draw docs/results/programs.svg again, from the reports on record
    #[arg(long, conflicts_with_all = ["name", "install", "markdown", "list"])]
    picture: bool,
}

/// The policies: the first is what the others are held against.
const POLICIES: [&str; 2] = [Policy::Libc.name(), Policy::ADAPTIVE.name()];

/// Where the report on all programs lies.
const REPORT: &str = "docs/results/programs.md";

/// What became of a program.
enum Outcome {
    Measured(Box<Measured>),
    /// It tests itself: what it printed, the same under all policies.
    Passed(String),
    /// It cannot run here; why.
    Skipped(String),
    /// It failed, or its results differ.
    Failed(String),
}

/// Runs the programs; `true` if none of those that could be run failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.picture {
        draw()?;
        return Ok(true);
    }
    let here = Path::new("xtask/programs").canonicalize().context("cannot find xtask/programs")?;
    let programs = chosen(table::load(&here)?, &args.name)?;
    if args.list {
        for program in &programs {
            println!("{}: {}", program.name, program.command.join(" "));
        }
        return Ok(true);
    }
    if args.install {
        prepare::install(&programs)?;
    }
    let turnwise = Turnwise::build()?;
    let mut outcomes = Vec::new();
    for program in programs {
        eprintln!("==> {}", program.name);
        let outcome = one(&turnwise, &program, &here, args.runs);
        match &outcome {
            Outcome::Measured(measured) => eprintln!("    {}", report::told(measured)),
            Outcome::Passed(results) => eprintln!("    passed: {}", report::shortened(results)),
            Outcome::Skipped(why) => eprintln!("    SKIPPED: {why}"),
            Outcome::Failed(why) => eprintln!("    FAILED: {why}"),
        }
        outcomes.push((program, outcome));
    }
    deliver(&report::page(&outcomes, args)?, args)?;
    Ok(!outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_))))
}

fn deliver(page: &str, args: &Args) -> Result<()> {
    let Some(file) = report_file(args) else {
        println!("{page}");
        return Ok(());
    };
    std::fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
    if file == Path::new(REPORT) { draw() } else { Ok(()) }
}

/// Draws the reports on record.
fn draw() -> Result<()> {
    let text = |path: &str| std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    let pages: Vec<_> = picture::PAGES.iter().map(|path| Ok((*path, text(path)?))).collect::<Result<_>>()?;
    std::fs::write(picture::PICTURE, picture::picture(&pages)?)
        .with_context(|| format!("cannot write {}", picture::PICTURE))
}

/// `None`: standard output. The report on some programs must not take the place of that on all.
fn report_file(args: &Args) -> Option<PathBuf> {
    args.markdown.clone().or_else(|| args.name.is_empty().then(|| PathBuf::from(REPORT)))
}

/// The programs whose names contain any of these; all, if there are none.
pub(crate) fn chosen(programs: Vec<Program>, names: &[String]) -> Result<Vec<Program>> {
    let fits = |program: &Program, name: &String| program.name.to_lowercase().contains(&name.to_lowercase());
    for name in names {
        if !programs.iter().any(|program| fits(program, name)) {
            bail!("no program's name contains `{name}`; `cargo xtask programs --list` lists them");
        }
    }
    Ok(programs.into_iter().filter(|p| names.is_empty() || names.iter().any(|name| fits(p, name))).collect())
}

fn one(turnwise: &Turnwise, program: &Program, here: &Path, runs: u32) -> Outcome {
    let ready = match prepare::prepare(program, here) {
        Ok(Ok(ready)) => ready,
        Ok(Err(missing)) => return Outcome::Skipped(missing),
        Err(error) => return Outcome::Failed(format!("{error:#}")),
    };
    match measure(turnwise, program, &ready, runs) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn measure(turnwise: &Turnwise, program: &Program, ready: &Ready, runs: u32) -> Result<Outcome> {
    let mut results: Vec<_> =
        POLICIES.iter().map(|policy| turnwise.results(policy, program, ready)).collect::<Result<_>>()?;
    if results.iter().any(|result| *result != results[0]) {
        bail!("the results differ: {} under {}, {} under {}", results[0], POLICIES[0], results[1], POLICIES[1]);
    }
    match &program.metric {
        Some(metric) => {
            turnwise.compare(program, metric, ready, runs).map(|measured| Outcome::Measured(Box::new(measured)))
        }
        None => Ok(Outcome::Passed(results.swap_remove(0))),
    }
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

    #[test]
    fn a_report_on_some_programs_goes_only_where_it_is_told() {
        let file = |line: &[&str]| report_file(&Line::parse_from([&["programs"], line].concat()).args);
        assert_eq!(file(&[]), Some(PathBuf::from(REPORT)));
        assert_eq!(file(&["Tokyo"]), None);
        assert_eq!(file(&["Tokyo", "--markdown", "part.md"]), Some(PathBuf::from("part.md")));
    }

    #[test]
    fn programs_are_chosen_by_parts_of_their_names() {
        let all = || table::load(Path::new("programs")).unwrap();
        assert_eq!(chosen(all(), &[]).unwrap().len(), all().len());
        let some = chosen(all(), &["TESTS OF".to_owned(), "verified".to_owned()]).unwrap();
        assert!(some.len() == 3 && some.iter().all(|program| program.metric.is_none()));
        let Err(error) = chosen(all(), &["no such".to_owned()]) else { panic!("found") };
        assert!(error.to_string().contains("--list"), "{error}");
    }
}
