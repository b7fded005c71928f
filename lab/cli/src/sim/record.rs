//! `turnwise-lab sim --record FILE`: a recorded program instead of a workload.

use super::args::Flags;
use super::plan::doubling;
use super::{record_text, setup};
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::process::ExitCode;
use std::sync::Arc;
use turnwise_calibrate::here_path;
use turnwise_forecast::order::{ADAPTIVE, LIBC, Prediction, Replay};
use turnwise_forecast::trace::Trace;
use turnwise_present::machine::commit;
use turnwise_present::output_file::OutputFile;
use turnwise_present::{json, progress};
use turnwise_profile::analysis::analyse;
use turnwise_profile::model::Profile;
use turnwise_recording::reader::Recording;
use turnwise_sim::spec::Machine;

/// Informs readers of the fields to expect.
pub(super) const FORMAT: &str = "turnwise-record-1";
/// The default machine.
const ASKED: &str = "graviton4";

/// All that is predicted of a recorded program.
#[derive(Serialize)]
pub(super) struct RecordReport {
    pub(super) format: &'static str,
    pub(super) commit: Option<String>,
    pub(super) seed: u64,
    pub(super) recorded: Recorded,
    /// The simulation of the recorded run itself; `None`: the machine of that run is not known.
    pub(super) check: Option<Point>,
    pub(super) points: Vec<Point>,
}

/// The recorded run.
#[derive(Serialize)]
pub(super) struct Recorded {
    pub(super) command: Vec<String>,
    pub(super) machine: String,
    pub(super) policy: String,
    pub(super) cpus: u32,
    /// The most threads that took locks at once.
    pub(super) threads: usize,
    pub(super) seconds: f64,
    pub(super) acquisitions: f64,
    pub(super) acquisitions_per_s: f64,
    /// Share of the acquisitions whose order is known.
    pub(super) kept: f64,
    /// Share of the threads' time on condition variables.
    pub(super) awaited: f64,
    pub(super) locks: usize,
    /// Those at which threads only compute.
    pub(super) locks_left_out: usize,
}

/// A prediction.
#[derive(Serialize)]
pub(super) struct Point {
    pub(super) machine: String,
    pub(super) cpus: u32,
    pub(super) lock: String,
    pub(super) acquisitions_per_s: f64,
    /// The rate as a multiple of the recorded one.
    pub(super) times_recorded: f64,
    /// Share of the threads' time that they wait for locks.
    pub(super) waiting: f64,
    /// The lock that they wait most for, and that share.
    pub(super) most: Option<(String, f64)>,
}

/// Replays the recording.
///
/// # Errors
/// It cannot be read, or lacks what a replay needs; a machine is too small; the threads make no progress.
pub(super) fn run(flags: &Flags) -> Result<ExitCode> {
    let file = flags.record.as_deref().context("--record names no file")?;
    turnwise_bench::setting::hold(&flags.set)?;
    let json = OutputFile::asked("--json", flags.json.as_deref())?;
    let html = OutputFile::asked("--html", flags.html.as_deref())?;
    let program = Recording::read(file).map_err(anyhow::Error::new).and_then(|recording| Program::of(&recording));
    let program = program.with_context(|| format!("--record {}", file.display()))?;
    let own = recorded_on(&flags.recorded_on)?;
    let asked = asked(flags, own.as_ref(), program.replay.threads())?;
    let bar = progress::bar(asked.len() + 1, "{pos}/{len} replays {wide_bar} {elapsed_precise}");
    let own_lock = own_lock(&program.recorded.policy);
    let check = match &own {
        Some(machine) => {
            let cpus = program.recorded.cpus.min(machine.topology.cpus());
            let name = &machine.name;
            let prediction = program.replay.as_recorded(machine, cpus, own_lock, flags.seed);
            let prediction = prediction.with_context(|| format!("{own_lock} on {cpus} CPUs of {name}, as recorded"))?;
            Some(program.reported(machine, cpus, own_lock, &prediction))
        }
        None => None,
    };
    bar.inc(1);
    let mut points = Vec::new();
    for (machine, cpus, lock) in &asked {
        points.push(program.point(machine, *cpus, lock, flags.seed)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let Program { recorded, .. } = program;
    let report = RecordReport { format: FORMAT, commit: commit(), seed: flags.seed, recorded, check, points };
    let text = record_text::text(&report);
    json::publish(&report, &text, json)?;
    html.map_or(Ok(()), |output_file| output_file.write(record_text::page(&report).as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the machine of the recording; `None`: it is this one, and was never measured.
fn recorded_on(name: &str) -> Result<Option<Arc<Machine>>> {
    if name == setup::HERE && !here_path().is_ok_and(|path| path.exists()) {
        return Ok(None);
    }
    let machine = setup::machine(name).with_context(|| format!("--recorded-on {name}"))?;
    Ok(Some(Arc::new(machine)))
}

/// Returns every machine, number of CPUs and lock to replay with.
fn asked(flags: &Flags, own: Option<&Arc<Machine>>, threads: usize) -> Result<Vec<(Arc<Machine>, u32, String)>> {
    let names = if flags.machines.is_empty() { vec![ASKED.to_owned()] } else { flags.machines.clone() };
    let locks = if flags.locks.is_empty() { [LIBC, ADAPTIVE].map(str::to_owned).to_vec() } else { flags.locks.clone() };
    let mut asked = Vec::new();
    for name in names {
        let machine = match own {
            Some(own) if name == flags.recorded_on => Arc::clone(own),
            _ => Arc::new(setup::machine(&name)?),
        };
        let has = machine.topology.cpus();
        let counts = match &flags.cpus {
            Some(counts) => counts.0.clone(),
            // More CPUs than threads change nothing.
            None => doubling(u32::try_from(threads)?.min(has)),
        };
        for cpus in counts {
            ensure!(cpus <= has, "--cpus {cpus}: the machine {} has {has} CPUs", machine.name);
            asked.extend(locks.iter().map(|lock| (Arc::clone(&machine), cpus, lock.clone())));
        }
    }
    Ok(asked)
}

/// Returns the locks that a program ran on, as a replay names them.
fn own_lock(policy: &str) -> &str {
    match policy {
        LIBC | "queued" | "ttas" | "ticket" => policy,
        _ => ADAPTIVE,
    }
}

/// A recorded program, with the names of its locks.
struct Program {
    replay: Replay,
    /// Of each lock of the trace.
    names: Vec<String>,
    recorded: Recorded,
}

impl Program {
    fn of(recording: &Recording) -> Result<Program> {
        let replay = Replay::new(Trace::of(recording)?)?;
        let profile = analyse(recording)?;
        let trace = replay.trace();
        let recorded = Recorded {
            command: profile.program.command.clone(),
            machine: profile.program.machine.clone(),
            policy: profile.program.policy.clone(),
            cpus: profile.program.cpus.max(1),
            threads: replay.threads(),
            seconds: replay.recorded_ns() / 1e9,
            acquisitions: replay.acquisitions(),
            acquisitions_per_s: replay.acquisitions() / replay.recorded_ns() * 1e9,
            kept: trace.kept,
            awaited: trace.awaited,
            locks: trace.locks.len(),
            locks_left_out: replay.left_out(),
        };
        let names = trace.locks.iter().map(|lock| name(&profile, lock.address)).collect();
        Ok(Program { replay, names, recorded })
    }

    fn point(&self, machine: &Arc<Machine>, cpus: u32, lock: &str, seed: u64) -> Result<Point> {
        let prediction = self.replay.on(machine, cpus, lock, seed);
        let prediction = prediction.with_context(|| format!("{lock} on {cpus} CPUs of {}", machine.name))?;
        Ok(self.reported(machine, cpus, lock, &prediction))
    }

    fn reported(&self, machine: &Machine, cpus: u32, lock: &str, prediction: &Prediction) -> Point {
        let waiting = &prediction.waiting;
        let most = waiting.iter().copied().zip(&self.names).max_by(|a, b| a.0.total_cmp(&b.0));
        Point {
            machine: machine.name.clone(),
            cpus,
            lock: lock.to_owned(),
            acquisitions_per_s: prediction.per_s(),
            times_recorded: 1.0 + prediction.error(),
            waiting: waiting.iter().sum(),
            most: most.filter(|(share, _)| *share > 0.005).map(|(share, name)| (name.clone(), share)),
        }
    }
}

/// Returns the name of a lock.
fn name(profile: &Profile, address: u64) -> String {
    let found = profile.locks.iter().find(|lock| lock.address == address);
    found.map_or_else(|| format!("{address:#x}"), |lock| lock.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_double_up_to_the_threads() {
        assert_eq!((doubling(1), doubling(4), doubling(6)), (vec![1], vec![1, 2, 4], vec![1, 2, 4, 6]));
    }

    #[test]
    fn a_program_is_checked_with_the_locks_that_it_ran_on() {
        assert_eq!(
            ["libc", "adaptive", "queued", "policy file"].map(own_lock),
            ["libc", "adaptive", "queued", "adaptive"]
        );
    }
}
