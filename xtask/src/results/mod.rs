//! `cargo xtask results`: measures what the pages in `docs/results` show, keeps the raw reports in `bench/runs`, and
//! makes pages and pictures only from those.
//!
//! | file | what |
//! |---|---|
//! | `subject.rs` | what can be measured, and by which command |
//! | `record.rs`, `json.rs` | a folder in `bench/runs`; the form of its files |
//! | `page.rs`, `screen.rs` | the page around a report; one screen of its figures |
//! | `score.rs` | the README's line about the reproduction |
//! | `svg.rs`, `locks.rs`, `rows.rs` | pictures: their common parts; of benchmarks; of the reproduction |

mod json;
mod locks;
mod page;
pub(crate) mod record;
mod rows;
pub(crate) mod score;
mod screen;
mod subject;
pub(crate) mod svg;

pub(crate) use json::{each, text};

use crate::command::{Run as _, json as read_json};
use crate::programs;
use crate::root::{cargo, target, write as put};
use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use record::{Record, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use subject::{SUBJECTS, Source, Subject};
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
    #[arg(value_name = "SUBJECT", value_parser = PossibleValuesParser::new(SUBJECTS.iter().map(|s| s.name)))]
    subjects: Vec<String>,
    /// Try it: short runs, and all that is written lies below target/results
    #[arg(long)]
    quick: bool,
    /// Do not measure: write pages and pictures again from the reports in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "quick")]
    from: Option<PathBuf>,
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
    let named = |subject: &&Subject| args.subjects.is_empty() || args.subjects.iter().any(|name| name == subject.name);
    let named: Vec<&Subject> = SUBJECTS.iter().filter(named).collect();
    if let Some(from) = &args.from {
        let there: Vec<&Subject> = named.into_iter().filter(|subject| subject.report(from).is_file()).collect();
        ensure!(!there.is_empty(), "{} has no report of these subjects", from.display());
        rewrite(from, &there, &pages(PAGES))?;
        return Ok(true);
    }
    let (runs, pages) = match args.quick {
        true => (PathBuf::from(TRIES).join("runs"), pages(TRIES)),
        false => (PathBuf::from(RUNS), pages(PAGES)),
    };
    let lab = built("turnwise-lab", "turnwise-lab")?;
    let record = Record::now(&runs)?;
    for subject in named {
        match subject.arguments() {
            Some(arguments) => measure(&lab, &record, subject, arguments, args.quick)?,
            None if args.subjects.is_empty() => continue,
            None => bail!("`cargo xtask programs` measures programs"),
        }
        rewrite(&record.folder, &[subject], &pages)?;
    }
    Ok(true)
}

/// Runs the laboratory and keeps its report.
fn measure(lab: &Path, record: &Record, subject: &Subject, mut arguments: Vec<&str>, quick: bool) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let json = folder.path().join("report.json");
    arguments.extend(quick.then_some("--quick"));
    let command = format!("turnwise-lab {}", arguments.join(" "));
    eprintln!("==> {}: {command}", subject.name);
    let (watch, start) = (Watch::begin(), Instant::now());
    let status = Command::new(lab).args(&arguments).arg("--json").arg(&json).status();
    let status = status.with_context(|| format!("cannot run {}", lab.display()))?;
    ensure!(status.success(), "{command} failed: {status}");
    let mut report: Value = read_json(&json, "turnwise-lab")?;
    // Without the paths of this machine.
    report["command"] = command.clone().into();
    record.keep(subject.name, report, Run::over(command, start, watch.as_ref()))
}

/// Writes the page and the picture of one report in a folder.
pub(crate) fn rewrite_named(from: &Path, name: &str) -> Result<()> {
    let subject = SUBJECTS.iter().find(|subject| subject.name == name).context("unknown subject")?;
    rewrite(from, &[subject], Path::new(PAGES))
}

fn rewrite(from: &Path, subjects: &[&Subject], pages: &Path) -> Result<()> {
    for subject in subjects {
        let file = subject.report(from);
        let (body, picture) = match subject.source {
            Source::Programs => (programs::page(&file)?, programs::picture(from)?),
            Source::Bench(lock, _) => {
                let report = read_json(&file, "turnwise-lab bench")?;
                (screen::bench(&report, lock)?, locks::picture(subject, &report)?)
            }
            Source::Reproduce => {
                let report = read_json(&file, "turnwise-lab reproduce")?;
                if pages == Path::new(PAGES) {
                    score::tell(&report, Path::new(README))?;
                }
                (screen::reproduction(&report)?, rows::picture(subject.shows(), &report)?)
            }
        };
        put(pages.join(format!("{}.svg", subject.name)), picture)?;
        put(pages.join(format!("{}.md", subject.name)), page::page(subject, &body, from, pages)?)?;
        eprintln!("    wrote {}/{}.md and its picture, from {}", pages.display(), subject.name, from.display());
    }
    Ok(())
}

/// Builds a program of this workspace as it is measured.
pub(crate) fn built(package: &str, program: &str) -> Result<PathBuf> {
    ensure!(cargo(&format!("build --profile dist --package {package}")).succeeds()?, "{package} cannot be built");
    target().join("dist").join(program).canonicalize().context("cannot find what was built")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of reports with pages and pictures next to it, made by
    /// `cargo xtask results --from xtask/tests/results/2026-11-24-amd-epyc-2-0123456789ab --to xtask/tests/results`.
    const FIXTURE: &str = "tests/results";
    const RECORD: &str = "2026-11-24-amd-epyc-2-0123456789ab";

    #[test]
    fn pages_and_pictures_are_made_again_byte_for_byte() {
        let copy = tempfile::tempdir().unwrap();
        let (fixture, runs) = (Path::new(FIXTURE), copy.path().join(RECORD));
        std::fs::create_dir(&runs).unwrap();
        for file in fixture.join(RECORD).read_dir().unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), runs.join(file.file_name())).unwrap();
        }
        for name in ["mutex", "reproduction", "programs"] {
            let subject = SUBJECTS.iter().find(|subject| subject.name == name).unwrap();
            rewrite(&runs, &[subject], copy.path()).unwrap();
            // The page of the reproduction links pages of docs, which lie elsewhere from here.
            let kinds = if name == "reproduction" { &["svg"][..] } else { &["svg", "md"] };
            for kind in kinds {
                let file = format!("{name}.{kind}");
                let text = |folder: &Path| std::fs::read_to_string(folder.join(&file)).unwrap();
                assert!(text(copy.path()) == text(fixture), "{file} is now:\n{}", text(copy.path()));
            }
        }
    }
}
