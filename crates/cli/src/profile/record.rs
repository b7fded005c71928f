//! Runs a program under the recorder.

use super::{Locks, source};
use crate::contender::Contender;
use crate::machine::Machine;
use crate::preload;
use crate::program::check_interposable;
use crate::target::Target;
use anyhow::{Context, Result, anyhow};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use turnwise_profile::model::Profile;
use turnwise_recording::reader::Error;
use turnwise_recording::writer::{self, End};
use turnwise_recording::{EXITED, SIGNALLED};

/// Memory that a recording may need; a directory in memory with less is not taken.
const ROOM_BYTES: u64 = 1 << 30;

/// Runs `command` and makes its profile; with it, its exit status.
///
/// # Errors
/// It cannot be run or recorded.
pub(super) fn run(locks: &Locks, keep: Option<&Path>, target: &Target) -> Result<(Profile, ExitCode)> {
    let (profile, status) = record(&locks.on(target)?, keep, target, |mut start| {
        // From here on Ctrl-C is the program's, which shares our terminal.
        let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
        let child = start.spawn().with_context(|| format!("cannot execute {}", target.path.display()))?;
        wait(child, &mut signals)
    })?;
    Ok((profile, exit_code(status)))
}

/// Makes the profile of what `run` runs, which is `target` with the recorder; with it, how it ended.
///
/// # Errors
/// It cannot be run or recorded.
pub(super) fn record(
    locks: &Contender,
    keep: Option<&Path>,
    target: &Target,
    run: impl FnOnce(Command) -> Result<ExitStatus>,
) -> Result<(Profile, ExitStatus)> {
    check_interposable(&target.path)?;
    let place = Place::new(keep)?;
    source::remove_children(&place.file).context("an earlier recording cannot be removed")?;
    writer::create(&place.file).with_context(|| format!("cannot make the recording {}", place.file.display()))?;
    let mut start = target.start();
    preload::apply_recorder(locks, &place.file, &mut start)?;
    let status = run(start)?;
    let files = source::family(&place.file)?;
    finish_children(&files[1..]);
    let profile = finish(&place.file, status).and_then(|()| source::of_family(&files, keep.is_some()));
    let profile = profile.map_err(|error| explain(error, target))?;
    Ok((profile, status))
}

/// Where the recording is.
struct Place {
    file: PathBuf,
    /// Goes away with its files.
    _directory: Option<tempfile::TempDir>,
}

impl Place {
    fn new(keep: Option<&Path>) -> Result<Place> {
        if let Some(file) = keep {
            // The program may change its directory before it forks.
            return Ok(Place { file: std::path::absolute(file)?, _directory: None });
        }
        let memory = Path::new("/dev/shm");
        let fits = rustix::fs::statvfs(memory).is_ok_and(|found| found.f_bavail * found.f_frsize >= ROOM_BYTES);
        let builder = || {
            let mut builder = tempfile::Builder::new();
            builder.prefix("turnwise-profile-");
            builder
        };
        let directory = match fits.then(|| builder().tempdir_in(memory)) {
            Some(Ok(directory)) => directory,
            _ => builder().tempdir().context("there is no directory for the recording; set TMPDIR to one")?,
        };
        Ok(Place { file: directory.path().join("recording"), _directory: Some(directory) })
    }
}

/// Waits for the program. What the terminal sends, it has got itself; what is sent to us alone is handed on.
pub(super) fn wait(mut child: Child, signals: &mut Signals) -> Result<ExitStatus> {
    let handle = signals.handle();
    let pid = rustix::process::Pid::from_child(&child);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for signal in signals.forever() {
                if signal == SIGTERM || signal == SIGHUP {
                    let signal =
                        if signal == SIGTERM { rustix::process::Signal::TERM } else { rustix::process::Signal::HUP };
                    // It may have ended meanwhile.
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
        });
        let status = child.wait().context("cannot wait for the program");
        handle.close();
        status
    })
}

/// Writes into the recording how the program ended.
fn finish(file: &Path, status: ExitStatus) -> Result<(), Error> {
    let machine = machine();
    let (ending, value) = match (status.code(), status.signal()) {
        (Some(code), _) => (EXITED, code),
        (_, signal) => (SIGNALLED, signal.unwrap_or(0)),
    };
    let monotonic_ns = monotonic_ns();
    Ok(writer::finish(file, &End { ending, value: value as u32, monotonic_ns, machine: &machine })?)
}

/// The same for its children, as far as it is known. One that cannot be written can still be read.
fn finish_children(files: &[PathBuf]) {
    let machine = machine();
    for file in files {
        let runs = |pid: u32| {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
            pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
        };
        let _ = writer::look_after(file, monotonic_ns(), &machine, runs);
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// This machine, in a line.
pub(super) fn machine() -> String {
    let machine = Machine::look();
    format!("{} x {}, Linux {}, {}", machine.cpus, machine.cpu_model, machine.kernel, machine.libc)
}

fn explain(error: Error, target: &Target) -> anyhow::Error {
    match error {
        Error::Unused => anyhow!(
            "{} ran without the recorder: does it clear LD_PRELOAD or the environment, or has it a loader of its own? \
             Profile the program that it starts in the end",
            target.shown()
        ),
        error => anyhow::Error::new(error).context("the recording cannot be read"),
    }
}

/// As a shell has it.
pub(super) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
