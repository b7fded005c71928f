//! Runs a program under the recorder.

use super::keeper::Keeper;
use super::source;
use super::started::Ended;
use crate::preload;
use crate::program::native_of;
use crate::target::Target;
use crate::variant::Variant;
use anyhow::{Context, Result, anyhow, bail};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use turnwise_futex_trace::now_ns;
use turnwise_present::machine::Machine;
use turnwise_present::others::{Others, Watch};
use turnwise_profile::analysis::{checksums, unrecorded};
use turnwise_profile::model::Profile;
use turnwise_profile::symbols::Kept;
use turnwise_recording::reader::{self, Error, Recording};
use turnwise_recording::writer::{self, End};
use turnwise_recording::{EXITED, MAGIC, SIGNALLED};

/// The memory that a recording may need; a directory in memory with less is not used.
const ROOM_BYTES: u64 = 1 << 30;

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

/// Records the run of `target` by `run`; returns the profile, how the run ended, and the recording.
pub(super) fn record(
    locks: &Variant,
    keep: Option<&Path>,
    target: &Target,
    run: impl FnOnce(Command) -> Result<Ended>,
) -> Result<(Profile, Ended, RecordingFile)> {
    let of_family = |files: &[PathBuf], kept: &Kept| {
        source::of_family(files, kept, keep.is_some()).map(|(profile, main)| (profile, main.to_owned()))
    };
    let ((profile, main), ended, mut place) = record_for(locks, keep, target, run, of_family)?;
    place.file = main;
    Ok((profile, ended, place))
}

/// Records the run of `target` by `run`; returns what `analyse` makes of the recordings of its processes, the first of
/// which is its own, how the run ended, and that recording.
pub(super) fn record_for<T>(
    locks: &Variant,
    keep: Option<&Path>,
    target: &Target,
    run: impl FnOnce(Command) -> Result<Ended>,
    analyse: impl FnOnce(&[PathBuf], &Kept) -> Result<T, Error>,
) -> Result<(T, Ended, RecordingFile)> {
    // The first part of its message is about other locks, and there may be none.
    native_of(&target.path).map_err(|error| {
        let reasons: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        anyhow!("cannot record what {} does: {}", target.path.display(), reasons.join(": "))
    })?;
    let place = RecordingFile::new(keep)?;
    source::remove_children(&place.file).context("an earlier recording cannot be removed")?;
    let made = writer::create(&place.file);
    // A recording that is kept can be replayed.
    let made = if keep.is_some() { made.and_then(|()| writer::keep_steps(&place.file)) } else { made };
    made.with_context(|| format!("cannot make the recording {}", place.file.display()))?;
    let mut start = target.start();
    preload::apply_recorder(locks, &place.file, &mut start)?;
    let (beside, keeper) = (Watch::begin(), Keeper::begin(&place.file));
    let ended = run(start);
    let kept = keeper.end();
    let ended = ended?;
    let machine = machine_beside(beside.and_then(|beside| beside.end_if_long()));
    let files = source::family(&place.file)?;
    finish_children(&files[1..], &machine);
    let made = finish(&place.file, ended.status, &machine);
    if keep.is_some() {
        files.iter().for_each(|file| note_checksums(file));
    }
    let made = made.and_then(|()| analyse(&files, &kept));
    let made = made.map_err(|error| explain(error, &place.file, target))?;
    Ok((made, ended, place))
}

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

/// Returns this machine, and after a zero byte the use by others, as a recording stores both.
fn machine_beside(others: Option<Others>) -> String {
    let others = others.map(|others| format!("\0{:.4} {:.4}", others.programs, others.host));
    machine() + &others.unwrap_or_default()
}

/// Returns this machine's description, in one line.
pub(super) fn machine() -> String {
    Machine::here().to_string()
}

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
