//! `turnwise-lab bench`: every lock in every scenario of a subject.

mod args;
#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use args::BenchArgs;

use crate::document::Style;
use crate::watched;
use anyhow::Result;
use std::process::ExitCode;
use turnwise_bench::bench::measure;
use turnwise_bench::report::Report;
use turnwise_bench::setting;
use turnwise_present::ending::print;
use turnwise_present::output_file::OutputFile;
use turnwise_present::{json, usage};

/// Runs the benchmark and prints the report.
///
/// # Errors
/// A file cannot be written (detected before anything is measured), threads cannot be started, a lock let two threads
/// in at once.
pub(crate) fn run(args: BenchArgs) -> Result<ExitCode> {
    let args = &args.checked().unwrap_or_else(|error| usage::end_with(&error));
    if args.list {
        return print(&args.lists()).map(|()| ExitCode::SUCCESS);
    }
    setting::hold(&args.set)?;
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let markdown = OutputFile::asked("--markdown", args.markdown.as_deref())?;
    let html = OutputFile::asked("--html", args.html.as_deref())?;
    let report = args.from.as_deref().map_or_else(|| measured(args), Report::read)?;
    json::publish(&report, &text::render(&report, Style::Plain), json)?;
    if let Some(output_file) = markdown {
        output_file.write(text::render(&report, Style::Markdown).as_bytes())?;
    }
    if let Some(output_file) = html {
        output_file.write(text::page(&report).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measured(args: &BenchArgs) -> Result<Report> {
    watched("{bar:30} {pos}/{len} samples, {eta} left: {msg}", |watch| measure(&args.options(), watch))
}
