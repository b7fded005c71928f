//! `cargo xtask load`: acquisitions by the thousand million, and threads that come and go, by two scenarios of
//! `proof/torture`.

use crate::command::{lines, made_here};
use crate::root::{cargo, write};
use anyhow::{Context, Result, ensure};
use std::time::UNIX_EPOCH;

/// The page with the tables.
const PAGE: &str = "docs/results/load.md";

/// Acquisitions by the thousand million, and threads that come and go: nothing may be lost, grow or get slower
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Acquisitions of each lock; the default takes most of a day
    #[arg(long, default_value = "1e10", value_name = "NUMBER")]
    acquisitions: String,
    /// Time for the acquisitions of all locks together, in seconds, if that is sooner
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Time for threads that come and go, for all locks together, in seconds
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    churn: u32,
    /// Random seed; a run prints its own
    #[arg(long)]
    seed: Option<u64>,
    /// Write docs/results/load.md
    #[arg(long)]
    write: bool,
    /// Locks (all, if none is named)
    locks: Vec<String>,
}

/// Runs both; returns `true` if nothing was lost, and nothing grew.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let seed = match args.seed {
        Some(seed) => seed,
        None => UNIX_EPOCH.elapsed().context("the clock is before 1970")?.as_secs(),
    };
    let Args { acquisitions, seconds, churn, locks, .. } = args;
    let mut command = format!("cargo xtask load --acquisitions {acquisitions} --seconds {seconds} --churn {churn}");
    command += &format!(" --seed {seed} {}", locks.join(" "));
    println!("again: {command}");
    let (loaded, load) =
        torture("load", &[&format!("--seconds={seconds}"), &format!("--acquisitions={acquisitions}")], seed, locks)?;
    let (churned, churn) = torture("churn", &[&format!("--seconds={churn}")], seed, locks)?;
    if args.write {
        let rows = rows(&load, &churn).join("\n");
        let made = made_here(&format!("{} --write", command.trim_end()));
        write(PAGE, format!("# Load\n\n{made}\n\n{INTRODUCTION}\n\n{HEAD}\n{rows}\n"))?;
    }
    Ok(loaded && churned)
}

/// Runs one scenario for every lock that has it; returns whether all was well, and its report on each.
fn torture(scenario: &str, flags: &[&str], seed: u64, locks: &[String]) -> Result<(bool, Vec<String>)> {
    let mut run = cargo("run --quiet --release -p turnwise-torture -- --scenario");
    run.arg(scenario).args(flags).arg(format!("--seed={seed}")).args(locks.iter().map(|lock| format!("--lock={lock}")));
    let mut rows = Vec::new();
    let status = lines(&mut run, |line| {
        println!("{line}");
        rows.extend(line.starts_with("| ").then_some(line));
        Ok(())
    })?;
    ensure!(!rows.is_empty(), "no lock went through {scenario}: the run ended with {status}");
    Ok((status.success(), rows))
}

/// Returns what both scenarios print about a lock, in a row: of all columns those that show whether it keeps up.
fn rows(load: &[String], churn: &[String]) -> Vec<String> {
    let cells =
        |row: &str| -> Vec<String> { row.trim_matches('|').split('|').map(|cell| cell.trim().into()).collect() };
    let row = |row: &String| {
        let load = cells(row);
        let churn = churn.iter().map(|row| cells(row)).find(|churn| churn[0] == load[0]);
        let churn = churn.unwrap_or_else(|| vec![String::new(); 7]);
        let shown = [&load[0], &load[1], &load[3], &load[6], &load[7], &churn[1], &churn[4], &churn[5]];
        format!("| {} |", shown.map(String::as_str).join(" | "))
    };
    load.iter().map(row).collect()
}

const INTRODUCTION: &str = "\
Each lock in a process of its own ([proof/torture](../../proof/torture/README.md)): eight laps of one thread, two, and a
crowd, where every other acquisition is a reader's if there are readers; then threads that come, take a lock that all
share and one of their own, which they allocate, and go. **Lost**: updates that threads made under the lock and the data
does not have; a run that loses one, or reads half of one, fails and has no row. So does one whose memory grows by more
than 2 MiB after the first lap, whose threads' numbers are not used again, or whose lone thread pays three times what it
paid at first. **A to B** is the first lap and the last: time for each acquisition in the crowd, other programs' turns
included, and memory of the process. What else is measured of each lock `cargo xtask load` prints.";

const HEAD: &str = "\
| lock | acquisitions | lost | a crowd, ns | memory, KiB | threads | lost | memory, KiB |
|---|---|---|---|---|---|---|---|";
