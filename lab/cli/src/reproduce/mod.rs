//! `turnwise-lab reproduce`: the papers' rows next to ours.
//!
//! | file | what |
//! |---|---|
//! | `args.rs` | the command line |
//! | `shown.rs` with `report.jinja` | the report as a document |

mod args;
mod shown;

pub(crate) use args::Args;

use crate::sim::Part;
use anyhow::{Context as _, Result, ensure};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::process::ExitCode;
use turnwise_present::machine::{self, Machine};
use turnwise_present::output_file::OutputFile;
use turnwise_present::{input_file, json, progress};
use turnwise_reproduce::bands::{self, Draws};
use turnwise_reproduce::report::{FORMAT, Reproduction, Score};
use turnwise_reproduce::{PAPERS, Paper};

/// Runs the papers and writes the results.
///
/// # Errors
/// Files cannot be written (detected first), a lock broke its guarantee, threads made no progress.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let html = OutputFile::asked("--html", args.html.as_deref())?;
    let markdown = OutputFile::asked("--markdown", args.markdown.as_deref())?;
    if let Some(Part { k, n }) = args.partition {
        let part = drawn(args, (k, n))?;
        json::publish(&part, &format!("part {k}/{n} of {} draws\n", args.samples), json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = args.from.as_deref().map_or_else(|| reproduction(args), read)?;
    let parts = args.draws.iter().map(|file| read_draws(file)).collect::<Result<Vec<Draws>>>()?;
    let draws = if args.bands { vec![drawn(args, (1, 1))?] } else { parts };
    if !draws.is_empty() {
        let draws = Draws::merged(draws)?;
        report.documents.iter_mut().for_each(|paper| draws.beside(paper));
        (report.samples, report.score) = (draws.samples, Score::of(&report.documents));
    }
    json::publish(&report, &shown::text(&report), json)?;
    if let Some(output_file) = html {
        output_file.write(shown::page(&report).as_bytes())?;
    }
    if let Some(output_file) = markdown {
        output_file.write(shown::markdown(&report).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read_as<T: DeserializeOwned>(file: &Path, of: &str) -> Result<T> {
    let text = input_file::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    json::read(&text).with_context(|| format!("{} is not a report of `turnwise-lab reproduce {of}`", file.display()))
}

fn read(file: &Path) -> Result<Reproduction> {
    let report: Reproduction = read_as(file, "--json")?;
    ensure!(report.format == FORMAT, "{}: its format is {:?}, not {FORMAT}", file.display(), report.format);
    Ok(report)
}

fn read_draws(file: &Path) -> Result<Draws> {
    let draws: Draws = read_as(file, "--bands --partition")?;
    let format = &draws.format;
    ensure!(format == bands::FORMAT, "{}: its format is {format:?}, not {}", file.display(), bands::FORMAT);
    Ok(draws)
}

/// Returns the papers that were asked for.
fn wanted(args: &Args) -> Vec<&'static Paper> {
    let wanted = |document: &&Paper| args.documents.is_empty() || args.documents.iter().any(|n| n == document.name);
    PAPERS.iter().filter(wanted).collect()
}

fn drawn(args: &Args, part: (u32, u32)) -> Result<Draws> {
    let jobs = args.jobs.map_or_else(|| Machine::here().cpus, usize::from);
    let bar = progress::bar(0, "{bar:30} {pos}/{len} draws, {elapsed}: {msg}");
    let papers = bands::draw(&wanted(args), (args.seed, args.samples), part, jobs, &bar);
    bar.finish_and_clear();
    let (format, commit) = (bands::FORMAT.to_owned(), machine::commit());
    Ok(Draws { format, commit, seed: args.seed, samples: args.samples, papers: papers? })
}

fn reproduction(args: &Args) -> Result<Reproduction> {
    let (host, commit) = (Machine::here(), machine::commit());
    let jobs = args.jobs.map_or(host.cpus, usize::from);
    let bar = progress::bar(0, "{bar:30} {pos}/{len} runs, {elapsed}: {msg}");
    let documents = turnwise_reproduce::run_all(&wanted(args), args.seed, args.quick, jobs, &bar);
    bar.finish_and_clear();
    let documents = documents?;
    Ok(Reproduction {
        format: FORMAT.to_owned(),
        command: args.command(),
        commit,
        seed: args.seed,
        quick: args.quick,
        host,
        samples: 0,
        score: Score::of(&documents),
        documents,
    })
}
