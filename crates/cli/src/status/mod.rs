//! `turnwise status`: whether processes have the preload library, which locks they are on, and why not.

mod process;

use crate::live::Which;
use anyhow::{Result, bail};
use process::{Status, called, has_library};
use serde_json::json;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_futex_trace::has_ended;
use turnwise_present::ending::{CHECK_FAILED, print};
use turnwise_profile::template::{Serde, Words, context};

/// The version of the schema, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

/// Say whether processes run on Turnwise's locks, on which, and why not
///
/// Reads what the system and the live view tell of a process, and stops nothing. Without a process: a line for each of
/// yours that has the library; root sees those of all users. Exit status: 0 if all have the library, 1 if one has not
/// or there is none, 2 if one cannot be looked at.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise status
  turnwise status 1234
  turnwise status --json nginx | jq '.processes[].version'
  turnwise status server > /dev/null || echo not on our locks")]
pub(crate) struct Args {
    /// A process number, or the name of programs
    #[arg(value_name = "PID | NAME")]
    which: Option<Which>,
    /// All processes that have the library, as without PID or NAME
    #[arg(long, conflicts_with = "which")]
    all: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let which = args.which.clone().filter(|_| !args.all).unwrap_or(Which::All);
    let (mut found, mut refused) = (Vec::new(), None);
    for pid in pids(&which)? {
        match Status::of(pid) {
            Ok(status) => found.push(status),
            Err(_) if which != Which::Pid(pid) && has_ended(pid) => {}
            Err(error) => refused = Some(error),
        }
    }
    if !found.is_empty() || refused.is_none() {
        print(&if args.json { line(&found) } else { text(&which, &found) })?;
    }
    let are_loaded = !found.is_empty() && found.iter().all(|status| status.loaded);
    refused.map_or_else(|| Ok(if are_loaded { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) }), Err)
}

/// Returns why a process has not the library; `None`: it has, or cannot be looked at.
pub(crate) fn why_not_loaded(pid: u32) -> Option<String> {
    Status::of(pid).ok()?.why
}

fn pids(which: &Which) -> Result<Vec<u32>> {
    let pids: Vec<u32> = match which {
        Which::Pid(pid) => vec![*pid],
        Which::All => process::all().filter(|pid| has_library(*pid)).collect(),
        Which::Named(name) => called(name).into_iter().collect(),
    };
    match which {
        Which::Named(name) if pids.is_empty() => {
            bail!("no program called `{name}` runs; `ps -e` lists the names, `turnwise status PID` takes a number")
        }
        _ => Ok(pids),
    }
}

/// Returns the answer as one line. docs/preload.md explains the fields.
fn line(found: &[Status]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (schema, time, own) = (SCHEMA, now.as_secs_f64(), env!("CARGO_PKG_VERSION"));
    format!("{}\n", json!({ "schema": schema, "time_unix_s": time, "turnwise": own, "processes": found }))
}

/// Returns the answer for people: a table of all, or some lines for each.
fn text(which: &Which, found: &[Status]) -> String {
    let values = context! {
        table => *which == Which::All,
        own => env!("CARGO_PKG_VERSION"),
        processes => Serde(found),
    };
    Words::of(include_str!("report.jinja")).render(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_some_lines_or_one_of_a_table() {
        let loaded = Status {
            loaded: true,
            version: Some("0.0.9".to_owned()),
            policy: Some("queued".to_owned()),
            rules: Some(3),
            contended_locks: Some(2),
            waits: Some(1_234_567),
            wait_ns: Some(5_000_000_000),
            waiting: Some(1),
            ..Status::named(7, "server")
        };
        let other = Status { why: Some("it is static. ".repeat(20)), ..Status::named(8, "other") };
        let shown = text(&Which::Pid(7), &[loaded.clone(), other]);
        for part in [
            "server 7: has the library",
            concat!("0.0.9, not ", env!("CARGO_PKG_VERSION")),
            "queued but for 3 rules",
            "other 8: has it not: it",
        ] {
            assert!(shown.contains(part), "{part:?} in:\n{shown}");
        }
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        let shown = text(&Which::All, &[loaded.clone(), Status::named(8, "other")]);
        assert_eq!(shown.lines().count(), 3, "{shown}");
        assert!(text(&Which::All, &[]).contains("has the library"), "it has words for none");
        let parsed: serde_json::Value = serde_json::from_str(&line(&[loaded])).unwrap();
        assert_eq!((&parsed["schema"], &parsed["processes"][0]["waits"]), (&1.into(), &1_234_567.into()));
    }
}
