//! `turnwise run`: becomes the program, on other locks.

use crate::policy::{self, Policy};
use crate::preload::Library;
use crate::program::check_interposable;
use crate::target::{SAMPLE_HELP, Target};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;
use std::sync::LazyLock;

/// Run a program on other locks
///
/// turnwise becomes the program (exec), so that signals, job control and the exit status are the program's own.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = LONG_HELP.as_str())]
pub(crate) struct Args {
    /// The locks to run on
    #[arg(long, value_name = "POLICY", value_parser = policy::parser(), default_value = policy::DEFAULT)]
    lock: &'static Policy,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

static LONG_HELP: LazyLock<String> = LazyLock::new(|| format!("{SAMPLE_HELP}\n\n{EXAMPLES}"));

const EXAMPLES: &str = "\
Examples:
  turnwise run -- ./server --port 8080
  turnwise run --lock mcs -- kccachetest order -th 4 -rnd 500000
  turnwise run -- @sample -t 8";

/// Becomes the program.
///
/// # Errors
/// The program cannot be found, interposed or executed.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = Target::find(&args.command)?;
    let mut command = target.start();
    if args.lock.setting.is_some() {
        check_interposable(&target.path)?;
        Library::install()?.apply(args.lock, &mut command);
    }
    Err(command.exec()).with_context(|| format!("cannot execute {}", target.path.display()))
}
