//! `turnwise-lab aim7`: users that run a mix of jobs, on this machine or on a simulated one.

mod args;
mod report;

pub(crate) use args::Args;

use crate::sim::setup;
use anyhow::{Context, Result};
use report::{AnyMachine, FORMAT, Report, Series};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use turnwise_aim7::{self, Length, Outcome, Plan, Set, Setup, Stuck, Workfile};
use turnwise_present::ending::{Failure, STUCK, print};
use turnwise_present::output_file::OutputFile;
use turnwise_present::{json, machine, progress};
use turnwise_sim::spec::Machine;
use turnwise_simbench::report::SimMachine;

/// Runs the requested users, with one set of locks after another.
///
/// # Errors
/// The workfile or a flag is wrong, a file cannot be written, a simulated run got stuck.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        return print(&report::lists()).map(|()| ExitCode::SUCCESS);
    }
    let name = args.workfile.as_deref().context("--workfile is missing: name one, or see --list")?;
    let workfile = Workfile::load(name)?;
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let place = Target::new(args)?;
    let setup = setup(args, workfile, place.is_simulated());
    let sets = args.sets()?;
    let mut report = report(&setup, &place);
    let bar = progress::bar(sets.len() * args.users.0.len(), "{bar:30} {pos}/{len} runs, {elapsed}: {msg}");
    for set in sets {
        let mut series = Series { locks: set.name.to_owned(), outcomes: Vec::new() };
        for &users in &args.users.0 {
            bar.set_message(format!("{users} users, {}", set.name));
            series.outcomes.push(place.run(&setup, set, users).map_err(with_status)?);
            bar.inc(1);
        }
        report.series.push(series);
    }
    bar.finish_and_clear();
    json::publish(&report, &report.text(), json)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the users run.
enum Target {
    Metal,
    Simulated { machine: Arc<Machine>, nodes: u32, length: Length },
}

impl Target {
    fn new(args: &Args) -> Result<Target> {
        let Some(name) = &args.machine else { return Ok(Target::Metal) };
        let machine = Arc::new(setup::machine(name)?);
        let all = machine.topology.nodes;
        let nodes = args.nodes.unwrap_or(all);
        anyhow::ensure!((1..=all).contains(&nodes), "{} has {all} nodes, not {nodes}", machine.name);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let length = match args.whole {
            true => Length::Whole,
            false => Length::Window { warm_up_ns: ns(args.warm_up), measured_ns: ns(args.duration) },
        };
        Ok(Target::Simulated { machine, nodes, length })
    }

    fn is_simulated(&self) -> bool {
        matches!(self, Target::Simulated { .. })
    }

    fn run(&self, setup: &Setup, set: &'static Set, users: u32) -> Result<Outcome> {
        match self {
            Target::Metal => turnwise_aim7::run(setup, set, users),
            Target::Simulated { machine, nodes, length } => {
                let workfile = (*setup.workfile).clone();
                let plan = Plan::new(workfile, set, Arc::clone(machine), users).on_nodes(*nodes);
                turnwise_aim7::simulate(&Plan { setup: setup.clone(), length: *length, ..plan })
            }
        }
    }

    fn machine(&self) -> AnyMachine {
        match self {
            Target::Metal => AnyMachine::Here(machine::Machine::here()),
            Target::Simulated { machine, .. } => AnyMachine::Simulated(SimMachine::of(machine)),
        }
    }

    fn name(&self) -> String {
        match self {
            Target::Metal => "this machine".to_owned(),
            Target::Simulated { machine, nodes, .. } => {
                format!("{}, simulated ({} of {} nodes)", machine.name, nodes, machine.topology.nodes)
            }
        }
    }
}

/// Returns full jobs of 1 ms on metal, the 50th part of jobs of 3 ms in the simulator, unless overridden.
fn setup(args: &Args, workfile: Workfile, simulated: bool) -> Setup {
    let (scale, compute) = if simulated { (50, Duration::from_millis(3)) } else { (1, Duration::from_millis(1)) };
    let compute_ns = args.compute.unwrap_or(compute).as_nanos();
    Setup {
        scale: args.scale.unwrap_or(scale),
        compute_ns: u32::try_from(compute_ns).unwrap_or(u32::MAX),
        journal: args.journal.config(),
        file_systems: args.file_systems,
        directories: args.directories.max(args.file_systems),
        profiler: args.profiler,
        seed: args.seed,
        ..Setup::new(workfile)
    }
}

fn report(setup: &Setup, place: &Target) -> Report {
    Report {
        format: FORMAT.to_owned(),
        commit: machine::commit(),
        place: place.name(),
        machine: place.machine(),
        simulated: place.is_simulated(),
        workfile: setup.workfile.name.clone(),
        jobs_per_user: setup.workfile.jobs(),
        scale: setup.scale,
        compute_ns: setup.compute_ns,
        directories: setup.directories,
        file_systems: setup.file_systems,
        handles_per_commit: setup.journal.map(|journal| journal.handles_per_commit),
        window_ns: match place {
            Target::Simulated { length: Length::Window { measured_ns, .. }, .. } => Some(*measured_ns),
            _ => None,
        },
        seed: setup.seed,
        series: Vec::new(),
    }
}

/// Gives a simulated run that got stuck an exit status of its own.
fn with_status(error: anyhow::Error) -> anyhow::Error {
    if error.is::<Stuck>() { Failure::error(STUCK, format!("{error:#}")) } else { error }
}
