//! Whether a process may be inspected, and what to do where it may not.

use crate::living;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the directory of a living thread of a process that may be inspected. An error states what to do.
pub(crate) fn directory(pid: u32) -> Result<PathBuf> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    if !directory.exists() {
        bail!("no process has the id {pid}; `pgrep -a NAME` lists the ids of running programs");
    }
    let status = fs::read_to_string(directory.join("status")).context("the process ended meanwhile")?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:")).map_or("", str::trim);
    if group != pid.to_string() {
        bail!("{pid} is a thread of process {group}; name that");
    }
    let directory = living::directory(pid).unwrap_or(directory);
    if fs::read(directory.join("maps")).is_ok_and(|maps| maps.is_empty()) {
        bail!("{pid} has no memory of its own: it is a thread of the kernel, or has ended and was not waited for");
    }
    let files = fs::read_dir(format!("/proc/{pid}/map_files"));
    match files.and(fs::read(directory.join("maps"))) {
        Ok(_) => Ok(directory),
        Err(error) => Err(refused(pid, &error)),
    }
}

/// Checks that the calls, the stacks and the memory of a process's threads may be read and understood. An error states
/// what to do.
pub fn check(pid: u32) -> Result<()> {
    let directory = directory(pid)?;
    let mut begin = [0; 5];
    let read = fs::File::open(directory.join("exe")).and_then(|mut file| file.read_exact(&mut begin));
    read.map_err(|error| refused(pid, &error))?;
    if begin == *b"\x7fELF\x01" {
        bail!(
            "process {pid} is a 32-bit program, whose locks are not known here; type: gdb -p {pid} -batch -ex 'thread \
             apply all bt'"
        );
    }
    let memory = fs::File::open(directory.join("mem")).and(fs::read(directory.join("syscall")));
    memory.map(drop).map_err(|error| refused(pid, &error))
}

/// Returns the error that a process may not be inspected.
fn refused(pid: u32, error: &io::Error) -> anyhow::Error {
    let is_gone = error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH);
    if is_gone || living::has_ended(pid) {
        return anyhow::anyhow!("process {pid} ended meanwhile");
    }
    let owner = fs::metadata(format!("/proc/{pid}")).map_or(0, |found| found.uid());
    let why = reason(owner, rustix::process::geteuid().as_raw(), scope(Path::new(SCOPE)));
    anyhow::anyhow!("process {pid} may not be inspected ({error}): {why}")
}

/// Yama's setting of who may inspect whom.
const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

fn scope(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns why a process of this owner may not be inspected by a user, and what to do.
fn reason(owner: u32, user: u32, scope: Option<u32>) -> String {
    match (user, scope) {
        (_, Some(3)) => "kernel.yama.ptrace_scope is 3, which forbids it to everyone until the next boot".to_owned(),
        (0, _) => "root needs the capability CAP_SYS_PTRACE for it, which containers leave out: docker run --cap-add \
                   SYS_PTRACE"
            .to_owned(),
        _ if owner != user => format!(
            "it belongs to user {owner}, or has rights that its user lacks: run turnwise as the user that it runs as, \
             or as root"
        ),
        (_, Some(scope @ 1..)) => format!(
            "kernel.yama.ptrace_scope is {scope}, which leaves it to root: run turnwise by sudo, or type, once for all \
             processes: sudo sysctl kernel.yama.ptrace_scope=0; a program that `turnwise run` starts needs neither"
        ),
        _ => "a security module, a user namespace or the process itself (PR_SET_DUMPABLE) forbids it: run turnwise by \
              sudo"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_type() {
        for ((owner, user, scope), part) in [
            ((0, 0, None), "CAP_SYS_PTRACE"),
            ((5, 7, Some(1)), "belongs to user 5"),
            ((7, 7, Some(1)), "ptrace_scope is 1"),
            ((7, 7, Some(3)), "everyone"),
            ((7, 7, Some(0)), "security module"),
        ] {
            let reason = reason(owner, user, scope);
            assert!(reason.contains(part), "{reason}");
        }
        assert_eq!(scope(Path::new("/no/such/file")), None);
    }

    #[test]
    fn what_is_no_process_is_refused() {
        assert!(check(std::process::id()).is_ok());
        assert!(check(u32::MAX).unwrap_err().to_string().contains("no process has the id"));
    }
}
