//! `turnwise-lab calibrate`: measures this machine for the simulator.

mod text;

use crate::watched;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::ExitCode;
use turnwise_present::output_file::OutputFile;
use turnwise_present::{folder, json};

/// Measure this machine and write the file that `turnwise-lab sim --machine here` reads
///
/// Cache-line transfers, instructions, memory, system calls, switches, wake-ups and time slices, each repeated.
/// Needs no privileges, but an otherwise idle machine.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise-lab calibrate && turnwise-lab sim --machine here
  turnwise-lab calibrate --quick --output ./this.toml")]
pub(crate) struct Args {
    /// Where to write the machine file [default: $XDG_CONFIG_HOME/turnwise/here.toml]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Repeat less: some seconds instead of half a minute
    #[arg(long)]
    quick: bool,
    /// Also write the figures as JSON; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Measures, writes the file and prints the result.
///
/// # Errors
/// The file cannot be written (detected before anything is measured), or the machine cannot be measured.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_path()?,
    };
    let output_file = OutputFile::open("--output", &path).context("name a file in a folder that you may write to")?;
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let found = watched("{bar:30} {pos}/{len} steps: {msg}", |watch| turnwise_calibrate::measure(args.quick, watch))?;
    output_file.write(found.machine_file()?.as_bytes())?;
    json::publish(&found, &text::text(&found), json)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the path that `turnwise-lab sim` reads; its folder is made.
fn default_path() -> Result<PathBuf> {
    let path = turnwise_calibrate::here_path()?;
    if let Some(folder) = path.parent() {
        let cannot = || format!("cannot create {}: say where with --output FILE", folder.display());
        folder::make(folder).with_context(cannot)?;
    }
    Ok(path)
}
