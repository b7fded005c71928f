//! The number of CPUs that locks believe in, for both versions of any age: a preloaded library answers their query for
//! the number (`believed.c`), however often it is made. `turnwise-lab bench` makes the system call itself where it
//! keeps threads on CPUs; versions from before it did put those of `beside-pinned` elsewhere.

use crate::command::{Run, cmd, text_of};
use crate::root::write;
use anyhow::{Context, Result, ensure};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SOURCE: &str = include_str!("believed.c");
const PRELOAD: &str = "LD_PRELOAD";
/// Where the library reads the number.
const VARIABLE: &str = "TURNWISE_PERF_CPUS";

/// A number to believe in.
pub(crate) struct Believed {
    cpus: u32,
    library: PathBuf,
    _folder: TempDir,
}

impl Believed {
    /// Compiles the library.
    pub(super) fn new(cpus: u32) -> Result<Believed> {
        let folder = TempDir::with_prefix("turnwise-perf-").context("cannot make a folder")?;
        let (source, library) = (folder.path().join("believed.c"), folder.path().join("believed.so"));
        write(&source, SOURCE)?;
        let output = cmd("cc -O2 -Wall -Werror -shared -fPIC -o").arg(&library).arg(&source).printed();
        let output = output.context("--believed-cpus needs a C compiler `cc`: apt-get install gcc")?;
        ensure!(output.status.success(), "cc cannot compile believed.c:\n{}", text_of(&output.stderr));
        Ok(Believed { cpus, library, _folder: folder })
    }

    /// Makes a command's locks believe in it.
    pub(super) fn apply(&self, command: &mut Command) {
        command.env(VARIABLE, self.cpus.to_string()).env(PRELOAD, with(&self.library, std::env::var_os(PRELOAD)));
    }
}

/// Puts the library in front of what the user preloads.
fn with(library: &Path, others: Option<OsString>) -> OsString {
    let others = others.filter(|others| !others.is_empty());
    std::iter::once(library.as_os_str()).chain(others.as_deref()).collect::<Vec<_>>().join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: &str = include_str!("asks.c");

    #[test]
    fn every_question_gets_the_number_and_the_system_call_the_truth() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("asks.c"), folder.path().join("asks"));
        std::fs::write(&source, ASKS).unwrap();
        assert!(Command::new("cc").arg("-o").arg(&program).arg(&source).status().unwrap().success());
        let said = |believed: Option<u32>| {
            let mut ask = Command::new(&program);
            let believed = believed.map(|cpus| Believed::new(cpus).unwrap());
            if let Some(believed) = &believed {
                believed.apply(&mut ask);
            }
            String::from_utf8(ask.output().unwrap().stdout).unwrap()
        };
        let truth = said(None);
        let truth = truth.split_whitespace().next().unwrap();
        assert_eq!(said(Some(80)), format!("80 80 80 {truth}"));
        assert_eq!(said(Some(1)), format!("1 1 1 {truth}"));
    }

    #[test]
    fn what_the_user_preloads_stays() {
        let library = Path::new("/x/believed.so");
        assert_eq!(with(library, None), "/x/believed.so");
        assert_eq!(with(library, Some(OsString::new())), "/x/believed.so");
        assert_eq!(with(library, Some("/y/jemalloc.so".into())), "/x/believed.so:/y/jemalloc.so");
    }
}
