//! Work on the workspace itself: `cargo xtask <command>`. What CI runs is `cargo xtask check`.

mod ablate;
mod asm;
mod book;
mod check;
mod command;
mod compatibility;
mod faults;
mod foreign;
mod fuzz;
mod guide;
mod header;
mod install;
mod kernel;
mod load;
mod perf;
mod programs;
mod results;
mod root;
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

/// Declares the commands, each by the function that runs it and returns whether everything is in order.
macro_rules! commands {
    ($($(#[$what:meta])* $name:ident($args:ty) by $run:expr;)*) => {
        #[derive(Subcommand)]
        enum Command { $($(#[$what])* $name($args),)* }

        impl Command {
            fn run(&self) -> Result<bool> {
                root::enter()?;
                match self { $(Command::$name(args) => ($run)(args),)* }
            }
        }
    };
}

commands! {
    /// Style as a test: named rules, each finding with its file, line and what to do
    Tidy(tidy::Args) by tidy::run;
    /// Everything that CI runs, in the same order
    Check(check::Args) by check::run;
    /// Slow chores that CI does not run
    #[command(flatten)]
    Chore(check::Chore) by check::Chore::run;
    /// Try the guide (docs/guide) step by step, as a reader would
    Guide(guide::Args) by guide::run;
    /// Unmodified programs on both locks; writes docs/results/programs.md and its picture
    Programs(programs::Args) by programs::run;
    Test(test::Args) by test::run;
    Results(results::Args) by results::run;
    Perf(perf::Args) by perf::run;
    Ablate(ablate::Args) by ablate::run;
    Faults(faults::Args) by faults::run;
    Fuzz(fuzz::Args) by fuzz::run;
    Kernel(kernel::Args) by kernel::run;
    /// Tests of the locks, and of C programs on them, for other processors under qemu's user mode
    Foreign(check::Group) by |args: &check::Group| args.run("foreign");
    On(foreign::Args) by foreign::run;
    Load(load::Args) by load::run;
    Compatibility(compatibility::Args) by compatibility::run;
    /// Licences, versions, features, compilers and bytes: what goes into the builds, and what comes out of them
    Supply(check::Group) by |args: &check::Group| args.run("supply");
    /// Debian packages, Python wheel, static program: built, installed in a bare system, used and removed
    Dist(check::Group) by |args: &check::Group| args.run("dist");
    /// Parts of `supply` and `dist`
    #[command(flatten)]
    Part(supply::Part) by supply::Part::run;
    /// Prepare the pages of docs for mdbook, which calls this by docs/book.toml
    #[command(hide = true)]
    Book(book::Args) by book::run;
    /// Keep a CPU busy next to what `perf` and `programs` measure
    #[command(hide = true)]
    Busy(perf::busy::Args) by perf::busy::run;
    /// Show what `lock` and `unlock` compile to, next to the same lock written by hand
    Asm(asm::Args) by asm::run;
    /// Write the C API's header, or check it
    Header(header::Header) by header::Header::run;
    /// Build the C API and install it: libraries, headers, pkg-config file, CMake package
    InstallC(install::Install) by install::Install::run;
}

fn main() -> ExitCode {
    match command::skipped(Cli::parse().command.run()) {
        Ok(Err(why)) => {
            println!("{why}");
            ExitCode::from(command::SKIPPED)
        }
        Ok(Ok(ok)) => root::ended(Ok(ok)),
        Err(error) => root::ended(Err(error)),
    }
}
