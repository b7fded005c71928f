//! `cargo xtask results`: measures what the pages in `docs/results` show, keeps the raw reports in `bench/runs`, and
//! makes pages and pictures only from those.
//!
//! | file | what |
//! |---|---|
//! | `subject.rs`, `subjects.toml` | what can be measured, and by which command; its page and picture |
//! | `record.rs`, `json.rs` | a folder in `bench/runs`; the form of its files |
//! | `template.rs`, `templates` | pages and pictures as templates, and what these can call |
//! | `readme.rs` | the README's lines on programs and on the reproduction |

mod json;
pub(crate) mod readme;
pub(crate) mod record;
mod subject;
pub(crate) mod template;
#[cfg(test)]
mod tests;

pub(crate) use json::{each, text};
pub(crate) use subject::Subject;

use crate::command::{Run as _, read_json};
use crate::root::{cargo, target, write as put};
use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use record::Record;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use subject::SUBJECTS;
use turnwise_present::others::Watch;

/// Where reports are kept, and where pages lie.
pub(crate) const RUNS: &str = "bench/runs";
pub(crate) const PAGES: &str = "docs/results";
/// The page that summarises some of it in words.
pub(crate) const README: &str = "README.md";
/// Where both are for a trial.
const TRIES: &str = "target/results";

/// Measure, and write docs/results/SUBJECT.md, its picture, and the raw report in bench/runs
///
/// The raw reports of a day, machine and commit share a folder, bench/runs/DATE-MACHINE-COMMIT, with env.json, which
/// says how they were made. Page and picture are made of them alone: --from repeats that, byte for byte.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to measure [default: all but `programs`]; with --from what to write again [default: all that is there]
    #[arg(value_name = "SUBJECT", value_parser = PossibleValuesParser::new(SUBJECTS.iter().map(|s| s.name.as_str())))]
    subjects: Vec<String>,
    /// Try it: short runs, and all that is written lies below target/results
    #[arg(long)]
    quick: bool,
    /// Do not measure: write pages and pictures again from the reports in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "quick")]
    from: Option<PathBuf>,
    /// Run `turnwise profile` and `turnwise compare` on the sample, and write what they print into the README
    #[arg(long, conflicts_with_all = ["subjects", "quick", "from"])]
    front: bool,
    /// Where pages and pictures go [default: docs/results]
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask results mutex rwlock
  cargo xtask results reproduction --quick
  cargo xtask results --from bench/runs/2026-11-25-amd-epyc-2-df241e167ae1";

/// Measures or writes again.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let pages = |default: &str| args.to.clone().unwrap_or_else(|| PathBuf::from(default));
    let named = |subject: &&Subject| args.subjects.is_empty() || args.subjects.contains(&subject.name);
    let named: Vec<&Subject> = SUBJECTS.iter().filter(named).collect();
    if let Some(from) = &args.from {
        let there: Vec<&Subject> = named.into_iter().filter(|subject| subject.file(from).is_file()).collect();
        ensure!(!there.is_empty(), "{} has no report of these subjects", from.display());
        there.into_iter().try_for_each(|subject| rewrite(from, subject, &pages(PAGES)))?;
        return Ok(true);
    }
    if args.front {
        readme::run_front(&Record::now(Path::new(RUNS))?)?;
        return Ok(true);
    }
    let (runs, pages) = match args.quick {
        true => (PathBuf::from(TRIES).join("runs"), pages(TRIES)),
        false => (PathBuf::from(RUNS), pages(PAGES)),
    };
    let lab = built("turnwise-lab", "turnwise-lab")?;
    let record = Record::now(&runs)?;
    for subject in named {
        match subject.command.is_empty() {
            false => measure(&lab, &record, subject, args.quick)?,
            true if args.subjects.is_empty() => continue,
            true => bail!("`cargo xtask programs` measures programs"),
        }
        rewrite(&record.folder, subject, &pages)?;
    }
    Ok(true)
}

/// Runs the laboratory and keeps its report.
fn measure(lab: &Path, record: &Record, subject: &Subject, quick: bool) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let json = folder.path().join("report.json");
    let arguments: Vec<&str> = subject.command.iter().map(String::as_str).chain(quick.then_some("--quick")).collect();
    let command = format!("turnwise-lab {}", arguments.join(" "));
    eprintln!("==> {}: {command}", subject.name);
    let (watch, start) = (Watch::begin(), Instant::now());
    let status = Command::new(lab).args(&arguments).arg("--json").arg(&json).status();
    let status = status.with_context(|| format!("cannot run {}", lab.display()))?;
    ensure!(status.success(), "{command} failed: {status}");
    let mut report: Value = read_json(&json, "turnwise-lab")?;
    // Without the paths of this machine.
    report["command"] = command.clone().into();
    record.keep(&subject.name, report, record::over(command, start, watch.as_ref()))
}

/// Writes the page and the picture of one report in a folder; the README's lines, too, if that is where they come from.
pub(crate) fn rewrite(from: &Path, subject: &Subject, pages: &Path) -> Result<()> {
    put(pages.join(format!("{}.svg", subject.name)), picture(subject, from)?)?;
    put(pages.join(format!("{}.md", subject.name)), subject.page(from, pages)?)?;
    if pages == Path::new(PAGES) && ["reproduction", "programs"].contains(&subject.name.as_str()) {
        readme::write()?;
    }
    eprintln!("    wrote {}/{}.md and its picture, from {}", pages.display(), subject.name, from.display());
    Ok(())
}

/// Draws the report in a folder; of programs, next to it the newest of another machine.
pub(crate) fn picture(subject: &Subject, from: &Path) -> Result<String> {
    let runs = from.parent().context("a folder of reports has no parent")?;
    let is_one = !subject.command.is_empty();
    subject.picture(&if is_one { vec![subject.read(from)?] } else { record::programs(runs, Some(from))? })
}

/// Builds a program of this workspace as it is measured.
pub(crate) fn built(package: &str, program: &str) -> Result<PathBuf> {
    ensure!(cargo(&format!("build --profile dist --package {package}")).succeeds()?, "{package} cannot be built");
    target().join("dist").join(program).canonicalize().context("cannot find what was built")
}
