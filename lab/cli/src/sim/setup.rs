//! The setup of a sweep, and one of its cells.

use super::args::{Flags, Schedule};
use super::part::Part;
use super::plan::{Axes, CellPlan};
use super::range::Ranges;
use super::trace;
use crate::document;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use turnwise_bench::setting;
use turnwise_calibrate::here_path;
use turnwise_forecast::order;
use turnwise_present::figures::duration;
use turnwise_sim::MAX_THREADS;
use turnwise_sim::spec::{self, Machine};
use turnwise_simbench::report::{Cell, FORMAT, SimMachine, SimReport};
use turnwise_simbench::{LOCKS, Plan, Run, SimLock, Workload, run};

/// The locks of the paper on mutex spinners, and others for comparison.
pub(crate) const DEFAULT_LOCKS: [&str; 6] =
    ["mutex", "linux-mutex-baseline", "linux-mutex-patch1-and-2", "ttas", "ticket", "mcs"];
/// Only the lock: where a collapse shows first.
pub(crate) const DEFAULT_WORKLOAD: &str = "tight";
/// The machine of most of the paper's figures.
pub(crate) const DEFAULT_MACHINE: &str = "westmere-ex-80";
/// The machine that `turnwise-lab calibrate` measured.
pub(crate) const HERE: &str = "here";

/// A sweep's machine and workload.
pub(crate) struct SweepSetup<'a> {
    flags: &'a Flags,
    pub(crate) machine: Arc<Machine>,
    workload: Workload,
}

impl SweepSetup<'_> {
    /// # Errors
    /// There is no such machine, its file is wrong, a lock is named twice.
    pub(crate) fn new(flags: &Flags) -> Result<SweepSetup<'_>> {
        let locks = flags.locks();
        let twice = locks.iter().enumerate().find(|(place, lock)| locks[..*place].contains(lock));
        ensure!(twice.is_none(), "--lock names {} twice", twice.map_or("", |(_, lock)| lock));
        ensure!(flags.duration_ns > 0, "--duration must be above zero");
        Ok(SweepSetup { flags, machine: Arc::new(machine(flags.machine()?)?), workload: flags.workload.parse()? })
    }

    /// Checks that these cells can be run at all.
    ///
    /// # Errors
    /// One of them has too many threads, or too few for the workload.
    pub(crate) fn check(&self, cells: &[CellPlan]) -> Result<()> {
        for CellPlan { threads, .. } in cells {
            ensure!(*threads as usize <= MAX_THREADS, "{threads} threads are too many: at most {MAX_THREADS}");
            self.workload.roles(*threads)?;
        }
        Ok(())
    }

    /// Runs one cell. With a trace the second is a document, unless the cell got stuck.
    ///
    /// # Errors
    /// The lock broke its guarantee.
    pub(crate) fn run(&self, cell: &CellPlan, traced: bool) -> Result<(Cell, Option<String>)> {
        let flags = self.flags;
        let lock = SimLock::find(&cell.lock)?;
        let plan = Plan {
            cpus: (0..cell.cpus).collect(),
            threads: cell.threads,
            pinned: cell.pinned,
            warm_up_ns: flags.warm_up_ns,
            duration_ns: flags.duration_ns,
            perturb: flags.perturb.perturb(),
            starvation_ns: flags.starvation_ns,
            traced,
            ..Plan::new(Arc::clone(&self.machine), lock, self.workload.clone(), cell.seed)
        };
        let Run { cell: ran, trace } = run::run(&plan)?;
        let end_ps = (flags.warm_up_ns + flags.duration_ns) * spec::NS;
        let document = trace.map(|trace| {
            let end_ps = trace.events.last().map_or(end_ps, |event| event.ps.max(end_ps));
            trace::chrome(&trace.events, &trace.locks, end_ps)
        });
        Ok((self.finished(cell, ran), document))
    }

    /// Adds what only the sweep knows.
    fn finished(&self, plan: &CellPlan, mut cell: Cell) -> Cell {
        cell.index = plan.index;
        if let Err(stuck) = &mut cell.result {
            stuck.replay = self.replay(plan);
        }
        cell
    }

    fn replay(&self, plan: &CellPlan) -> String {
        let one = |count| Some(Ranges(vec![count]));
        let threads = if plan.pinned { None } else { one(plan.threads) };
        let axes = Axes { cpus: one(plan.cpus), nodes: None, threads };
        self.command_of(std::slice::from_ref(&plan.lock), &axes, plan.seed)
    }

    fn command_of(&self, locks: &[String], axes: &Axes, seed: u64) -> String {
        let mut words = vec!["turnwise-lab".to_owned(), "sim".to_owned()];
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
        flag("--machine", self.flags.machines.first().map_or(DEFAULT_MACHINE, String::as_str).to_owned());
        flag("--lock", locks.join(","));
        flag("--workload", self.workload.text.clone());
        axes.flags().for_each(|(name, counts)| flag(name, counts));
        flag("--duration", duration(self.flags.duration_ns));
        flag("--warm-up", duration(self.flags.warm_up_ns));
        flag("--seed", seed.to_string());
        let perturb = self.flags.perturb;
        if let Some(value) = perturb.to_possible_value().filter(|_| perturb != Schedule::None) {
            flag("--perturb", value.get_name().to_owned());
        }
        if let Some(ns) = self.flags.starvation_ns {
            flag("--starvation", duration(ns));
        }
        for setting in &self.flags.set {
            flag("--set", setting.to_string());
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the report, without its cells.
    pub(crate) fn report(&self, axes: &Axes, part: Part, cells_in_all: u32) -> SimReport {
        SimReport {
            format: FORMAT.to_owned(),
            command: self.command_of(&self.flags.locks(), axes, self.flags.seed),
            commit: turnwise_present::machine::commit(),
            machine: SimMachine::of(&self.machine),
            workload: self.workload.text.clone(),
            duration_ns: self.flags.duration_ns,
            warm_up_ns: self.flags.warm_up_ns,
            seed: self.flags.seed,
            part: (part.k, part.n),
            cells_in_all,
            cells: Vec::new(),
        }
    }
}

/// Returns a word of a command line, as a shell reads it. Commas need no quotes, and lists are easier to read without.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    match shlex::try_quote(word) {
        Ok(quoted) if word.is_empty() || !word.chars().all(is_plain) => quoted.into_owned(),
        _ => word.to_owned(),
    }
}

/// Returns the machine of this name, or in this file.
///
/// # Errors
/// If there is none, or its file is wrong.
pub(crate) fn machine(name: &str) -> Result<Machine> {
    if name != HERE {
        return Ok(spec::load(name)?);
    }
    let path = here_path().context("--machine here")?;
    ensure!(path.exists(), "--machine here: no {}: run `turnwise-lab calibrate` first", path.display());
    Ok(spec::load(&path.display().to_string())?)
}

/// Checks names, and suggests the nearest; files are left to the reader of machine files.
#[derive(Clone)]
pub(crate) struct MachineParser;

impl TypedValueParser for MachineParser {
    type Value = String;

    fn parse_ref(&self, cmd: &clap::Command, arg: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let text = value.to_string_lossy();
        let is_file = text.contains('/') || Path::new(value).extension().is_some_and(|ending| ending == "toml");
        if is_file {
            return Ok(text.into_owned());
        }
        PossibleValuesParser::new(machine_names()).parse_ref(cmd, arg, value)
    }
}

fn machine_names() -> impl Iterator<Item = &'static str> {
    spec::builtin().iter().map(|&(name, _)| name).chain([HERE])
}

/// Names of locks; clap suggests the nearest.
pub(crate) fn lock_parser() -> impl TypedValueParser<Value = String> {
    let locks = LOCKS.iter().map(|lock| PossibleValue::new(lock.name).help(lock.help));
    PossibleValuesParser::new(locks.chain(SETS.map(|(name, help)| PossibleValue::new(name).help(help))))
}

/// What `--lock` also takes with `--record`: locks for mutexes and for readers-writer locks at once.
const SETS: [(&str, &str); 2] = [
    (order::LIBC, "--record: the C library's locks"),
    (order::ADAPTIVE, "--record: our mutex and our readers-writer lock"),
];

/// Returns a workload's text, checked.
pub(crate) fn workload(text: &str) -> Result<String, String> {
    text.parse::<Workload>().map(|workload| workload.text).map_err(|error| format!("{error:#}"))
}

/// Returns what `--list` prints.
pub(crate) fn lists() -> String {
    let machine = |&(name, text): &(&'static str, &str)| {
        let machine = spec::file::parse(text, name).expect("each is tested");
        (name, machine.title, machine.topology.cpus())
    };
    let machines: Vec<_> = spec::builtin().iter().map(machine).collect();
    let locks: Vec<_> = LOCKS.iter().map(|lock| (lock.name, lock.help)).chain(SETS).collect();
    document::filled("lists.jinja", include_str!("lists.jinja"), json!({ "machines": machines, "locks": locks }))
        + &setting::list()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_they_must_be() {
        let shown = ["a,b", "100/4000", "my file.toml", "", "$x"].map(quoted);
        assert_eq!(shown.join(" "), "a,b 100/4000 'my file.toml' '' '$x'");
    }

    #[test]
    fn lists_name_every_machine_and_lock_and_the_forms_work() {
        let lists = lists();
        for name in machine_names().chain(LOCKS.iter().map(|lock| lock.name)) {
            assert!(lists.contains(&format!("\n  {name} ")), "{name}");
        }
        let (_, forms) = lists.split_once("\nworkloads\n").unwrap();
        let forms: Vec<_> =
            forms.lines().map_while(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
        assert_eq!(forms.len(), 6, "{lists}");
        for form in forms {
            workload(form).unwrap();
        }
        for lock in DEFAULT_LOCKS {
            SimLock::find(lock).unwrap();
        }
        workload(DEFAULT_WORKLOAD).unwrap();
    }
}
