//! Reads the system's data about a process.

use crate::place::parse_stat;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;
use std::fs;
use turnwise_preload_abi::terminal::is_obeyed;

/// Returns when a process began; `None`: there is none, or it has ended.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    let (state, threads, start) = parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)?;
    // A first thread that has exited is a zombie while others run.
    (threads > 1 || !matches!(state, b'Z' | b'X')).then_some(start)
}

/// Returns whether the process that began at `start` still runs.
pub(crate) fn is_alive(pid: u32, start: u64) -> bool {
    start_of(pid) == Some(start)
}

/// Returns the threads of a process; none if it has ended.
pub(crate) fn threads(pid: u32) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the name of a thread; `None`: it has exited.
pub(crate) fn thread_name(pid: u32, tid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(printable(String::from_utf8_lossy(&name).trim_end()))
}

/// Returns the text without characters that a terminal would interpret, or that set the direction of writing.
pub(crate) fn printable(text: &str) -> String {
    text.replace(is_obeyed, "\u{fffd}")
}

/// Returns the calling process's user.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the bytes of the file up to the first zero.
pub(crate) fn before_zero(from: &[AtomicU8]) -> Vec<u8> {
    from.iter().map(|byte| byte.load(Relaxed)).take_while(|byte| *byte != 0).collect()
}
