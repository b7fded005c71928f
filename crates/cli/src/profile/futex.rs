//! Profiles by the kernel's futex calls: of programs into which no library can be loaded, and of running processes.

use super::record;
use super::started::{Ended, Signals, spawn, wait_beside};
use crate::program;
use crate::target::Target;
use anyhow::{Context, Result, anyhow};
use object::{Object, ReadCache};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use turnwise_futex_trace::{Trace, Tracer, has_ended};
use turnwise_present::printable;
use turnwise_profile::model::{Ending, Profile, Program};

/// What to do where a program cannot be traced.
const GO_INSTEAD: &str = "Go's own mutex profile is for `go tool pprof`: by `go test -mutexprofile FILE`, or by \
     net/http/pprof after runtime.SetMutexProfileFraction";
const STATIC_INSTEAD: &str = "linked dynamically with glibc, it can be recorded without these rights";

/// How long to wait for records before checking for the end.
const STEP: Duration = Duration::from_millis(20);

/// Returns why a program can be traced only by its futex calls; `None`: the recorder sees its locks, or no method can.
pub(super) fn only_way(path: &Path) -> Option<String> {
    if is_go(path) {
        return Some("it is a Go program, whose locks are not pthread's".to_owned());
    }
    let error = program::native_of(path).err()?;
    let cause = error.root_cause().to_string();
    let reported =
        ["it is statically linked", "it is built for musl"].into_iter().find(|reported| cause.starts_with(reported))?;
    Some(reported.to_owned())
}

/// Returns whether Go's linker made it.
fn is_go(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    let Ok(file) = object::File::parse(&cache) else { return false };
    file.section_by_name(".go.buildinfo").is_some()
}

/// Runs a program under a trace, for at most this time. `reason` states why, if the user did not request it: then the
/// program runs even if it cannot be traced.
pub(super) fn run(target: &Target, time: Option<Duration>, reason: Option<&str>) -> Result<(Option<Profile>, Ended)> {
    if let Some(reason) = reason {
        let shown = target.path.display();
        eprintln!("turnwise: {shown}: {reason}, so no recorder can see its locks; tracing its futex calls instead");
    }
    // The program inherits the trace from the thread that starts it: this one.
    let tracer = match Tracer::of_children() {
        Ok(tracer) => Some(tracer),
        Err(error) if reason.is_some() => {
            let instead = if is_go(&target.path) { GO_INSTEAD } else { STATIC_INSTEAD };
            eprintln!("turnwise: the program runs without a profile: {error:#}; {instead}");
            None
        }
        Err(error) => return Err(error.context("--futex")),
    };
    let started = SystemTime::now();
    let start = || spawn(target.start(), target, time);
    let (trace, ended) = wait_beside(start, |_, has_ended| tracer.map(|tracer| follow(tracer, has_ended)))?;
    let command = target.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let profile = trace.map(|trace| trace.profile(about(command, started, ending(ended.status))));
    Ok((profile, ended))
}

/// Traces a running process until Ctrl-C, its end, or `time` has passed. `hint` suggests a better way.
pub(super) fn attached(pid: u32, time: Option<Duration>, hint: Option<&str>) -> Result<Profile> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let command = running(pid);
    let hint = hint.map(|hint| format!("\nturnwise: {hint}")).unwrap_or_default();
    let tracer = Tracer::attach(pid).with_context(|| format!("--pid {pid}"));
    let tracer = tracer.map_err(|error| if has_ended(pid) { error } else { anyhow!("{error:#}{hint}") })?;
    let until = if time.is_some() { "" } else { "; Ctrl-C ends the trace and shows the report" };
    eprintln!("turnwise: tracing the futex calls of process {pid}, {}{until}{hint}", command.join(" "));
    let (started, began) = (SystemTime::now(), Instant::now());
    let trace = follow(tracer, || {
        has_ended(pid) || signals.pending().next().is_some() || time.is_some_and(|time| began.elapsed() >= time)
    });
    // Only a child can be waited for: how this process ended is unknown.
    let ending = if has_ended(pid) { Ending::Ended } else { Ending::Running };
    Ok(trace.profile(about(command, started, ending)))
}

/// Returns the command of a running process.
pub(super) fn running(pid: u32) -> Vec<String> {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let mut command: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    if command.is_empty() {
        // Its first thread has ended, or it has written over its arguments.
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        command.push(format!("[{}]", String::from_utf8_lossy(&name).trim_end()));
    }
    command
}

fn follow(mut tracer: Tracer, mut is_over: impl FnMut() -> bool) -> Trace {
    while !is_over() {
        tracer.step(STEP);
    }
    tracer.finish()
}

/// Returns the data about a program from other sources.
pub(super) fn about(command: Vec<String>, started: SystemTime, ending: Ending) -> Program {
    let command = command.iter().map(|word| printable(word).into_owned()).collect();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Program {
        command,
        started_unix_s: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        ending,
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        machine: record::machine(),
        ..Program::default()
    }
}

pub(super) fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (_, signal) => Ending::Signalled(signal.unwrap_or(0)),
    }
}
