//! A program on one CPU: the C library's locks with nobody beside their owner. What that gains is what contention
//! costs.
//!
//! `turnwise compare` runs a program under policies, and where a program may run is none. So it compares three: the C
//! library, ours, and a policy file, which here only marks the runs that are to have one CPU. It runs this command,
//! which becomes the program, and under the mark first takes its locks back and goes to one CPU.

use anyhow::{Context, Result, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The policy file that marks a run: the C library's locks, as the program has them by itself.
const MARK: &str = "default = \"libc\"\n";
/// Where `turnwise` tells a program that it runs by a policy file.
const MARKED: &str = "TURNWISE_POLICY_TABLE";
const PRELOAD: &str = "LD_PRELOAD";
/// What our libraries' names begin with.
const OURS: &[u8] = b"libturnwise_";

/// Arguments of the command that becomes a program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// Writes the mark into a folder.
pub(super) fn mark(folder: &Path) -> Result<PathBuf> {
    let file = folder.join("one-cpu.toml");
    std::fs::write(&file, MARK).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// A command with this one in front.
pub(super) fn in_front(command: &[String]) -> Result<Vec<OsString>> {
    let itself = std::env::current_exe().context("cannot find xtask itself")?;
    let front = [itself.into_os_string(), "become".into(), "--".into()];
    Ok(front.into_iter().chain(command.iter().map(OsString::from)).collect())
}

/// Becomes the program, on one CPU if the run is marked; returns only if that cannot be.
pub(crate) fn become_it(args: &Args) -> Result<bool> {
    let Some((program, arguments)) = args.command.split_first() else { bail!("no program is named") };
    let mut command = Command::new(program);
    command.args(arguments);
    if std::env::var_os(MARKED).is_some() {
        let preloaded = without_ours(&std::env::var_os(PRELOAD).unwrap_or_default());
        command.env_remove(MARKED).env_remove(PRELOAD);
        if !preloaded.is_empty() {
            command.env(PRELOAD, preloaded);
        }
        to_one_cpu()?;
    }
    Err(command.exec()).with_context(|| format!("cannot run {}", program.display()))
}

/// What else the user preloads.
fn without_ours(preloaded: &OsStr) -> OsString {
    let parts = preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let others = parts.filter(|part| !part.is_empty() && !part.windows(OURS.len()).any(|name| name == OURS));
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
