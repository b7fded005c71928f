//! The `turnwise` program: runs unmodified programs on other locks, and tells which locks are faster.

mod advise;
mod aim7;
mod arm;
mod calibrate;
mod compare;
mod contender;
mod draft;
mod generate;
mod install;
mod json;
mod list;
mod looks;
mod machine;
mod measure;
mod metric;
mod mount;
mod notes;
mod policy;
mod policy_file;
mod preload;
mod profile;
mod program;
mod report;
mod reproduce;
mod run;
mod sanitizer;
mod session;
mod signs;
mod sim;
mod stats;
mod table;
mod target;
mod usage;
mod verdict;

use clap::{CommandFactory, Parser, Subcommand};
use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use turnwise_workloads::bench::{self, BenchArgs};

/// Run unmodified multi-threaded programs on other locks, and measure which locks are faster.
///
/// Exit status: 0 fine, 1 a check failed, 2 bad usage or I/O, 3 a simulated run got stuck, 130 interrupted. `run` and
/// `profile` have the program's own.
#[derive(Parser)]
#[command(name = "turnwise", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Compare(compare::Args),
    Profile(Box<profile::Args>),
    Bench(BenchArgs),
    Sim(Box<sim::Args>),
    Policy(policy_file::Args),
    Aim7(Box<aim7::Args>),
    Mount(mount::Args),
    Calibrate(calibrate::Args),
    Reproduce(reproduce::Args),
    List(list::Args),
    Man(generate::ManArgs),
    Completions(generate::CompletionArgs),
}

/// An error with an exit status of its own; any other error is bad usage or I/O.
#[derive(Debug)]
struct Failure {
    code: u8,
    message: String,
}

/// A check failed: other locks broke the program.
const CHECK_FAILED: u8 = 1;
const USAGE_OR_IO: u8 = 2;
/// A simulated run got nowhere.
const STUCK: u8 = 3;
/// As the shell has it: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

impl Failure {
    fn error(code: u8, message: String) -> anyhow::Error {
        anyhow::Error::new(Failure { code, message })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

fn main() -> ExitCode {
    let outcome = preload::leave_own_process().and_then(|()| match usage::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Bench(args) => bench::run(args),
        Command::Sim(args) => sim::run(&args),
        Command::Policy(args) => policy_file::run(&args),
        Command::Aim7(args) => aim7::run(&args),
        Command::Mount(args) => mount::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::List(args) => list::run(&args),
        Command::Man(args) => generate::man(&args, Cli::command()),
        Command::Completions(args) => generate::completions(&args, Cli::command()),
    });
    outcome.unwrap_or_else(|error| {
        eprintln!("turnwise: {error:#}");
        ExitCode::from(error.downcast_ref::<Failure>().map_or(USAGE_OR_IO, |failure| failure.code))
    })
}

/// Writes to stdout. A reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
