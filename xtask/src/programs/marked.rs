//! What else a lock-bound program is run with, on the C library's locks: on one CPU, with nobody beside a lock's owner
//! (what that gains is what contention costs), and under `turnwise profile`.
//!
//! `turnwise compare` runs a program under policies, and these are none. So it compares four: the C library, ours, and
//! two policy files, which here only mark runs. It runs this command, which becomes the program, and under a mark first
//! takes its locks back, and goes to one CPU or puts the profiler in front.

use anyhow::{Context, Result, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::libraries::{OURS, is_library};
use turnwise_preload_abi::{Policy, Table};

/// Where `turnwise` tells a program that it runs by a policy file.
const MARKED: &str = turnwise_preload_abi::environment::POLICY_TABLE;
const PRELOAD: &str = "LD_PRELOAD";

/// What a marked run is. Its policy file tells which by its policy, under which nothing runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    OneCpu,
    Recorded,
}

impl Mark {
    pub(super) const ALL: [Mark; 2] = [Mark::OneCpu, Mark::Recorded];

    fn policy(self) -> Policy {
        match self {
            Mark::OneCpu => Policy::Libc,
            Mark::Recorded => Policy::TTAS,
        }
    }

    /// Its policy file in a folder.
    pub(super) fn file(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Mark::OneCpu => "one-cpu.toml",
            Mark::Recorded => "recorded.toml",
        })
    }

    /// Writes that.
    pub(super) fn write(self, folder: &Path) -> Result<PathBuf> {
        let file = self.file(folder);
        let text = format!("default = \"{}\"\n", self.policy().name());
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }

    /// The mark of a policy file's table.
    fn of(table: &Path) -> Result<Mark> {
        let bytes = std::fs::read(table).with_context(|| format!("cannot read {}", table.display()))?;
        let policy = Table::parse(&bytes).map(|table| table.default_policy());
        let mark = Mark::ALL.into_iter().find(|mark| policy == Ok(mark.policy()));
        mark.with_context(|| format!("{} is no mark of ours: {policy:?}", table.display()))
    }
}

/// Arguments of the command that becomes a program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The profiler
    #[arg(long)]
    turnwise: PathBuf,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// A command with this one in front.
pub(super) fn in_front(turnwise: &Path, command: &[String]) -> Result<Vec<OsString>> {
    let itself = std::env::current_exe().context("cannot find xtask itself")?;
    let front = [itself.into_os_string(), "become".into(), "--turnwise".into(), turnwise.into(), "--".into()];
    Ok(front.into_iter().chain(command.iter().map(OsString::from)).collect())
}

/// Becomes the program, or what is run in its place if the run is marked; returns only if that cannot be.
pub(crate) fn become_it(args: &Args) -> Result<bool> {
    let mark = std::env::var_os(MARKED).map(|table| Mark::of(Path::new(&table))).transpose()?;
    let profiled =
        (mark == Some(Mark::Recorded)).then(|| [args.turnwise.as_os_str(), "profile".as_ref(), "--".as_ref()]);
    let words: Vec<&OsStr> =
        profiled.iter().flatten().copied().chain(args.command.iter().map(|w| w.as_os_str())).collect();
    let Some((program, arguments)) = words.split_first() else { bail!("no program is named") };
    let mut command = Command::new(program);
    command.args(arguments);
    if mark.is_some() {
        let preloaded = without_ours(&std::env::var_os(PRELOAD).unwrap_or_default());
        command.env_remove(MARKED).env_remove(PRELOAD);
        if !preloaded.is_empty() {
            command.env(PRELOAD, preloaded);
        }
    }
    if mark == Some(Mark::OneCpu) {
        to_one_cpu()?;
    }
    Err(command.exec()).with_context(|| format!("cannot run {}", program.display()))
}

/// What else the user preloads.
fn without_ours(preloaded: &OsStr) -> OsString {
    let parts = preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let others = parts.filter(|part| !part.is_empty() && !is_library(part, OURS));
    OsString::from_vec(others.collect::<Vec<_>>().join(&b':'))
}

/// The last CPU that this process may use: the first ones serve more interrupts.
fn to_one_cpu() -> Result<()> {
    let allowed = sched_getaffinity(None).context("cannot ask for the CPUs that may be used")?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)).context("no CPU may be used")?;
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).with_context(|| format!("cannot go to CPU {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_known_by_its_table() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for policy in Policy::ALL {
            let table = turnwise_preload_abi::NewTable { default: policy, rules: Vec::new(), modules: Vec::new() };
            std::fs::write(file.path(), table.bytes().unwrap()).unwrap();
            let known = Mark::of(file.path()).ok();
            assert_eq!(known, Mark::ALL.into_iter().find(|mark| mark.policy() == policy));
        }
        assert!(Mark::of(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn only_our_libraries_are_taken_back() {
        let rest = |preloaded: &str| without_ours(OsStr::new(preloaded)).into_string().unwrap();
        assert_eq!(rest("/cache/libturnwise_preload-1.so"), "");
        assert_eq!(rest("/cache/libturnwise_preload-1.so:/lib/libjemalloc.so.2"), "/lib/libjemalloc.so.2");
        assert_eq!(rest("a.so b.so"), "a.so:b.so");
        assert_eq!(rest(""), "");
    }

    #[test]
    fn a_thread_goes_to_one_cpu_and_what_it_starts_does_too() {
        let cpus = std::thread::spawn(|| {
            to_one_cpu().unwrap();
            let status = Command::new("grep").args(["Cpus_allowed_list", "/proc/self/status"]).output().unwrap();
            (sched_getaffinity(None).unwrap().count(), String::from_utf8(status.stdout).unwrap())
        });
        let (own, child) = cpus.join().unwrap();
        assert_eq!(own, 1);
        assert!(child.split_whitespace().nth(1).is_some_and(|list| list.parse::<u32>().is_ok()), "{child}");
    }
}
