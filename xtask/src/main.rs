//! Work on the workspace itself: `cargo xtask <command>`. What CI runs is `cargo xtask check`.

mod ablate;
mod asm;
mod book;
mod capi;
mod check;
mod checks;
mod compatibility;
mod dist;
mod faults;
mod foreign;
mod fuzz;
mod guide;
mod kernel;
mod load;
mod perf;
mod programs;
mod results;
mod root;
mod sanitize;
mod supply;
mod test;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Checks and chores for the Turnwise workspace")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Style as a test: named rules, each finding with its file, line and what to do
    Tidy {
        /// List the rules
        #[arg(long)]
        list: bool,
    },
    /// Everything that CI runs, in the same order
    Check(check::Args),
    /// Slow chores that CI does not run
    #[command(flatten)]
    Chore(check::Chore),
    /// Try the guide (docs/guide) step by step, as a reader would
    Guide(guide::Args),
    /// Unmodified programs on both locks; writes docs/results/programs.md and its picture
    Programs(programs::Args),
    Test(test::Args),
    Results(results::Args),
    Perf(perf::Args),
    Ablate(ablate::Args),
    Faults(faults::Args),
    Fuzz(fuzz::Args),
    Sanitize(sanitize::Args),
    Kernel(kernel::Args),
    Foreign(foreign::Args),
    Load(load::Args),
    Compatibility(compatibility::Args),
    Supply(supply::Args),
    Dist(dist::Args),
    /// Prepare the pages of docs for mdbook, which calls this by docs/book.toml
    #[command(hide = true)]
    Book(book::Args),
    /// Keep a CPU busy next to what `perf` and `programs` measure
    #[command(hide = true)]
    Busy(perf::busy::Args),
    /// Show what `lock` and `unlock` compile to, next to the same lock written by hand
    Asm,
    /// Write the C API's header, or check it
    Header(capi::Header),
    /// Build the C API and install it: libraries, headers, pkg-config file, CMake package
    InstallC(capi::Install),
}

fn main() -> ExitCode {
    root::ended(run(Cli::parse().command))
}

/// Returns whether everything is in order.
fn run(command: Command) -> Result<bool> {
    root::enter()?;
    match command {
        Command::Tidy { list: true } => {
            tidy::list();
            Ok(true)
        }
        Command::Tidy { list: false } => tidy::run(),
        Command::Check(args) => check::run(&args),
        Command::Chore(chore) => chore.run(),
        Command::Guide(args) => guide::run(&args),
        Command::Programs(args) => programs::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Results(args) => results::run(&args),
        Command::Perf(args) => perf::run(&args),
        Command::Ablate(args) => ablate::run(&args),
        Command::Faults(args) => faults::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Sanitize(args) => sanitize::run(&args),
        Command::Kernel(args) => kernel::run(&args),
        Command::Foreign(args) => foreign::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Compatibility(args) => compatibility::run(&args),
        Command::Supply(args) => supply::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Book(args) => book::run(&args),
        Command::Busy(args) => perf::busy::run(&args),
        Command::Asm => asm::run(),
        Command::Header(header) => header.run(),
        Command::InstallC(install) => install.run(),
    }
}
