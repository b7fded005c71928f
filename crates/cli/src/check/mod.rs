//! `turnwise check`: runs a program under the recorder, and reports how its threads could wait for one another forever.

mod sarif;
mod suppressions;

use crate::profile;
use crate::target::{SAMPLE_HELP, Target, long_help};
use anyhow::{Context, Result};
use serde_json::json;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use suppressions::{Suppression, Suppressions};
use turnwise_present::ending::{CHECK_FAILED, print};
use turnwise_present::json;
use turnwise_present::output_file::OutputFile;
use turnwise_present::{input_file, printable};
use turnwise_profile::figures::plural;
use turnwise_profile::hazards::{self, Hazard};
use turnwise_profile::learned::Learned;
use turnwise_profile::model::Profile;
use turnwise_profile::output::took_none;

/// The version of the JSON, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

/// Find orders of locks that may lead to a deadlock, in one run without one, and misuse
///
/// Runs the program on its own locks under the recorder of `turnwise profile`, with its processes. Reports each cycle
/// once: locks that are taken under one another so that the last leads back to the first, by threads that live
/// at the same time. A lock that is held in two of its steps keeps them apart: that is no cycle; nor is one of
/// readers alone, of a single thread, or of locks that were only tried. Threads that wait for one another at the end
/// are reported too, and misuse of plain mutexes: a release by another thread or of a free one, a destruction or a
/// thread's end while it is held, a wait without it. Locks under more than 31 others, and those of which only the
/// waits are known (Rust's std, parking_lot, Go), are not seen.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = long_help(EXAMPLES))]
pub(crate) struct Args {
    /// Exit with status 1 if anything is found that no suppression covers; `turnwise: check: ... found` on standard
    /// error tells this from a program that exits with 1 itself. Otherwise, and without --fail, the exit status is the
    /// program's
    #[arg(long)]
    fail: bool,
    /// Print one line of JSON, after what the program prints
    #[arg(long)]
    json: bool,
    /// Write the report to this file as SARIF 2.1.0, with what is suppressed and why
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Leave out what this file accepts, a line each: `lock PATTERN because REASON` for a lock by its name in the
    /// report, `site PATTERN because REASON` for a place; `*` stands for any text, and `#` begins a comment line
    #[arg(long, value_name = "FILE")]
    suppress: Option<PathBuf>,
    /// Remember the orders of this run in this file, made if there is none, and find cycles of which some steps are of
    /// earlier runs. A lock is the same there if its name in the report is; locks of one array, or made at one place,
    /// have no order among them. Give each program a file, and remove it when the program has changed
    #[arg(long, value_name = "FILE")]
    learn: Option<PathBuf>,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  turnwise check -- ./server --self-test
  turnwise check --fail --suppress locks.accepted -- ctest
  for test in tests/*; do turnwise check --learn locks.json -- $test; done
  turnwise check --json -- ./server | tail -n 1 | jq '.hazards[].locks'";

struct Checked {
    profiles: Vec<Profile>,
    found: Vec<Hazard>,
    /// What suppressions cover, each with the first that does.
    suppressed: Vec<(Hazard, Suppression)>,
    /// Suppressions that cover nothing.
    unused: Vec<Suppression>,
}

/// Runs the program, and prints what was found.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = Target::find(&args.command)?;
    let suppressions = args.suppress.as_deref().map(Suppressions::read).transpose()?.unwrap_or_default();
    let sarif = OutputFile::asked("--sarif", args.sarif.as_deref())?;
    let learn = OutputFile::asked("--learn", args.learn.as_deref())?;
    let learned_before = || args.learn.as_deref().map(learned_before).transpose();
    learned_before()?;
    let (profiles, status) = profile::of_each_process(&target)?;
    // Read again: another run may have ended meanwhile.
    let mut learned = learned_before()?;
    let (across, is_complete) = learned.as_mut().map_or((Vec::new(), true), |learned| learned.learn(&profiles));
    if !is_complete {
        eprintln!("turnwise: check: --learn: not all orders of all runs were searched for cycles");
    }
    let checked = check(profiles, across, suppressions);
    print(&if args.json { line(&checked) } else { report(&checked) })?;
    sarif.map_or(Ok(()), |file| file.write(json::text(&sarif::document(&checked))?.as_bytes()))?;
    learn.map_or(Ok(()), |file| file.write(json::text(&learned)?.as_bytes()))?;
    if args.fail && !checked.found.is_empty() {
        eprintln!("turnwise: check: {}", number(checked.found.len()));
        return Ok(CHECK_FAILED.into());
    }
    Ok(status.into())
}

fn number(found: usize) -> String {
    plural(found as u64, "hazard found", "hazards found")
}

/// Returns what earlier runs have written to a file; nothing if it does not exist.
fn learned_before(file: &Path) -> Result<Learned> {
    let text = match input_file::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Learned::default()),
        text => text.map_err(anyhow::Error::from),
    };
    text.and_then(|text| Learned::read(&text)).with_context(|| {
        let shown = printable(&file.display().to_string()).into_owned();
        format!("--learn {shown}: `turnwise check --learn` did not write this; remove it, or name another file")
    })
}

/// `across`: cycles across runs.
fn check(profiles: Vec<Profile>, across: Vec<Hazard>, mut suppressions: Suppressions) -> Checked {
    let (mut found, mut suppressed): (Vec<Hazard>, Vec<(Hazard, Suppression)>) = (Vec::new(), Vec::new());
    for hazard in profiles.iter().flat_map(hazards::of).chain(across) {
        let is_known =
            found.iter().chain(suppressed.iter().map(|(known, _)| known)).any(|known| known.is_same(&hazard));
        if is_known {
            continue;
        }
        match suppressions.covering(&hazard) {
            Some(suppression) => suppressed.push((hazard, suppression)),
            None => found.push(hazard),
        }
    }
    Checked { profiles, found, suppressed, unused: suppressions.unused() }
}

/// Returns what the recordings of all processes lack, each remark once.
fn missing(checked: &Checked) -> Vec<&str> {
    let mut all = Vec::new();
    for remark in checked.profiles.iter().flat_map(|profile| &profile.recording.missing) {
        if !all.contains(&remark.as_str()) {
            all.push(remark);
        }
    }
    all
}

fn summary(checked: &Checked) -> String {
    let profiles = &checked.profiles;
    let threads = |profile: &Profile| profile.threads.iter().filter(|thread| thread.usage.acquisitions > 0).count();
    let most = profiles.iter().map(threads).max().unwrap_or(0);
    let locks: u64 = profiles.iter().map(|profile| profile.locks.len() as u64).sum();
    let checked_locks = plural(locks, "lock", "locks");
    match (checked.found.len(), most) {
        (0, 0) if profiles.iter().all(took_none) => {
            "The program took no locks of pthread: there was nothing to check.".to_owned()
        }
        (0, 0 | 1) => "No process had two threads that took locks: none could wait for another.".to_owned(),
        (0, _) if !checked.suppressed.is_empty() => format!("Nothing else found among {checked_locks}."),
        (0, _) => format!("Nothing found: the orders in which threads took {checked_locks} have no cycle."),
        (found, _) => format!("{} among {checked_locks}.", number(found)),
    }
}

fn report(checked: &Checked) -> String {
    let mut text: String = missing(checked).iter().map(|remark| format!("missing: {remark}\n")).collect();
    for hazard in &checked.found {
        text += &format!("{}\n", hazard.text());
    }
    for (hazard, suppression) in &checked.suppressed {
        text += &format!("suppressed: {} of {}: {suppression}\n", hazard.kind, hazard.locks.join(", "));
    }
    for suppression in &checked.unused {
        text += &format!("covers nothing: {suppression}\n");
    }
    text + &summary(checked) + "\n"
}

fn line(checked: &Checked) -> String {
    let suppressed = checked.suppressed.iter().map(|(hazard, by)| json!({ "hazard": hazard, "by": by.to_string() }));
    let value = json!({
        "schema": SCHEMA,
        "summary": summary(checked),
        "missing": missing(checked),
        "processes": checked.profiles.len(),
        "hazards": checked.found,
        "suppressed": suppressed.collect::<Vec<_>>(),
        "unused_suppressions": checked.unused.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}
