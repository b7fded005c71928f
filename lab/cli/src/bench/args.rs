//! The command line of `bench`. Which names are right depends on the subject, so they are checked in a second step,
//! with the same messages as if clap had known them from the start.

use crate::sim::args::parsed;
use anyhow::ensure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use turnwise_bench::options::Options;
use turnwise_bench::plugin::Plugin;
use turnwise_bench::setting::{self, Setting};
use turnwise_bench::subject::{Group, LockInfo, SUBJECTS, Scenario, Subject};

/// Flags that make no sense without a run.
const FOR_A_RUN: [&str; 7] = ["subject", "lock", "scenario", "against", "plugin", "peer_plugin", "list"];

/// Compare locks on this machine
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  turnwise-lab bench
  turnwise-lab bench rwlock --list
  turnwise-lab bench mutex --lock mutex,parking_lot --quick --html report.html
  turnwise-lab bench mutex --plugin ./mylock.so --peer-plugin ./abseil.so ./nsync.so")]
pub(crate) struct BenchArgs {
    /// The sort of locks to compare; default: mutex
    #[arg(value_name = "SUBJECT", value_parser = subject_names())]
    pub(crate) subject: Option<String>,
    /// Locks to run (`bench SUBJECT --list` names them); default: ours and the peers that each scenario is about
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub(crate) lock: Vec<String>,
    /// Scenarios or groups of scenarios to run (`bench SUBJECT --list` names them); default: all, of mutexes the group
    /// mutex
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub(crate) scenario: Vec<String>,
    /// Compare speeds with this lock, and run it, too; default: the lock that each scenario is about, or else the
    /// fastest peer that sleeps
    #[arg(long, value_name = "NAME")]
    pub(crate) against: Option<String>,
    /// Also run the locks of these shared objects, and judge them as our own (docs/bench-plugins.md says how to build
    /// one)
    #[arg(long, value_name = "FILE", num_args = 1.., value_parser = plugin)]
    pub(crate) plugin: Vec<Plugin>,
    /// Also run the locks of these shared objects, as peers
    #[arg(long, value_name = "FILE", num_args = 1.., value_parser = plugin)]
    pub(crate) peer_plugin: Vec<Plugin>,
    /// Fewer and shorter samples: a subject within a minute
    #[arg(long)]
    pub(crate) quick: bool,
    /// Samples of each lock in each scenario; default: 7, quick: 5
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) samples: Option<u32>,
    /// Length of a sample in milliseconds; default: 150, quick: 60 or less
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub(crate) sample_ms: Option<u32>,
    /// Set a field of the waiting policy of our locks, repeated or comma-separated (see `bench --list`)
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = parsed::<Setting>)]
    pub(crate) set: Vec<Setting>,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Also write the report as JSON; - prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the report as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Also write the report as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Show a report that --json wrote, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = FOR_A_RUN)]
    pub(crate) from: Option<PathBuf>,
    /// List the locks and scenarios (of all subjects unless one is named), and run nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// The locks of shared objects, once names are checked.
    #[arg(skip)]
    plugged: Vec<&'static LockInfo>,
}

/// Returns the lock of this file, loaded.
fn plugin(file: &str) -> Result<Plugin, String> {
    Plugin::load(Path::new(file)).map_err(|error| format!("{error:#}"))
}

fn subject_names() -> PossibleValuesParser {
    SUBJECTS.iter().map(|s| PossibleValue::new(s.name).help(s.help)).collect::<Vec<_>>().into()
}

/// Does the second step: clap's own parser of possible values, which are now known.
fn check<'a>(name: &str, known: Vec<&'static str>, typed: impl Iterator<Item = &'a String>) -> Result<(), clap::Error> {
    let mut cmd = BenchArgs::augment_args(Command::new("bench"));
    cmd.build();
    let arg: Option<&Arg> = cmd.get_arguments().find(|arg| arg.get_long() == Some(name));
    let parser = PossibleValuesParser::new(known);
    for value in typed {
        parser.parse_ref(&cmd, arg, OsStr::new(value))?;
    }
    Ok(())
}

impl BenchArgs {
    /// Checks the names, and loads the locks of shared objects.
    ///
    /// # Errors
    /// There is no such lock or scenario, or a shared object is wrong.
    pub(crate) fn checked(self) -> Result<BenchArgs, clap::Error> {
        let subject = self.subject();
        let plugged = self.plugged(subject).map_err(|error| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("{error:#}\n")).with_cmd(&Command::new("bench"))
        })?;
        let listed = subject.locks().into_iter().map(|lock| lock.name);
        let locks: Vec<_> = listed.clone().chain(plugged.iter().map(|lock| lock.name)).collect();
        let groups = subject.groups.iter().map(|group| group.name);
        let scenarios = subject.scenarios().map(|scenario| scenario.name);
        check("against", locks, self.against.iter())?;
        check("lock", listed.chain(["all"]).collect(), self.lock.iter())?;
        check("scenario", scenarios.chain(groups).chain(["all"]).collect(), self.scenario.iter())?;
        Ok(BenchArgs { plugged, ..self })
    }

    /// Returns the sort of locks.
    fn subject(&self) -> &'static Subject {
        self.subject.as_deref().and_then(Subject::find).unwrap_or(&SUBJECTS[0])
    }

    /// Returns the locks of shared objects, those to judge first; for as long as the program runs.
    fn plugged(&self, subject: &Subject) -> anyhow::Result<Vec<&'static LockInfo>> {
        let mut plugged: Vec<&'static LockInfo> = Vec::new();
        for (index, &plugin) in self.plugin.iter().chain(&self.peer_plugin).enumerate() {
            let lock = LockInfo::plugged(Box::leak(Box::new(plugin)), subject)?;
            let twice = plugged.iter().any(|before| before.name == lock.name);
            ensure!(!twice, "two shared objects call their lock {}: give one of them another name", lock.name);
            let lock = if index < self.plugin.len() { lock.ours() } else { lock };
            plugged.push(Box::leak(Box::new(lock)));
        }
        Ok(plugged)
    }

    /// Returns the requested options, as the library takes them.
    pub(crate) fn options(&self) -> Options {
        Options {
            subject: self.subject(),
            locks: self.lock.clone(),
            plugged: self.plugged.clone(),
            scenarios: self.scenario.clone(),
            against: self.against.clone(),
            quick: self.quick,
            samples: self.samples,
            sample_ms: self.sample_ms,
            seed: self.seed,
        }
    }

    /// Returns what `--list` prints.
    pub(crate) fn lists(&self) -> String {
        match self.subject {
            Some(_) => list(self.subject(), &self.plugged),
            None => {
                let subjects = SUBJECTS.iter().map(|subject| list(subject, &[]));
                subjects.chain([setting::list()]).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

fn list(subject: &Subject, plugged: &[&LockInfo]) -> String {
    let row = |name: &str, help: &str| format!("  {name:<26} {help}\n");
    let in_group = |s: &Scenario| row(s.name, &format!("{:<16} {}", s.group, s.help));
    let locks: String = subject.locks().iter().chain(plugged).map(|l| row(l.name, l.help)).collect();
    let groups: String = subject.groups.iter().map(|g: &Group| row(g.name, g.help)).collect();
    let scenarios: String = subject.scenarios().map(in_group).collect();
    let title = format!("{}: {}", subject.name, subject.help);
    format!("{title}\nlocks\n{locks}groups of scenarios\n{groups}scenarios (name, group)\n{scenarios}")
}
