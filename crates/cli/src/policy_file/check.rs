//! `turnwise policy check`: what each rule of a policy file matches.

use super::compile::{Compiled, Match, compile};
use super::parse::PolicyFile;
use super::rule::Subject;
use crate::target::Target;
use anyhow::Result;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use turnwise_present::ending::{CHECK_FAILED, print};

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
        let rules = match file.rules.len() {
            1 => "1 rule".to_owned(),
            count => format!("{count} rules"),
        };
        print(&format!("{}: {rules}, default {}; no errors\n", file.origin, file.default.name()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let compiled = compile(&file, &Target::find(&args.command)?.path)?;
    print(&text(&file, &compiled))?;
    Ok(if compiled.warnings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn text(file: &PolicyFile, compiled: &Compiled) -> String {
    let mut text = String::new();
    for (rule, found) in file.rules.iter().zip(&compiled.found) {
        let _ = writeln!(text, "{}", rule.label(&file.origin));
        for line in lines(&rule.subject, found) {
            let _ = writeln!(text, "    {line}");
        }
    }
    let _ = writeln!(text, "{}: all others: {}", file.origin, file.default.name());
    if !compiled.warnings.is_empty() {
        let _ = writeln!(text, "\n{}", compiled.shown_warnings(file));
    }
    text
}

fn lines(subject: &Subject, found: &[Match]) -> Vec<String> {
    let mut lines: Vec<String> = found.iter().take(SHOWN_MAX).map(|found| line(subject, found)).collect();
    if found.is_empty() {
        lines.push("finds nothing".to_owned());
    } else if found.len() > SHOWN_MAX {
        lines.push(format!("and {} more", found.len() - SHOWN_MAX));
    }
    lines
}

fn line(subject: &Subject, found: &Match) -> String {
    let Match { module, name, ranges } = found;
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let first = ranges.iter().map(|range| range.start).min().unwrap_or_default();
    let pieces = match ranges.len() {
        1 => String::new(),
        count => format!(" in {count} pieces"),
    };
    match subject {
        Subject::All => format!("all locks that lie in {module} or that its code makes"),
        Subject::Symbol(_, Some(distance)) => format!("the lock at {name}+{distance:#x} in {module} ({first:#x})"),
        Subject::Symbol(_, None) => format!("locks in {name} in {module} ({first:#x}, {bytes} bytes{pieces})"),
        Subject::Function(_) => format!("locks that {name} in {module} makes (code at {first:#x}{pieces})"),
        Subject::Lines { .. } => format!("locks that these lines in {module} make (code at {first:#x}{pieces})"),
    }
}
