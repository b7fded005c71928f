//! The preload library's report on a run: a small file, which all processes of the run map. It lies next to the
//! library: a process that finds the one finds the other. Next to an installed library there may be no room for it.

use super::install::private_directories;
use serde::Serialize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::NamedTempFile;
use turnwise_preload_abi::environment;
use turnwise_preload_abi::run_probe::{CONTENDED, LOADED, USED, WORDS};

const WORD: usize = size_of::<u32>();

/// The observations of the locks in a run; they are unknown if no process found the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Seen {
    /// Whether a program made or took a pthread lock, while the library was loaded.
    pub(crate) locks_used: bool,
    /// Whether a thread did not acquire one of our locks immediately.
    pub(crate) locks_contended: bool,
}

/// The page; its file is removed with it.
pub(crate) struct RunProbe {
    page: NamedTempFile,
}

impl RunProbe {
    /// Creates a probe next to this library; `None`: there is no room.
    pub(crate) fn new(library: &Path) -> Option<RunProbe> {
        let make = |folder: PathBuf| tempfile::Builder::new().prefix("run-probe-").tempfile_in(folder).ok();
        let page = make(library.parent()?.to_path_buf()).or_else(|| private_directories().find_map(make))?;
        page.as_file().set_len((WORDS * WORD) as u64).ok()?;
        Some(RunProbe { page })
    }

    /// Makes `command` report to this probe, which is cleared first.
    pub(crate) fn ask(&self, command: &mut Command) {
        if self.page.as_file().write_all_at(&[0; WORDS * WORD], 0).is_ok() {
            command.env(environment::RUN_PROBE, self.page.path());
        }
    }

    /// Returns what was seen since then.
    pub(crate) fn seen(&self) -> Option<Seen> {
        let mut bytes = [0; WORDS * WORD];
        self.page.as_file().read_exact_at(&mut bytes, 0).ok()?;
        let is_set = |number: usize| bytes[number * WORD..][..WORD].iter().any(|byte| *byte != 0);
        is_set(LOADED).then(|| Seen { locks_used: is_set(USED), locks_contended: is_set(CONTENDED) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_unless_the_page_was_found() {
        let library = NamedTempFile::new().unwrap();
        let probe = RunProbe::new(library.path()).unwrap();
        let mut command = Command::new("true");
        probe.ask(&mut command);
        let path =
            command.get_envs().find(|(name, _)| *name == environment::RUN_PROBE).and_then(|(_, path)| path).unwrap();
        let page = std::fs::File::options().write(true).open(path).unwrap();
        let set = |number: usize| page.write_all_at(&1_u32.to_ne_bytes(), (number * WORD) as u64).unwrap();
        set(CONTENDED);
        assert_eq!(probe.seen(), None);
        set(LOADED);
        assert_eq!(probe.seen(), Some(Seen { locks_used: false, locks_contended: true }));
        probe.ask(&mut command);
        assert_eq!(probe.seen(), None);
        let path = probe.page.path().to_owned();
        drop(probe);
        assert!(!path.exists());
    }
}
