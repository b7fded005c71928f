//! `turnwise profile`: runs a program under the recorder, and says what it did with its locks.

mod outputs;
mod record;
mod source;
mod what_if;

use crate::policy::{self, Policy};
use crate::target::{SAMPLE_HELP, Target};
use anyhow::{Result, bail};
use outputs::Outputs;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::LazyLock;
use turnwise_profile::model::Profile;
use turnwise_profile::{advice, text};

/// Record what a program does with its locks, and say which of them cost how much, and where
///
/// The program keeps its input and output; the report follows on standard output when it has ended (Ctrl-C reaches the
/// program). The exit status is the program's.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = LONG_HELP.as_str())]
pub(crate) struct Args {
    /// The locks to run on
    #[arg(long, value_name = "POLICY", value_parser = policy::parser(), default_value = "libc")]
    lock: &'static Policy,
    #[command(flatten)]
    outputs: Outputs,
    /// Keep the recording itself, for --from
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    recording: Option<PathBuf>,
    /// Report on a recording or a JSON profile that is there already, instead of running a program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lock", "command"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    what_if: what_if::WhatIf,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

static LONG_HELP: LazyLock<String> = LazyLock::new(|| format!("{SAMPLE_HELP}\n\n{EXAMPLES}"));

const EXAMPLES: &str = "\
Examples:
  turnwise profile -- ./server --port 8080
  turnwise profile --json profile.json -- kccachetest wicked -th 4 -capcnt 100000 400000
  turnwise profile --lock adaptive -- @sample -t 8
  turnwise profile --what-if-cpus 64 -- ./server --port 8080
  turnwise profile --from profile.json --flame waits.svg";

/// The profile of one run on the C library's locks, without input; what the program prints goes to standard error, or
/// nowhere.
///
/// # Errors
/// The program cannot be run or recorded, or fails.
pub(crate) fn of_one_run(target: &Target, show_output: bool, any_status: bool) -> Result<Profile> {
    let (profile, status) = record::record(policy::libc(), None, target, |command| {
        let output = || if show_output { Stdio::from(std::io::stderr()) } else { Stdio::null() };
        command.stdin(Stdio::null()).stdout(output()).stderr(output());
    })?;
    let counts = status.success() || any_status && status.code().is_some();
    if !counts {
        bail!("under the recorder the program ended with {status}; try it by itself: {}", target.shown());
    }
    Ok(profile)
}

/// Runs the program, or reads what an earlier run left.
///
/// # Errors
/// The program cannot be run or recorded; a file cannot be read or written.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let outputs = args.outputs.open()?;
    let (mut profile, status) = match &args.from {
        Some(file) => (source::read(file)?, ExitCode::SUCCESS),
        None => record::run(args.lock, args.recording.as_deref(), &args.command)?,
    };
    // If there is no answer, what was recorded is written all the same.
    let forecast = args.what_if.forecast(&profile);
    if let Ok(Some(scaling)) = &forecast {
        profile.scaling = Some(scaling.clone());
    }
    outputs.write(&profile)?;
    crate::print(&text::report(&profile))?;
    crate::print(&format!("\nADVICE\n{}", advice::text(&advice::advise(&profile), &profile)))?;
    forecast?;
    if let Some(scaling) = &profile.scaling {
        crate::print(&format!("\n{}", what_if::told(&profile, scaling)))?;
    }
    Ok(status)
}
