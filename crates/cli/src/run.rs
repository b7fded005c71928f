//! `turnwise run`: becomes the program, on other locks.

use crate::policy;
use crate::preload::Library;
use crate::target::{SAMPLE_HELP, Target, long_help};
use crate::variant::Variant;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use turnwise_preload_abi::Policy;

/// Run a program on other locks
///
/// turnwise becomes the program (exec), so that signals, job control and the exit status are the program's own.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = long_help(EXAMPLES))]
pub(crate) struct Args {
    /// The locks to run on; with --policy, for locks that no rule matches [default: adaptive, or as the file says]
    #[arg(long, value_name = "POLICY", value_parser = policy::parser())]
    lock: Option<Policy>,
    /// A policy file, which gives individual locks their own policies (docs/policy-files.md)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Variables:
  TURNWISE_LIVE=0     keep no live view of the contended locks (docs/design/live.md)
  TURNWISE_VERBOSE=1  say on standard error which locks are in force (docs/preload.md)

Examples:
  turnwise run -- ./server --port 8080
  turnwise run --lock queued -- kccachetest order -th 4 -rnd 500000
  turnwise run --policy server.toml -- ./server
  TURNWISE_VERBOSE=1 turnwise run --policy server.toml --lock libc -- ./server
  turnwise run -- @sample -t 8";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = Target::find(&args.command)?;
    let locks = match &args.policy {
        Some(path) => Variant::read(path, args.lock, &target)?,
        None => Variant::policy(args.lock.unwrap_or(policy::DEFAULT)),
    };
    let library = Library::needed(std::slice::from_ref(&locks), &target)?;
    Err(locks.start(&target, library.as_ref()).exec())
        .with_context(|| format!("cannot execute {}", target.path.display()))
}
