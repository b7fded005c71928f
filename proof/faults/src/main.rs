//! Programs on Turnwise's locks while something goes wrong. Nothing may be lost, and nothing may hang.
//!
//! | file | what |
//! |---|---|
//! | `faults/` | the table of faults, a file per family |
//! | `inject/` | faults from outside: stops, answers in the kernel's place, CPUs |
//! | `victim.rs`, `victims/*.c` | the programs that it happens to |
//! | `board.rs` | what they share with the driver |
//! | `run.rs` | one victim watched: lost updates, hangs, stalls |
//! | `session.rs`, `page.rs` | all of them, and the page of results |

mod board;
mod faults;
mod inject;
mod page;
mod run;
mod session;
mod victim;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use faults::Fault;
use page::Row;
use session::Session;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use turnwise_present::ending::exit_code;

/// Injects faults into programs on Turnwise's locks: nothing may be lost, and nothing may hang.
///
/// Exit status: 0 as expected, 1 something was lost, hung or not caught, 2 usage.
#[derive(Parser)]
#[command(name = "turnwise-faults", args_conflicts_with_subcommands = true)]
struct Flags {
    /// Time for all faults together, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Every lock and policy, instead of the most used
    #[arg(long)]
    wide: bool,
    /// Random seed. Default: from the clock
    #[arg(long)]
    seed: Option<u64>,
    /// Write the table here, as Markdown
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// List the faults
    #[arg(long)]
    list: bool,
    /// Faults (all, if none is named)
    #[arg(value_parser = names(), hide_possible_values = true)]
    faults: Vec<String>,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Subcommand)]
enum Role {
    /// What the driver starts: threads that contend for a lock
    #[command(hide = true)]
    Victim { board: i32, lock: String, threads: usize },
}

fn main() -> ExitCode {
    let ended = run(&Flags::parse());
    exit_code("turnwise-faults", ended.map(|well| if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// Runs them; returns whether all ended as expected.
fn run(flags: &Flags) -> Result<bool> {
    if let Some(Role::Victim { board, lock, threads }) = &flags.role {
        return victim::run(*board, lock, *threads).map(|()| true);
    }
    let is_chosen = |fault: &&Fault| flags.faults.is_empty() || flags.faults.iter().any(|name| name == fault.name);
    let chosen: Vec<&Fault> = faults::all().filter(is_chosen).collect();
    if flags.list {
        chosen.iter().for_each(|fault| println!("{:20} {}", fault.name, fault.about()));
        return Ok(true);
    }
    let exe = std::env::current_exe().context("cannot find this program's own file")?;
    let built = exe.parent().context("a program lies in a folder")?;
    let seed = flags
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64 >> 10));
    let length = Duration::from_secs(flags.seconds.into()) / chosen.len() as u32;
    keep_shared_memory_apart();
    let mut session = Session::new(seed, built, flags.wide, length)?;
    println!("seed {seed}, {} faults, {:.1} s each", chosen.len(), length.as_secs_f64());
    println!("{}", page::HEAD);
    let commit = turnwise_present::machine::commit().unwrap_or_else(|| "unknown".into());
    let mut rows = Vec::new();
    for fault in chosen {
        let row = Row::new(fault, (fault.run)(&mut session)).context(fault.name)?;
        println!("{}", row.line());
        row.ran.iter().flat_map(|tally| &tally.trouble).for_each(|trouble| println!("{trouble}"));
        rows.push(row);
    }
    if let Some(file) = &flags.page {
        std::fs::write(file, page::page(&rows, flags, seed, &commit))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let wrong = rows.iter().filter(|row| row.is_wrong()).count();
    let said = if wrong == 0 { "Nothing lost, nothing hung.".into() } else { format!("{wrong} rows are wrong.") };
    println!("\n{said}");
    Ok(wrong == 0)
}

/// Gives this process and all that it starts a /dev/shm of their own, which disappears with the last of them: killed
/// tools leave recordings there, and those that cannot write a report keep them. Only root can have one.
fn keep_shared_memory_apart() {
    use nix::mount::{MsFlags, mount};
    const NOTHING: Option<&str> = None;
    let _ = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(NOTHING, "/", NOTHING, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NOTHING))
        .and_then(|()| mount(Some("none"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), Some("mode=1777")));
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(faults::all().map(|fault| fault.name))
}
