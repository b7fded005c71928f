//! The preload library: where it lies, how a program gets it, and whether a program took it.

use crate::contender::Contender;
use crate::install::{Payload, install};
use crate::policy_file::Compiled;
use crate::sanitizer::runtimes;
use anyhow::{Context, Result, bail};
use rustix::fs::inotify;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::libraries::{self, OURS, is_library};
use turnwise_preload_abi::{Policy, environment};

const LIBRARY: Payload<'static> =
    Payload { stem: libraries::PRELOAD, suffix: ".so", content: include_bytes!(env!("TURNWISE_PRELOAD_SO")) };
const RECORDER: Payload<'static> =
    Payload { stem: libraries::RECORDER, suffix: ".so", content: include_bytes!(env!("TURNWISE_RECORDER_SO")) };
const VARIABLE: &str = "LD_PRELOAD";

/// The installed library.
pub(crate) struct Library {
    path: PathBuf,
}

impl Library {
    /// Installs the library that this program carries.
    ///
    /// # Errors
    /// No private directory is to be had.
    pub(crate) fn install() -> Result<Library> {
        Ok(Library { path: install(&LIBRARY)? })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets `command` run under `policy`.
    pub(crate) fn apply(&self, policy: Policy, command: &mut Command) {
        if policy != Policy::Libc {
            set([self.path()], command);
            command.env(environment::LOCK, policy.name()).env_remove(environment::POLICY_TABLE);
        }
    }

    /// Lets `command` run under a policy file's table.
    pub(crate) fn apply_table(&self, table: &Table, command: &mut Command) {
        set([self.path()], command);
        command.env(environment::POLICY_TABLE, &table.path).env_remove(environment::LOCK);
    }
}

/// The table of a policy file, where the preload library finds it.
#[derive(Debug)]
pub(crate) struct Table {
    path: PathBuf,
}

impl Table {
    /// Puts a table where it stays: a program may start others for as long as it runs.
    ///
    /// # Errors
    /// No private directory is to be had.
    pub(crate) fn install(compiled: &Compiled) -> Result<Table> {
        let payload = Payload { stem: "policy", suffix: ".table", content: &compiled.table };
        Ok(Table { path: install(&payload)? })
    }
}

/// Lets `command` run under `locks` with the recorder in front, which writes to `recording`.
///
/// # Errors
/// No private directory is to be had.
pub(crate) fn apply_recorder(locks: &Contender, recording: &Path, command: &mut Command) -> Result<()> {
    let recorder = install(&RECORDER)?;
    if locks.is_interposed() {
        let library = Library::install()?;
        locks.apply(&library, command);
        set([recorder.as_path(), library.path()], command);
    } else {
        set([recorder.as_path()], command);
    }
    command.env(environment::RECORDING, recording);
    Ok(())
}

/// Has the loader load ours, then the libraries that the user has set; before all, the program's sanitizer.
fn set<'a>(ours: impl IntoIterator<Item = &'a Path>, command: &mut Command) {
    let others = std::env::var_os(VARIABLE).filter(|others| !others.is_empty());
    let ours = ours.into_iter().map(|path| path.as_os_str().to_owned());
    let all: Vec<OsString> = runtimes(command.get_program()).into_iter().chain(ours).chain(others).collect();
    command.env(VARIABLE, all.join(OsStr::new(":")));
}

/// Sees whether the library is opened. The loader opens it once for each program that it starts with it, so a run in
/// which nobody opened it was not interposed. (A second `turnwise` at the same time may open it too: the watch can
/// miss that a program was not interposed, but never calls an interposed program bare.)
pub(crate) struct Watch {
    events: OwnedFd,
}

impl Watch {
    /// `None`: the file system or the system's limits do not allow to watch.
    pub(crate) fn new(library: &Library) -> Option<Watch> {
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
        inotify::add_watch(&events, library.path(), inotify::WatchFlags::OPEN).ok()?;
        Some(Watch { events })
    }

    /// Whether somebody opened it since the last call.
    pub(crate) fn opened(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut any = false;
        while reader.next().is_ok() {
            any = true;
        }
        any
    }
}

/// The loader's complaint about our library in a program's output.
pub(crate) fn complaint(output: &str) -> Option<&str> {
    output.lines().find(|line| line.contains(OURS) && line.contains("cannot be preloaded"))
}

/// Makes sure that this process runs on the C library's own locks: what it measures must not depend on it.
///
/// # Errors
/// The library is loaded by other means than `LD_PRELOAD`.
pub(crate) fn leave_own_process() -> Result<()> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    let others = without_ours(&value);
    if others != value {
        let itself = std::env::current_exe().context("cannot find the program itself to start it afresh")?;
        let mut afresh = Command::new(itself);
        afresh.args(std::env::args_os().skip(1)).env_remove(environment::LOCK).env_remove(environment::POLICY_TABLE);
        afresh.env_remove(environment::RECORDING);
        if others.is_empty() {
            afresh.env_remove(VARIABLE)
        } else {
            afresh.env(VARIABLE, others)
        };
        return Err(afresh.exec()).context("cannot start itself afresh without the preload library");
    }
    if std::fs::read("/proc/self/maps").is_ok_and(|maps| maps.windows(OURS.len()).any(|part| part == OURS.as_bytes())) {
        bail!("a library of turnwise ({OURS}…) is loaded into turnwise itself; take it out of /etc/ld.so.preload");
    }
    Ok(())
}

fn without_ours(value: &OsStr) -> OsString {
    let entries: Vec<&[u8]> = value.as_bytes().split(|byte| b": ".contains(byte)).collect();
    if !entries.iter().any(|entry| is_library(entry, OURS)) {
        return value.to_os_string();
    }
    let kept: Vec<&[u8]> = entries.into_iter().filter(|entry| !entry.is_empty() && !is_library(entry, OURS)).collect();
    OsString::from_vec(kept.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_out_only_ours() {
        let cleaned = |value: &str| without_ours(OsStr::new(value)).into_string().unwrap();
        assert_eq!(cleaned("/a/libturnwise_recorder-3.so:/a/libturnwise_preload-12.so"), "");
        assert_eq!(cleaned("/a/libturnwise_preload.so:/b/libjemalloc.so"), "/b/libjemalloc.so");
        assert_eq!(cleaned("x.so /a/libturnwise_preload.so"), "x.so");
        assert_eq!(cleaned(" x.so: y.so"), " x.so: y.so");
    }

    #[test]
    fn finds_the_complaint_about_ours() {
        let ours =
            "ERROR: ld.so: object '/a/libturnwise_preload-1.so' from LD_PRELOAD cannot be preloaded (x): ignored.";
        assert_eq!(complaint(&format!("hello\n{ours}\n")), Some(ours));
        assert_eq!(complaint(&ours.replace("libturnwise", "libother")), None);
    }

    #[test]
    fn watch_sees_an_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let Some(watch) = Watch::new(&Library { path: file.path().to_path_buf() }) else { return };
        assert!(!watch.opened());
        std::fs::read(file.path()).unwrap();
        assert!(watch.opened());
        assert!(!watch.opened());
    }
}
