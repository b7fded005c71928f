//! The `turnwise-lab` program: questions about locks and machines, answered by benchmarks, the simulator and the five
//! papers' experiments.

mod bench;
mod calibrate;
mod document;
#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
mod list;
mod picture;
mod reproduce;
mod sim;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;
use turnwise_calibrate::Watch;
use turnwise_present::ending::exit_code;
use turnwise_present::usage::Sibling;
use turnwise_present::{own_locks, pages, progress, usage};

/// Measure locks on this machine and on simulated ones, and repeat the experiments of five papers.
///
/// Exit status: 0 fine, 1 a check failed, 2 bad usage or I/O, 3 a simulated run got stuck, 130 interrupted.
#[derive(Parser)]
#[command(name = "turnwise-lab", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

turnwise_present::page_arguments!("turnwise-lab", "sim");

#[derive(Subcommand)]
enum Command {
    Bench(bench::BenchArgs),
    Sim(Box<sim::Args>),
    Calibrate(calibrate::Args),
    Reproduce(reproduce::Args),
    List(list::Args),
    Man(ManArgs),
    Completions(CompletionArgs),
}

/// The program that makes other programs faster, and its subcommands.
const PRODUCT: Sibling =
    Sibling { program: "turnwise", package: "turnwise-cli", commands: &["run", "compare", "profile", "policy"] };

fn main() -> ExitCode {
    let outcome = own_locks::leave().and_then(|()| match usage::parse::<Cli>(PRODUCT).command {
        Command::Bench(args) => bench::run(args),
        Command::Sim(args) => sim::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::List(args) => list::run(&args),
        Command::Man(args) => pages::man(&args.directory, Cli::command()),
        Command::Completions(args) => pages::completions(args.shell, Cli::command()),
    });
    exit_code("turnwise-lab", outcome)
}

/// Runs something with a bar that shows how far it is.
fn watched<T>(template: &str, run: impl FnOnce(Watch<'_>) -> T) -> T {
    let bar = progress::bar(0, template);
    let result = run(&mut |what, done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    });
    bar.finish_and_clear();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(arguments: &[&str]) -> String {
        let read = usage::try_parse::<Cli>([&["turnwise-lab"], arguments].concat(), PRODUCT);
        read.err().expect("it was taken").to_string()
    }

    #[test]
    fn the_table_is_sound() {
        usage::command::<Cli>().debug_assert();
    }

    #[test]
    fn complaints_say_what_to_type() {
        let shown = complaint(&["sim", "--seed", "-1"]);
        assert!(shown.contains("'-1' for '--seed <N>': it cannot be negative"), "{shown}");
        for command in PRODUCT.commands {
            let shown = complaint(&[command, "true"]);
            assert!(shown.contains(&format!("turnwise {command}")) && shown.contains("-p turnwise-cli"), "{shown}");
        }
    }
}
