//! Finds why a process has no live view, as far as can be seen from outside.

use super::process::{start_of, user};
use crate::layout::FILE_BYTES;
use std::fs;
use std::os::unix::fs::MetadataExt;
use turnwise_preload_abi::libraries::{PRELOAD, loaded};

/// Returns what prevents a running process from having a view; `None`: nothing visible.
#[must_use]
pub fn why_no_view(pid: u32) -> Option<String> {
    let folder = format!("/proc/{pid}");
    start_of(pid)?;
    let owner = fs::metadata(&folder).ok()?.uid();
    if user() != 0 && owner != user() {
        return Some(format!("it belongs to user {owner}, or only root may read it: run this as root"));
    }
    let Ok(maps) = fs::read(format!("{folder}/maps")) else {
        return Some(format!("permission to read {folder} is denied"));
    };
    if loaded(&maps, PRELOAD).is_none() {
        return Some("it does not run under `turnwise run`".to_owned());
    }
    no_room(pid)
        .or_else(|| elsewhere(&folder))
        .or_else(|| filtered(&fs::read_to_string(format!("{folder}/status")).unwrap_or_default()))
}

/// Returns which of a process's limits leaves no room for a view.
#[must_use]
pub fn no_room(pid: u32) -> Option<String> {
    limits(&fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default())
}

/// Returns which limit in `text` leaves no room for a view.
fn limits(text: &str) -> Option<String> {
    /// Those for a view's file, its folder, and the files that describe the process, one after another.
    const DESCRIPTORS: u64 = 8;
    let limit = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    if limit("Max file size").is_some_and(|most| most < FILE_BYTES as u64) {
        return Some("its limit on the size of files (RLIMIT_FSIZE, ulimit -f) leaves no room for one".to_owned());
    }
    if limit("Max open files").is_some_and(|most| most < DESCRIPTORS) {
        return Some("its limit on descriptors (RLIMIT_NOFILE, ulimit -n) leaves it none to make one with".to_owned());
    }
    let bytes = limit("Max address space")?;
    Some(format!(
        "its limit on address space (ulimit -v) of {bytes} bytes left no room for one, or no thread has waited yet"
    ))
}

/// Returns whether its root directory is not ours.
fn elsewhere(folder: &str) -> Option<String> {
    let root = |process: &str| fs::metadata(format!("{process}/root/.")).ok().map(|found| (found.dev(), found.ino()));
    let [own, theirs] = [root("/proc/self")?, root(folder)?];
    (own != theirs).then(|| "it changed its root directory before it could make one (chroot)".to_owned())
}

/// Returns whether its system calls are filtered.
fn filtered(status: &str) -> Option<String> {
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?.trim();
    (mode != "0").then(|| "its system calls are filtered; TURNWISE_LIVE=1 has a view all the same".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_process_from_having_a_view_is_said() {
        let none = why_no_view(std::process::id()).expect("a test runs under nothing");
        assert!(none.contains("turnwise run"), "{none}");
        assert_eq!(why_no_view(0), None);
        let line =
            |name: &str, most: &str| format!("Limit  Soft Limit  Hard Limit  Units\n{name}  {most}  {most}  x\n");
        for (name, most, word) in [
            ("Max file size", "8192", "RLIMIT_FSIZE"),
            ("Max open files", "0", "RLIMIT_NOFILE"),
            ("Max address space", "300000000", "ulimit -v"),
        ] {
            assert!(limits(&line(name, most)).is_some_and(|why| why.contains(word)), "{name}");
            assert_eq!(limits(&line(name, "unlimited")), None);
        }
        assert!(filtered("Name:\tx\nSeccomp:\t2\n").is_some() && filtered("Seccomp:\t0\n").is_none());
        assert_eq!(elsewhere("/proc/self"), None);
    }
}
