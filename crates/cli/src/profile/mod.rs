//! `turnwise profile`: runs a program under the recorder, and reports its use of locks.

mod futex;
mod gate;
mod keeper;
mod live;
mod next;
mod outputs;
mod record;
mod source;
mod started;
mod what_if;

use crate::compare::parse_time;
use crate::measure::{Bounds, End, last_lines};
use crate::policy;
use crate::target::{SAMPLE_HELP, Target, long_help};
use crate::variant::Variant;
use anyhow::{Result, anyhow, bail};
use outputs::Outputs;
use started::Ended;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use turnwise_live::why_no_view;
use turnwise_preload_abi::Policy;
use turnwise_present::ending::{Failure, INTERRUPTED, print};
use turnwise_present::others::Watch;
use turnwise_profile::model::Profile;
use turnwise_profile::{advice, text};

/// The locks that a program runs on while it is recorded.
#[derive(clap::Args)]
struct Locks {
    /// The locks to run on [default: libc, and adaptive with --waits]
    #[arg(long, value_name = "POLICY", value_parser = policy::parser())]
    lock: Option<Policy>,
    /// A policy file, which gives individual locks their own policies (docs/policy-files.md)
    #[arg(long, value_name = "FILE", conflicts_with = "lock")]
    policy: Option<PathBuf>,
}

impl Locks {
    /// Returns whether the user requested no other locks.
    fn are_the_programs_own(&self) -> bool {
        self.policy.is_none() && self.lock.is_none_or(|lock| lock == Policy::Libc)
    }

    /// Returns the locks to run on; `default`: without an option. Warnings about a policy file go to standard error.
    fn on(&self, target: &Target, default: Policy) -> Result<Variant> {
        match &self.policy {
            Some(path) => Variant::read(path, None, target),
            None => Ok(Variant::policy(self.lock.unwrap_or(default))),
        }
    }
}

/// Record how a program uses its locks, and report the cost of each, and where it arises
///
/// The program keeps its input and output; the report follows on standard output when the program has ended (Ctrl-C
/// reaches the program). Exits with the status of the program, unless --for ended it or --fail-above judges it.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = long_help(EXAMPLES))]
pub(crate) struct Args {
    /// The locks to run on
    #[command(flatten)]
    locks: Locks,
    #[command(flatten)]
    outputs: Outputs,
    /// Keep the recording itself, for --from, and with the order of acquisitions for `turnwise-lab sim --record`
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    recording: Option<PathBuf>,
    /// Trace the kernel's futex calls instead of pthread's functions: for Go, static programs, Rust's std, raw futexes.
    /// Needs root or CAP_PERFMON. Programs that cannot load a library are traced this way automatically
    #[arg(long, conflicts_with_all = ["lock", "policy", "recording", "from"])]
    futex: bool,
    /// Record waits alone, inside our locks: the program keeps its speed. Acquisitions that do not wait, how long locks
    /// are held, condition variables and orders of locks are not recorded
    #[arg(long, conflicts_with_all = ["futex", "pid", "recording", "from"])]
    waits: bool,
    /// Profile a running process until Ctrl-C, --for, or its end. Under `turnwise run` its waits are recorded inside,
    /// without root; else, and with --futex, its futex calls are traced
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "lock", "policy", "recording", "from"])]
    pid: Option<u32>,
    /// Stop after this time: 10s, 500ms, 2m. A process of --pid continues. CMD and all that it has started get SIGTERM,
    /// and after 5 s SIGKILL; the exit status is then 124 or 137, as that of `timeout`
    #[arg(long = "for", alias = "seconds", value_name = "TIME", conflicts_with = "from", value_parser = parse_time)]
    time: Option<Duration>,
    /// Exit with status 1, and name the lock, if threads waited for one for more than this share of their time (5%; all
    /// threads together, as in the advice); else with 0. A program that fails by itself keeps its status
    #[arg(long, value_name = "PERCENT", conflicts_with = "futex", value_parser = gate::parse_percent)]
    fail_above: Option<f64>,
    /// Report on an existing recording or JSON profile instead of running a program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lock", "policy", "command"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    what_if: what_if::WhatIf,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  turnwise profile -- ./server --port 8080
  turnwise profile --json profile.json -- kccachetest wicked -th 4 -capcnt 100000 400000
  turnwise profile --for 10s -- ./server --port 8080
  turnwise profile --fail-above 5% -- ./load-test
  turnwise profile --pid 1234 --for 10s --html waits.html
  turnwise profile --futex -- ./go-or-rust-program
  turnwise profile --lock adaptive -- @sample -t 8
  turnwise profile --waits -- ./server --port 8080
  turnwise profile --policy server.toml -- ./server --port 8080
  turnwise profile --what-if-cpus 64 -- ./server --port 8080
  turnwise profile --from profile.json --flame waits.svg";

/// Profiles one run on the C library's locks, without input and within bounds; passes the program's output to `show`.
pub(crate) fn of_one_run(
    target: &Target,
    bounds: &Bounds,
    any_status: bool,
    show: impl FnOnce(&str),
) -> Result<Profile> {
    let (profile, ..) = record::record(&Variant::policy(Policy::Libc), None, target, |command| {
        let outcome = bounds.run(command, true)?;
        show(&outcome.output);
        match outcome.end {
            End::Ended(status) if status.success() || any_status && status.code().is_some() => Ok(status.into()),
            End::Interrupted => {
                let message = "interrupted while the program was being profiled; nothing to report";
                Err(Failure::error(INTERRUPTED, message.to_owned()))
            }
            end => {
                let what = end.describe(bounds.timeout);
                let (output, shown) = (last_lines(&outcome.output), target.shown());
                bail!("under the recorder the program {what}\n{output}\ntry it by itself: {shown}")
            }
        }
    })?;
    Ok(profile)
}

/// Runs a program on the C library's locks; returns the profiles of all its processes, and its exit status.
pub(crate) fn of_each_process(target: &Target) -> Result<(Vec<Profile>, u8)> {
    if let Some(why) = record::no_room() {
        bail!("{why}");
    }
    let run = |start| started::spawn(start, target, None)?.wait();
    let libc = Variant::policy(Policy::Libc);
    let (profiles, ended, _) = record::record_for(&libc, None, target, run, source::each_of_family)?;
    Ok((profiles, ended.code()))
}

/// The data to report on.
struct Source {
    profile: Profile,
    ended: Ended,
    /// The recording that the profile was made from, if this run made it.
    recording: Option<record::RecordingFile>,
}

/// Runs the program, or reads the data of an earlier run.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let what_if = args.what_if.ask()?;
    let outputs = args.outputs.open(args.recording.as_deref())?;
    let Source { mut profile, ended, recording } = match (&args.from, args.pid) {
        (Some(file), _) => Source { profile: source::read(file)?, ended: Ended::default(), recording: None },
        (_, Some(pid)) => Source { profile: of_process(pid, args)?, ended: Ended::default(), recording: None },
        _ => match of_command(args, what_if.is_some())? {
            Ok(source) => source,
            Err(_) if args.fail_above.is_some() => bail!("--fail-above: there is no profile to judge"),
            Err(ended) => return Ok(ended.code().into()),
        },
    };
    // If this fails, everything else is still shown and written.
    let forecast = what_if.map(|question| question.forecast(&profile)).transpose();
    if let Ok(Some(scaling)) = &forecast {
        profile.scaling = Some(scaling.clone());
    }
    let shown = if outputs.take_stdout() { Ok(()) } else { print(&report(&profile)) };
    let passed = args.fail_above.map(|percent| gate::is_passed(percent, &profile)).transpose();
    let status = ended.code_after(passed.as_ref().ok().copied().flatten());
    let mut troubles = outputs.write(&profile);
    if let (Some(recording), false) = (recording, troubles.is_empty()) {
        troubles.push(recording.kept());
    }
    let errors = [forecast.err(), shown.err(), passed.err()].into_iter().flatten();
    troubles.extend(errors.map(|error| format!("{error:#}")));
    if troubles.is_empty() { Ok(status.into()) } else { Err(anyhow!(troubles.join("\n"))) }
}

/// Profiles a running process: from inside, if it has a live view, or by its futex calls.
fn of_process(pid: u32, args: &Args) -> Result<Profile> {
    let beside = Watch::beside(pid);
    let view = if args.futex { None } else { live::view_of(pid)? };
    let mut profile = match view {
        Some(channel) => live::attached(&channel, args.time),
        None => {
            let hint = (!args.futex).then(|| hint(pid));
            futex::attached(pid, args.time, hint.as_deref())
        }
    }?;
    profile.recording.others = beside.and_then(|beside| beside.end_if_long());
    Ok(profile)
}

/// Returns for a process without a live view why there is none, and which processes have one.
fn hint(pid: u32) -> String {
    let why = why_no_view(pid).unwrap_or_else(|| "none of its threads has waited for a lock yet".to_owned());
    format!(
        "it has no live view ({why}), so what it does in its locks is not seen. Started by `turnwise run -- CMD`, a \
         program has one once a thread has waited for a lock; then --pid profiles its locks from inside, without root"
    )
}

fn report(profile: &Profile) -> String {
    let advised = advice::advise(profile);
    let (advice, next) = (advice::text(&advised, profile), next::text(profile, &advised));
    let scaling = profile.scaling.as_ref().map(|scaling| format!("\n{}", what_if::reported(profile, scaling)));
    format!("{}\nADVICE\n{advice}{}\n{next}", text::report(profile), scaling.unwrap_or_default())
}

/// Runs the command under the recorder, or under a trace of its futex calls if that is requested or is the only way. If
/// it returns only how the program ended, it could not be traced.
fn of_command(args: &Args, is_to_be_replayed: bool) -> Result<Result<Source, Ended>> {
    let target = Target::find(&args.command)?;
    let reason = if args.futex || args.waits { None } else { futex::only_way(&target.path) };
    let alone = reason.as_deref().filter(|_| args.recording.is_none() && args.locks.are_the_programs_own());
    if let (Some(reason), true) = (alone, is_to_be_replayed) {
        bail!("--what-if-cpus: {}: {reason}; {}", target.path.display(), what_if::NEEDS);
    }
    let beside = Watch::begin();
    let with_others = |mut source: Source| {
        source.profile.recording.others = beside.and_then(|beside| beside.end_if_long());
        source
    };
    if args.futex || alone.is_some() {
        let (profile, ended) = futex::run(&target, args.time, alone)?;
        let source = profile.map(|profile| with_others(Source { profile, ended, recording: None }));
        return Ok(source.ok_or(ended));
    }
    if args.waits {
        return waits_of(args, &target, is_to_be_replayed).map(with_others).map(Ok);
    }
    let run = |start| started::spawn(start, &target, args.time)?.wait();
    if let Some(why) = record::no_room() {
        eprintln!("turnwise: the program runs without a profile: {why}");
        return run(target.start()).map(Err);
    }
    let locks = args.locks.on(&target, Policy::Libc)?;
    let (profile, ended, place) = record::record(&locks, args.recording.as_deref(), &target, run)?;
    Ok(Ok(Source { profile, ended, recording: Some(place) }))
}

/// Runs the command on our locks, and records its waits inside them.
fn waits_of(args: &Args, target: &Target, is_to_be_replayed: bool) -> Result<Source> {
    if is_to_be_replayed {
        bail!("--what-if-cpus and --waits: {}", what_if::NEEDS);
    }
    if args.locks.lock == Some(Policy::Libc) {
        bail!("--waits records inside our locks, and --lock libc are not ours: leave out one of them");
    }
    let (profile, ended) = live::run(&args.locks.on(target, Policy::ADAPTIVE)?, target, args.time)?;
    Ok(Source { profile, ended, recording: None })
}
