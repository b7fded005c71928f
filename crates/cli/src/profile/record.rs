//! Runs a program under the recorder.

use super::keeper::Keeper;
use super::{Locks, source};
use crate::preload;
use crate::program::check_interposable;
use crate::target::Target;
use crate::variant::Variant;
use anyhow::{Context, Result, anyhow, bail};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use turnwise_futex_trace::now_ns;
use turnwise_preload_abi::Policy;
use turnwise_present::machine::Machine;
use turnwise_present::others::{Others, Watch};
use turnwise_profile::analysis::{checksums, unrecorded};
use turnwise_profile::model::Profile;
use turnwise_recording::reader::{self, Error, Recording};
use turnwise_recording::writer::{self, End};
use turnwise_recording::{EXITED, MAGIC, SIGNALLED};

/// The memory that a recording may need; a directory in memory with less is not used.
const ROOM_BYTES: u64 = 1 << 30;

/// Signals with their origin.
pub(super) type Signals = SignalsInfo<WithOrigin>;

/// Runs `command`; returns its profile, its exit status, and the recording.
pub(super) fn run(locks: &Locks, keep: Option<&Path>, target: &Target) -> Result<(Profile, ExitCode, RecordingFile)> {
    let (profile, status, place) = record(&locks.on(target, Policy::Libc)?, keep, target, |start| {
        let (child, mut signals) = spawn(start, target)?;
        wait(child, &mut signals)
    })?;
    Ok((profile, exit_code(status), place))
}

/// Returns why no recording can be made here at all: the limit on the size of files, which programs inherit.
pub(super) fn no_room() -> Option<String> {
    const NEEDS: u64 = turnwise_recording::CHUNKS + turnwise_recording::PAGE;
    let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current?;
    (most < NEEDS).then(|| {
        format!(
            "the limit on the size of files (ulimit -f) is {most} bytes, which is no room for a recording (from \
             {NEEDS} bytes on)"
        )
    })
}

/// Runs a program that cannot be recorded.
pub(super) fn run_unrecorded(target: &Target) -> Result<ExitCode> {
    let (child, mut signals) = spawn(target.start(), target)?;
    wait(child, &mut signals).map(exit_code)
}

/// Starts a program. From here on Ctrl-C belongs to the program, which shares our terminal.
pub(super) fn spawn(mut command: Command, target: &Target) -> Result<(Child, Signals)> {
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
    let child = command.spawn().with_context(|| format!("cannot execute {}", target.path.display()))?;
    Ok((child, signals))
}

/// Starts a program, waits for it in a separate thread, and runs `meanwhile` in this one: with the program's number,
/// and a function that returns whether it has ended.
pub(super) fn wait_beside<T>(
    start: impl FnOnce() -> Result<(Child, Signals)>,
    meanwhile: impl FnOnce(u32, &dyn Fn() -> bool) -> T,
) -> Result<(T, ExitStatus)> {
    let (hand, handed) = mpsc::channel::<(Child, Signals)>();
    let wait_for_it = move || {
        let (child, mut signals) = handed.recv().context("the program did not start")?;
        wait(child, &mut signals)
    };
    // Before the program: if no thread is available, it has not started yet.
    let waiter = thread::Builder::new().spawn(wait_for_it).context("no thread to wait for the program with")?;
    let (child, signals) = start()?;
    let pid = child.id();
    hand.send((child, signals)).context("the thread that waits for the program has ended")?;
    let seen = meanwhile(pid, &|| waiter.is_finished());
    let status = waiter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok((seen, status))
}

/// Records the run of `target` by `run`; returns the profile, how the run ended, and the recording.
pub(super) fn record(
    locks: &Variant,
    keep: Option<&Path>,
    target: &Target,
    run: impl FnOnce(Command) -> Result<ExitStatus>,
) -> Result<(Profile, ExitStatus, RecordingFile)> {
    // The first part of its message is about other locks, and there may be none.
    check_interposable(&target.path).map_err(|error| {
        let reasons: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        anyhow!("cannot record what {} does: {}", target.path.display(), reasons.join(": "))
    })?;
    let mut place = RecordingFile::new(keep)?;
    source::remove_children(&place.file).context("an earlier recording cannot be removed")?;
    let made = writer::create(&place.file);
    // A recording that is kept can be replayed.
    let made = if keep.is_some() { made.and_then(|()| writer::keep_steps(&place.file)) } else { made };
    made.with_context(|| format!("cannot make the recording {}", place.file.display()))?;
    let mut start = target.start();
    preload::apply_recorder(locks, &place.file, &mut start)?;
    let (beside, keeper) = (Beside::begin(), Keeper::begin(&place.file));
    let status = run(start);
    let kept = keeper.end();
    let status = status?;
    let machine = machine_beside(beside.end());
    let files = source::family(&place.file)?;
    finish_children(&files[1..], &machine);
    let made = finish(&place.file, status, &machine);
    if keep.is_some() {
        files.iter().for_each(|file| note_checksums(file));
    }
    let made = made.and_then(|()| source::of_family(&files, &kept, keep.is_some()));
    let (profile, main) = made.map_err(|error| explain(error, &place.file, target))?;
    place.file = main.to_owned();
    Ok((profile, status, place))
}

/// The place of the recording.
pub(super) struct RecordingFile {
    /// The file of the process that is reported on, once this is known.
    file: PathBuf,
    /// A temporary directory, removed with its files.
    directory: Option<tempfile::TempDir>,
}

impl RecordingFile {
    fn new(keep: Option<&Path>) -> Result<RecordingFile> {
        if let Some(file) = keep {
            check(file).with_context(|| format!("cannot write --recording={}", file.display()))?;
            // The program may change its directory before it forks.
            return Ok(RecordingFile { file: std::path::absolute(file)?, directory: None });
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
            _ => builder()
                .tempdir()
                .context("cannot create a directory for the recording; set TMPDIR to one that is writable")?,
        };
        Ok(RecordingFile { file: directory.path().join("recording"), directory: Some(directory) })
    }

    /// Leaves the recording in place; returns how to use it.
    pub(super) fn kept(self) -> String {
        if let Some(directory) = self.directory {
            let _ = directory.keep();
        }
        format!("the recording is kept; to write again what failed: turnwise profile --from {}", self.file.display())
    }
}

/// Checks that the recording replaces only a recording.
fn check(file: &Path) -> Result<()> {
    let start = match source::start_of(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
            return folder.map_or(Ok(()), |folder| bail!("the folder {} does not exist", folder.display()));
        }
        read => read?,
    };
    if !start.is_empty() && start != MAGIC.to_ne_bytes() {
        bail!("the file exists and is not a recording; name another, or remove it");
    }
    Ok(())
}

/// Waits for the program. The program itself gets signals from the terminal; signals sent only to us are passed on.
pub(super) fn wait(mut child: Child, signals: &mut Signals) -> Result<ExitStatus> {
    let handle = signals.handle();
    let pid = rustix::process::Pid::from_child(&child);
    thread::scope(|scope| {
        let hand_on = || {
            for signal in signals.forever().filter_map(|origin| handed_on(&origin)) {
                // It may have ended meanwhile.
                let _ = rustix::process::kill_process(pid, signal);
            }
        };
        if let Err(error) = thread::Builder::new().spawn_scoped(scope, hand_on) {
            eprintln!(
                "turnwise: no thread for signals ({error}): send them to the program itself, process {}",
                child.id()
            );
        }
        let status = child.wait().context("cannot wait for the program");
        handle.close();
        status
    })
}

/// Returns the signal, if it did not come from the terminal.
fn handed_on(origin: &Origin) -> Option<Signal> {
    let of_a_process = matches!(origin.cause, Cause::Sent(_));
    match origin.signal {
        SIGTERM => Some(Signal::TERM),
        SIGHUP => Some(Signal::HUP),
        SIGINT if of_a_process => Some(Signal::INT),
        SIGQUIT if of_a_process => Some(Signal::QUIT),
        _ => None,
    }
}

/// Writes into the recording how the program ended.
fn finish(file: &Path, status: ExitStatus, machine: &str) -> Result<(), Error> {
    let (ending, value) = match (status.code(), status.signal()) {
        (Some(code), _) => (EXITED, code),
        (_, signal) => (SIGNALLED, signal.unwrap_or(0)),
    };
    Ok(writer::finish(file, &End { ending, value: value as u32, monotonic_ns: now_ns(), machine })?)
}

/// Writes into the children's recordings how they ended, as far as known. One that cannot be written can still be read.
fn finish_children(files: &[PathBuf], machine: &str) {
    for file in files {
        let runs = |pid: u32| {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
            pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
        };
        let _ = writer::look_after(file, now_ns(), machine, runs);
    }
}

/// Writes into a kept recording the data by which its files can be identified when it is read. If that fails, their
/// identification is weaker.
fn note_checksums(file: &Path) {
    if let Ok(recording) = Recording::read(file) {
        let _ = writer::note_checksums(file, &checksums(&recording));
    }
}

/// The CPU use of others while a program is watched.
pub(super) struct Beside {
    watch: Option<Watch>,
    began: Instant,
}

impl Beside {
    /// Starts now; processes that we start do not count as others.
    pub(super) fn begin() -> Beside {
        Beside { watch: Watch::begin(), began: Instant::now() }
    }

    /// Starts now; this process does not count as another.
    pub(super) fn process(pid: u32) -> Beside {
        Beside { watch: Watch::beside(pid), began: Instant::now() }
    }

    /// Returns the use up to now; `None`: unknown, or the time is too short for the system's ticks.
    pub(super) fn end(&self) -> Option<Others> {
        const LEAST: Duration = Duration::from_millis(200);
        self.watch.as_ref().filter(|_| self.began.elapsed() >= LEAST)?.end()
    }
}

/// Returns this machine, and after a zero byte the use by others, as a recording stores both.
fn machine_beside(others: Option<Others>) -> String {
    let others = others.map(|others| format!("\0{:.4} {:.4}", others.programs, others.host));
    machine() + &others.unwrap_or_default()
}

/// Returns this machine's description, in one line.
pub(super) fn machine() -> String {
    Machine::here().to_string()
}

/// Explains why there is no recording.
fn explain(error: Error, file: &Path, target: &Target) -> anyhow::Error {
    match error {
        Error::Unused => match reader::unused(file).ok().and_then(|header| unrecorded(&header)) {
            Some(missing) => anyhow!("{}: {missing} The program ran as without the recorder", target.shown()),
            None => anyhow!(
                "{} ran without the recorder: does it clear LD_PRELOAD or the environment, or have a loader of its \
                 own? Profile the program that it finally starts",
                target.shown()
            ),
        },
        error => anyhow::Error::new(error).context("the recording cannot be read"),
    }
}

/// Returns the exit code as in a shell.
pub(super) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
