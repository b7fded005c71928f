//! Finds the living threads of a process, by `/proc`.

use std::path::{Path, PathBuf};

/// Lists the threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the directory of a living thread, with the process's memory and files: the first thread's are gone when it
/// has ended, even if others continue. `None`: all have ended.
pub(crate) fn directory(pid: u32) -> Option<PathBuf> {
    let mut directories = threads(pid).into_iter().map(|tid| PathBuf::from(format!("/proc/{pid}/task/{tid}")));
    directories.find(|directory| lives(directory))
}

/// Returns a thread's number in its process's PID namespace, if that is not ours.
pub(crate) fn number_inside(pid: u32, tid: u32) -> Option<u32> {
    inside(&std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?)
}

/// Parses `NSpid:`, which has a number for each namespace, ours first.
pub(crate) fn inside(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_ascii_whitespace().skip(1);
    numbers.last()?.parse().ok()
}

/// Returns whether a process has ended, waited for or not.
pub fn has_ended(pid: u32) -> bool {
    directory(pid).is_none()
}

fn lives(directory: &Path) -> bool {
    let Ok(stat) = std::fs::read(directory.join("stat")) else { return false };
    // The name is in parentheses, and may contain any bytes.
    let after_name = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    !matches!(after_name.trim_ascii_start().first(), Some(b'Z' | b'X') | None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_number_is_a_threads_own() {
        let status = |numbers: &str| format!("Name:\tx\nNSpid:\t{numbers}\nThreads:\t1\n");
        assert_eq!(["7", "70\t7", "700\t70\t7"].map(|numbers| inside(&status(numbers))), [None, Some(7), Some(7)]);
        assert_eq!(inside("Name:\tx\n"), None);
    }

    #[test]
    fn a_process_has_ended_when_it_is_gone_and_when_nobody_has_waited_for_it() {
        assert!(!has_ended(std::process::id()) && has_ended(u32::MAX));
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(!has_ended(child.id()));
        child.stdin.take();
        let begun = std::time::Instant::now();
        while !has_ended(child.id()) {
            assert!(begun.elapsed() < std::time::Duration::from_secs(60));
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.wait().unwrap();
    }
}
