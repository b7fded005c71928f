//! Tortures the locks; see the library's documentation.

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use std::process::ExitCode;
use std::time::Duration;
use turnwise_present::ending::{exit_code, print};
use turnwise_torture::arena::Limits;
use turnwise_torture::broken::BROKEN;
use turnwise_torture::cell::{Cell, run_all};
use turnwise_torture::locks::LOCKS;
use turnwise_torture::scenarios::SCENARIOS;

/// Every lock under every scenario on threads, each in a process of its own; locks broken on purpose must be caught.
///
/// Exit status: 0 as expected, 1 a check failed, 2 usage, 3 a hang.
#[derive(Parser)]
#[command(name = "turnwise-torture")]
struct Flags {
    /// Time for all runs of sound locks together, in seconds; each broken one gets up to 2 besides
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    seconds: f64,
    /// Acquisitions of each sound lock that are enough, if that is sooner: for the scenarios load and churn
    #[arg(long, default_value = "1e18", value_parser = acquisitions)]
    acquisitions: u64,
    /// Random seed; a failed run prints its own. Default: from the clock
    #[arg(long)]
    seed: Option<u64>,
    /// Only this lock (repeatable); --list names them
    #[arg(long, value_parser = locks(), hide_possible_values = true)]
    lock: Vec<String>,
    /// Only this scenario (repeatable)
    #[arg(long, value_parser = scenarios(), hide_possible_values = true)]
    scenario: Vec<String>,
    /// Report a hang if a thread waits for longer than this many seconds
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    patience: f64,
    /// Run one lock under one scenario in this process, as for a debugger
    #[arg(long)]
    here: bool,
    /// List locks and scenarios
    #[arg(long)]
    list: bool,
}

fn locks() -> PossibleValuesParser {
    let broken = BROKEN.iter().map(|broken| &broken.lock);
    PossibleValuesParser::new(LOCKS.iter().chain(broken).map(|lock| lock.name))
}

fn scenarios() -> PossibleValuesParser {
    PossibleValuesParser::new(SCENARIOS.iter().map(|scenario| scenario.name))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n > 0.0 && n <= 1e6 => Ok(n),
        _ => Err("give a number of seconds above 0, at most a million".to_owned()),
    }
}

fn acquisitions(text: &str) -> Result<u64, String> {
    match text.parse::<u64>().or_else(|_| text.parse::<f64>().map(|n| n as u64)) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("give a number above 0, such as 5000 or 1e10".to_owned()),
    }
}

fn main() -> ExitCode {
    exit_code("turnwise-torture", run(&Flags::parse()))
}

fn run(flags: &Flags) -> Result<ExitCode> {
    if flags.list {
        return print(&list()).map(|()| ExitCode::SUCCESS);
    }
    let cells = chosen(flags)?;
    let seed = flags.seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |now| now.as_nanos() as u64 >> 10)
    });
    let [length, patience] = [flags.seconds, flags.patience].map(Duration::from_secs_f64);
    let limits = Limits { seed, length, acquisitions: flags.acquisitions, patience };
    if flags.here {
        let [cell] = &cells[..] else {
            bail!("--here takes one --lock and one --scenario, which leaves 1 run, not {}", cells.len());
        };
        cell.run_here(limits);
    }
    let exe = std::env::current_exe().context("cannot find this program's own file")?;
    print(&format!("seed {seed}, {} runs\n", cells.len()))?;
    let worst = run_all(&exe, &cells, limits, |line| print(&format!("{line}\n")))?;
    Ok(ExitCode::from(worst as u8))
}

/// Returns the cells that the flags leave.
fn chosen(flags: &Flags) -> Result<Vec<Cell>> {
    let wanted = |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let mut cells = Cell::of_locks();
    cells.extend(Cell::of_broken());
    cells.retain(|cell| wanted(&flags.lock, cell.lock.name) && wanted(&flags.scenario, cell.scenario.name));
    ensure!(!cells.is_empty(), "none of these scenarios applies to these locks; see --list");
    Ok(cells)
}

fn list() -> String {
    let mut text = String::from("locks:\n");
    for lock in LOCKS.iter() {
        text += &format!("  {:<27}{} ({} bytes)\n", lock.name, lock.about, lock.size);
    }
    text += "locks broken on purpose:\n";
    for broken in BROKEN.iter() {
        let caught: Vec<_> = broken.caught_by.iter().map(|(by, verdict)| format!("{by}: {verdict:?}")).collect();
        text += &format!("  {:<27}{} ({})\n", broken.lock.name, broken.lock.about, caught.join(", "));
    }
    text += "scenarios:\n";
    for scenario in SCENARIOS {
        text += &format!("  {:<27}{}\n", scenario.name, scenario.about);
    }
    text
}
