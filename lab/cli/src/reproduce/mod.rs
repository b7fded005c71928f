//! `turnwise-lab reproduce`: the papers' rows next to ours.
//!
//! | file | what |
//! |---|---|
//! | `args.rs` | the command line |
//! | `shown.rs` with `report.jinja` | the report as a document |

mod args;
mod shown;

pub(crate) use args::Args;

use anyhow::{Context as _, Result, ensure};
use std::path::Path;
use std::process::ExitCode;
use turnwise_present::machine::{self, Machine};
use turnwise_present::output_file::OutputFile;
use turnwise_present::{input_file, json, progress};
use turnwise_reproduce::report::{FORMAT, FORMER_FORMAT, Reproduction, Score};
use turnwise_reproduce::{PAPERS, Paper};

/// Runs the papers and writes the results.
///
/// # Errors
/// Files cannot be written (detected first), a lock broke its guarantee, threads made no progress.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let html = OutputFile::asked("--html", args.html.as_deref())?;
    let markdown = OutputFile::asked("--markdown", args.markdown.as_deref())?;
    let report = args.from.as_deref().map_or_else(|| reproduction(args), read)?;
    json::publish(&report, &shown::text(&report), json)?;
    if let Some(output_file) = html {
        output_file.write(shown::page(&report).as_bytes())?;
    }
    if let Some(output_file) = markdown {
        output_file.write(shown::markdown(&report).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<Reproduction> {
    let complaint = || format!("{} is not a report of `turnwise-lab reproduce --json`", file.display());
    let text = input_file::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut report: Reproduction = json::read(&text).with_context(complaint)?;
    let known = [FORMAT, FORMER_FORMAT].contains(&report.format.as_str());
    ensure!(known, "{}: its format is {:?}, not {FORMAT}", complaint(), report.format);
    // Reports of before it was written have none.
    report.score = Score::of(&report.documents);
    Ok(report)
}

fn reproduction(args: &Args) -> Result<Reproduction> {
    let (host, commit) = (Machine::here(), machine::commit());
    let jobs = args.jobs.map_or(host.cpus, usize::from);
    let wanted = |document: &&Paper| args.documents.is_empty() || args.documents.iter().any(|n| n == document.name);
    let documents: Vec<&'static Paper> = PAPERS.iter().filter(wanted).collect();
    let bar = progress::bar(0, "{bar:30} {pos}/{len} runs, {elapsed}: {msg}");
    let documents = turnwise_reproduce::run_all(&documents, args.seed, args.quick, jobs, &bar);
    bar.finish_and_clear();
    let documents = documents?;
    Ok(Reproduction {
        format: FORMAT.to_owned(),
        command: args.command(),
        commit,
        seed: args.seed,
        quick: args.quick,
        host,
        score: Score::of(&documents),
        documents,
    })
}
