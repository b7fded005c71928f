//! The `turnwise` program: runs unmodified programs on other locks, and shows which locks are faster.

mod arm;
mod check;
#[cfg(test)]
#[path = "tests/commands.rs"]
mod commands;
mod compare;
mod enable;
#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
mod library;
mod list;
mod live;
mod measure;
mod metric;
mod next;
mod policy;
mod policy_file;
mod preload;
mod profile;
mod program;
mod run;
mod setting;
mod status;
mod stop;
mod target;
mod top;
mod tune;
mod variant;
mod why;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;
use std::sync::Arc;
use turnwise_present::ending::exit_code;
use turnwise_present::usage::Sibling;
use turnwise_present::{limits, own_locks, pages, usage};

/// Run unmodified multi-threaded programs on other locks, and measure which locks are faster.
///
/// Exit status: 0 fine, 1 a check failed, 2 bad usage or I/O, 130 interrupted. `run`, `profile`
/// and `check` exit with the status of the program.
#[derive(Parser)]
#[command(name = "turnwise", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

turnwise_present::page_arguments!("turnwise", "compare");

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Compare(compare::Args),
    Profile(Box<profile::Args>),
    Check(check::Args),
    Top(top::Args),
    Why(why::Args),
    Status(status::Args),
    Enable(enable::Args),
    Disable(enable::DisableArgs),
    Tune(Box<tune::Args>),
    Policy(policy_file::Args),
    Library(library::Args),
    List(list::Args),
    Man(ManArgs),
    Completions(CompletionArgs),
}

/// The separate program for questions about locks and machines.
const LAB: Sibling =
    Sibling { program: "turnwise-lab", package: "turnwise-lab", commands: &["bench", "sim", "calibrate", "reproduce"] };

#[global_allocator]
static MEMORY: limits::Memory = limits::Memory;

fn main() -> ExitCode {
    limits::with_stack(run_command).unwrap_or_else(|error| exit_code("turnwise", Err(error)))
}

#[inline(never)]
fn run_command() -> ExitCode {
    // A write beyond a limit on the size of files must fail, not kill us. Programs that we start have no such handler.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let outcome = own_locks::leave().and_then(|()| match usage::parse::<Cli>(LAB).command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Enable(args) => enable::run(&args),
        Command::Disable(args) => enable::disable(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Policy(args) => policy_file::run(&args),
        Command::Library(args) => library::run(&args),
        Command::List(args) => list::run(&args),
        Command::Man(args) => pages::man(&args.directory, Cli::command()),
        Command::Completions(args) => pages::completions(args.shell, Cli::command()),
    });
    exit_code("turnwise", outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(arguments: &[&str]) -> String {
        let read = usage::try_parse::<Cli>([&["turnwise"], arguments].concat(), LAB);
        read.err().expect("it was taken").to_string()
    }

    #[test]
    fn the_table_is_sound() {
        usage::command::<Cli>().debug_assert();
    }

    #[test]
    fn numbers_are_explained() {
        for (arguments, expected) in [
            (&["compare", "--warmup", "-1"][..], "'-1' for '--warmup <N>': -1 is not in 0.."),
            (&["compare", "--seed", "x"], "'x' for '--seed <N>': expected a whole number"),
            (&["compare", "--seed", "99999999999999999999"], "the number is too large"),
            (&["compare", "--runs", "-1"], "2 or more"),
            (&["compare", "--timeout", "-1"], "above zero"),
        ] {
            let shown = complaint(arguments);
            assert!(shown.contains(expected) && !shown.contains("invalid digit") && !shown.contains("tip:"), "{shown}");
        }
    }

    #[test]
    fn usage_does_not_show_what_is_refused() {
        let shown = complaint(&["profile", "--pid", "1", "true"]);
        assert!(shown.contains("Usage: turnwise profile [OPTIONS] [CMD]..."), "{shown}");
        let shown = complaint(&["policy", "check"]);
        assert!(shown.contains("Usage: turnwise policy check <FILE> [CMD]..."), "{shown}");
    }

    #[test]
    fn what_the_other_program_does_is_reported() {
        for command in LAB.commands {
            let shown = complaint(&[command, "--json", "x"]);
            assert!(shown.contains(&format!("turnwise-lab {command}")) && shown.contains("cargo build"), "{shown}");
        }
    }
}
