//! `turnwise why`: who waits for whom, right now.

mod json;
mod looks;
mod report;

use crate::live::{Model, Names, Watch, Which};
use anyhow::Result;
use looks::Looks;
use std::process::ExitCode;
use std::time::Duration;
use turnwise_present::ending::{STUCK, print};

/// A wait that goes on from one look to the next is no passing one.
const APART: Duration = Duration::from_millis(200);

/// Say why a program is stuck: who waits for whom
///
/// Reads the live view of a program under `turnwise run`, twice within a fifth of a second, without stopping it.
/// Threads that wait for each other in a circle are a deadlock, and are shown with their call stacks; so are threads
/// that others wait for. Exits with 3 if there is a deadlock, with 0 if not.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A process number, or the name of programs
    #[arg(value_name = "PID | NAME")]
    which: Which,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  turnwise why 1234
  turnwise why --json 1234 | jq .deadlock
  turnwise why server || echo deadlock or no such program";

/// Says it.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut watch = Watch::open(args.which.clone())?;
    let mut model = Model::default();
    let first = model.step(&watch.snapshots()?);
    std::thread::sleep(APART);
    let second = model.step(&watch.snapshots()?);
    let (looks, mut names) = (Looks { first: &first, second: &second, count: threads_of }, Names::default());
    let (text, is_stuck) = if args.json { json::line(looks, &mut names)? } else { report::text(looks, &mut names) };
    print(&text)?;
    Ok(if is_stuck { ExitCode::from(STUCK) } else { ExitCode::SUCCESS })
}

/// How many threads a process has.
fn threads_of(pid: u32) -> Option<usize> {
    std::fs::read_dir(format!("/proc/{pid}/task")).ok().map(Iterator::count)
}
