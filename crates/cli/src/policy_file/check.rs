//! `turnwise policy check`: what each rule of a policy file matches.

use super::compile::{Compiled, Match, compile};
use super::parse::PolicyFile;
use super::rule::Subject;
use crate::target::Target;
use anyhow::Result;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use turnwise_present::ending::{CHECK_FAILED, print};
use turnwise_profile::figures::plural;
use turnwise_profile::template::{Words, context};

/// Check a policy file: which locks its rules match
///
/// Policy files give individual locks of a program their own policies; docs/policy-files.md is the manual.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(CheckArgs),
}

/// Show what each rule matches in a program
///
/// Reads the program, the shared objects that it starts with and the programs that the rules name; starts nothing.
/// Without CMD, only the file itself is checked. Exit status 1: a rule matches nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
struct CheckArgs {
    /// The policy file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The program; its arguments do not matter
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  turnwise policy check server.toml
  turnwise policy check server.toml -- ./server";

/// The number of names of a match that are listed.
const SHOWN_MAX: usize = 8;

/// Checks a file, and looks its rules up in the program.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Command::Check(args) = &args.command;
    let file = PolicyFile::read(&args.file)?;
    if args.command.is_empty() {
        let rules = plural(file.rules.len() as u64, "rule", "rules");
        print(&format!("{}: {rules}, default {}; no errors\n", file.origin, file.default.name()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let compiled = compile(&file, &Target::find(&args.command)?.path)?;
    print(&text(&file, &compiled))?;
    Ok(if compiled.warnings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn text(file: &PolicyFile, compiled: &Compiled) -> String {
    let rules = file.rules.iter().zip(&compiled.found).map(|(rule, found)| {
        let shown = found.iter().take(SHOWN_MAX).map(|Match { module, name, ranges }| {
            let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let first = ranges.iter().map(|range| range.start).min().unwrap_or_default();
            context! { module, name, bytes, first => format!("{first:#x}"), pieces => ranges.len() }
        });
        let (subject, distance) = match &rule.subject {
            Subject::All => ("all", None),
            Subject::Symbol(_, distance) => ("symbol", distance.map(|distance| format!("{distance:#x}"))),
            Subject::Function(_) => ("function", None),
            Subject::Lines { .. } => ("lines", None),
        };
        let (label, shown) = (rule.label(&file.origin), shown.collect::<Vec<_>>());
        context! { label, subject, distance, shown, more => found.len().saturating_sub(SHOWN_MAX) }
    });
    let values = context! {
        rules => rules.collect::<Vec<_>>(),
        origin => &file.origin,
        default => file.default.name(),
        warnings => compiled.shown_warnings(file),
    };
    Words::of(include_str!("check.jinja")).render(values)
}
