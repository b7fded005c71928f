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
        write(PAGE, include_str!("load.md").replace("@MADE@", &made).replace("@ROWS@", &rows))?;
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
