//! The preload library: its place, how a program gets it, and whether a program loaded it.

pub(crate) mod install;
pub(crate) mod run_probe;
mod sanitizer;

use crate::policy_file::Compiled;
use crate::program::native_of;
use crate::target::Target;
use crate::variant::Variant;
use anyhow::Result;
use install::{Payload, install};
use rustix::fs::inotify;
use sanitizer::runtimes;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::environment;
use turnwise_preload_abi::libraries::{self, OURS};

const LIBRARY: Payload<'static> =
    Payload { stem: libraries::PRELOAD, suffix: ".so", content: include_bytes!(env!("TURNWISE_PRELOAD_SO")) };
const RECORDER: Payload<'static> =
    Payload { stem: libraries::RECORDER, suffix: ".so", content: include_bytes!(env!("TURNWISE_RECORDER_SO")) };
/// The variable with the libraries that the loader adds to a program.
pub(crate) const VARIABLE: &str = "LD_PRELOAD";

pub(crate) struct Library {
    pub(crate) path: PathBuf,
}

impl Library {
    /// Returns the one that a package has installed if it is the same, else installs the embedded library.
    pub(crate) fn install() -> Result<Library> {
        Ok(Library { path: Library::packaged().map_or_else(|| install(&LIBRARY), Ok)? })
    }

    /// Returns the path of the one that a package has installed, if it is the same.
    pub(crate) fn packaged() -> Option<PathBuf> {
        install::packaged(libraries::SHARED, LIBRARY.content)
    }

    /// Returns the content of the embedded library.
    pub(crate) fn content() -> &'static [u8] {
        LIBRARY.content
    }

    /// Installs it if one of these contenders needs it; fails if the loader would run the program without it.
    pub(crate) fn needed(variants: &[Variant], target: &Target) -> Result<Option<Library>> {
        if !variants.iter().any(Variant::is_interposed) {
            return Ok(None);
        }
        native_of(&target.path)?;
        Library::install().map(Some)
    }
}

/// Returns the version in a library's content: it is in the line that TURNWISE_VERBOSE has it print.
pub(crate) fn version_in(content: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = b"turnwise: version ";
    let at = content.windows(BEFORE.len()).position(|part| part == BEFORE)? + BEFORE.len();
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b".-+".contains(byte);
    let version: Vec<u8> = content[at..].iter().take_while(is_part).copied().collect();
    String::from_utf8(version).ok().filter(|version| !version.is_empty())
}

/// Installs a policy file's table permanently, since a program may start others as long as it runs; returns where.
pub(crate) fn install_table(compiled: &Compiled) -> Result<PathBuf> {
    install(&Payload { stem: "policy", suffix: ".table", content: &compiled.table })
}

/// Makes `command` run under `locks` with the recorder in front, which writes to `recording`.
pub(crate) fn apply_recorder(locks: &Variant, recording: &Path, command: &mut Command) -> Result<()> {
    let recorder = install(&RECORDER)?;
    if locks.is_interposed() {
        let library = Library::install()?;
        locks.apply(&library, command);
        set([recorder.as_path(), library.path.as_path()], command);
    } else {
        set([recorder.as_path()], command);
    }
    command.env(environment::RECORDING, recording);
    Ok(())
}

/// Makes the loader load our libraries, then the user's, and before all the program's sanitizer.
pub(crate) fn set<'a>(ours: impl IntoIterator<Item = &'a Path>, command: &mut Command) {
    let others = std::env::var_os(VARIABLE).filter(|others| !others.is_empty());
    let ours = ours.into_iter().map(|path| path.as_os_str().to_owned());
    let all: Vec<OsString> = runtimes(command.get_program()).into_iter().chain(ours).chain(others).collect();
    command.env(VARIABLE, all.join(OsStr::new(":")));
}

/// Detects whether the library is opened. The loader opens it once for each program that it starts with it, so a run in
/// which it was not opened was not interposed. (A second `turnwise` at the same time may also open it: the watch can
/// miss that a program was not interposed, but never reports an interposed program as not interposed.)
pub(crate) struct Watch {
    events: OwnedFd,
}

impl Watch {
    /// Starts a watch; `None`: the file system or the system's limits do not allow it.
    pub(crate) fn new(library: &Library) -> Option<Watch> {
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
        inotify::add_watch(&events, &library.path, inotify::WatchFlags::OPEN).ok()?;
        Some(Watch { events })
    }

    /// Returns whether it was opened since the last call.
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

/// Returns the loader's error about our library in a program's output.
pub(crate) fn complaint(output: &str) -> Option<&str> {
    output.lines().find(|line| line.contains(OURS) && line.contains("cannot be preloaded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_version_is_in_its_content() {
        assert_eq!(version_in(LIBRARY.content).as_deref(), Some(env!("CARGO_PKG_VERSION")));
        assert!(version_in(b"turnwise: version ").is_none());
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
