//! `turnwise-lab list`: the locks, with their guarantees.

use anyhow::Result;
use std::process::ExitCode;
use turnwise_bench::catalogue::{self, Home};
use turnwise_present::ending::print;

/// List the locks of the library and of the five case studies, with sizes and guarantees
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise-lab list
  turnwise-lab list | grep Queued")]
pub(crate) struct Args {}

/// Prints the lists.
///
/// # Errors
/// Standard output cannot be written to.
pub(crate) fn run(_: &Args) -> Result<ExitCode> {
    print(&locks())?;
    Ok(ExitCode::SUCCESS)
}

fn locks() -> String {
    let (ours, old) = (catalogue::table(Home::Turnwise), catalogue::table(Home::Lineage));
    format!(
        "Locks of the library (crate turnwise), without data, on this machine:\n{ours}\
         \nLocks of the five case studies, before and after (crate turnwise-lineage), to measure:\n{old}\
         \n  next is: which waiter gets the lock next; overtaken for: how long later arrivals may go first;\n  \
         again: what happens when a thread acquires a lock that it already holds\n\n\
         Locks and scenarios of the benchmark: turnwise-lab bench --list\n"
    )
}
