//! Which threads of a process live, by `/proc`.

use std::path::{Path, PathBuf};

/// All that are there.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The directory of a thread that lives, with the process's memory and files: those of the first thread are gone when
/// it has ended, though others go on. `None`: all have ended.
pub(crate) fn directory(pid: u32) -> Option<PathBuf> {
    let mut directories = threads(pid).into_iter().map(|tid| PathBuf::from(format!("/proc/{pid}/task/{tid}")));
    directories.find(|directory| lives(directory))
}

/// Whether a process has ended, waited for or not.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    directory(pid).is_none()
}

fn lives(directory: &Path) -> bool {
    let Ok(stat) = std::fs::read(directory.join("stat")) else { return false };
    // The name stands in brackets, and may have any bytes in it.
    let after_name = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    !matches!(after_name.trim_ascii_start().first(), Some(b'Z' | b'X') | None)
}

#[cfg(test)]
mod tests {
    use super::*;

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
