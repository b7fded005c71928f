//! A report as a JSON document.

use crate::ending::print;
use crate::output_file::OutputFile;
use anyhow::{Context, Result};
use serde::Serialize;

/// Formats the report as JSON: the same bytes for the same report.
pub fn text(report: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(report).context("the report has no JSON form")? + "\n")
}

/// Prints what people read, unless standard output is for the document (`--json -`), and writes the document.
pub fn publish(report: &impl Serialize, people: &str, json: Option<OutputFile>) -> Result<()> {
    if !json.as_ref().is_some_and(OutputFile::is_stdout) {
        print(people)?;
    }
    json.map_or(Ok(()), |output_file| output_file.write(text(report)?.as_bytes()))
}
