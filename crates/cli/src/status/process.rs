//! What can be seen of one process from outside: its mappings, the environment that it started with, and its live view.

use crate::live::Which;
use crate::preload::{Library, VARIABLE, version_in};
use crate::program::check_elf;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use turnwise_futex_trace::{outside, threads};
use turnwise_live::{Channel, Fault, why_no_view};
use turnwise_preload_abi::libraries::{PRELOAD, RECORDER, is_library, loaded};
use turnwise_preload_abi::{Lock, Table, environment};
use turnwise_present::{input_file, printable};

/// The key of the auxiliary vector that tells that the loader ignores paths in LD_PRELOAD.
const AT_SECURE: u64 = 23;
/// The tunable that keeps the C library from registering restartable sequences, if 0.
const TUNABLE: &[u8] = b"glibc.pthread.rseq=";

/// What is known of a process; `None`: not known, or it has no library.
#[derive(Clone, Default, Serialize)]
pub(super) struct Status {
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) loaded: bool,
    /// Why the library is not loaded.
    pub(super) why: Option<String>,
    pub(super) recorder: bool,
    pub(super) library: Option<String>,
    pub(super) version: Option<String>,
    /// Whether the library is the one that this program would load.
    pub(super) same_build: Option<bool>,
    /// The policy of all locks, or of those that no rule selects.
    pub(super) policy: Option<String>,
    pub(super) policy_note: Option<String>,
    /// The number of a policy file's rules.
    pub(super) rules: Option<usize>,
    /// `none`: the program's tunables turn it off. What else keeps it off shows only inside.
    pub(super) on_cpu_layer: Option<&'static str>,
    pub(super) live_view: Option<String>,
    /// Why it has no live view.
    pub(super) live_view_note: Option<String>,
    pub(super) contended_locks: Option<usize>,
    pub(super) waits: Option<u64>,
    pub(super) wait_ns: Option<u64>,
    /// The number of threads that wait now.
    pub(super) waiting: Option<usize>,
}

/// Returns all processes but this one.
pub(super) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id())
}

/// Returns whether a process has the preload library; not so if it may not be looked at.
pub(super) fn has_library(pid: u32) -> bool {
    Seen::of(pid).is_ok_and(|seen| loaded(&seen.maps, PRELOAD).is_some())
}

/// Returns the processes of a name: by their live views, as `top` finds them, and by what the system knows.
pub(super) fn called(name: &str) -> BTreeSet<u32> {
    let viewed = Which::Named(name.to_owned()).running().into_iter().map(|channel| channel.pid());
    let is_named = |pid: &u32| {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let file = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let first = read("cmdline").split(|byte| *byte == 0).next().map(<[u8]>::to_vec).unwrap_or_default();
        let called = Path::new(OsStr::from_bytes(&first)).file_name();
        // The system keeps 15 bytes of a name.
        let title = String::from_utf8_lossy(read("comm").trim_ascii_end()).into_owned();
        let is_title = title == name || title.len() == 15 && name.starts_with(&title);
        file.file_name() == Some(OsStr::new(name)) || called == Some(OsStr::new(name)) || is_title
    };
    all().filter(is_named).chain(viewed).collect()
}

impl Status {
    pub(super) fn named(pid: u32, name: &str) -> Status {
        Status { pid, name: printable(name).into_owned(), ..Status::default() }
    }

    /// Looks at a process. An error states why it may not be looked at, and what to do.
    pub(super) fn of(pid: u32) -> Result<Status> {
        let seen = Seen::of(pid)?;
        let comm = fs::read(seen.folder.join("comm")).unwrap_or_default();
        let mut status = Status::named(pid, String::from_utf8_lossy(&comm).trim_end());
        status.recorder = loaded(&seen.maps, RECORDER).is_some();
        let Some(library) = loaded(&seen.maps, PRELOAD).map(|path| Path::new(OsStr::from_bytes(path))) else {
            status.why = Some(seen.why_not(status.recorder));
            return Ok(status);
        };
        status.loaded = true;
        status.library = Some(printable(&library.to_string_lossy()).into_owned());
        if let Ok(content) = input_file::read(&seen.inside(library)) {
            (status.version, status.same_build) = (version_in(&content), Some(content == Library::content()));
        }
        let channel = Channel::of(pid);
        seen.add_policy(&mut status, channel.as_ref().ok().and_then(Channel::policy));
        if is_switched_off(seen.variable("GLIBC_TUNABLES").unwrap_or_default()) {
            status.on_cpu_layer = Some("none");
        }
        if let Err(error) = channel.and_then(|channel| add_view(&mut status, &channel)) {
            status.live_view_note = Some(match error.fault {
                _ if seen.variable(environment::LIVE) == Some(b"0") => "TURNWISE_LIVE=0 turns it off".to_owned(),
                Fault::NoView(_) => {
                    why_no_view(pid).unwrap_or_else(|| "no thread has waited for a lock yet".to_owned())
                }
                _ => error.to_string(),
            });
        }
        Ok(status)
    }
}

fn add_view(status: &mut Status, channel: &Channel) -> Result<(), turnwise_live::Error> {
    let snapshot = channel.snapshot()?;
    let ours = || snapshot.locks.iter().filter(|lock| lock.kind.is_ours());
    let locks: BTreeSet<u64> = ours().map(|lock| lock.address).collect();
    channel.name().clone_into(&mut status.name);
    status.live_view = Some(printable(&channel.path().to_string_lossy()).into_owned());
    status.contended_locks = Some(locks.len());
    status.waits = Some(ours().fold(0, |sum, lock| lock.waits.saturating_add(sum)));
    status.wait_ns = Some(ours().fold(0, |sum, lock| lock.wait_ns.saturating_add(sum)));
    status.waiting =
        Some(snapshot.threads.iter().filter(|thread| thread.waiting.is_some_and(|wait| wait.kind.is_ours())).count());
    Ok(())
}

/// What the system tells of a process.
struct Seen {
    /// The directory of a living thread: the first one may have ended before the others.
    folder: PathBuf,
    maps: Vec<u8>,
    /// The environment that the process started with, unless it has written over it.
    environment: Vec<u8>,
}

impl Seen {
    fn of(pid: u32) -> Result<Seen> {
        let folders = threads(pid).into_iter().map(|tid| PathBuf::from(format!("/proc/{pid}/task/{tid}")));
        let mut mapped = folders.filter_map(|folder| Some((fs::read(folder.join("maps")).ok()?, folder)));
        let Some((maps, folder)) = mapped.find(|(maps, _)| !maps.is_empty()) else {
            outside::check(pid)?;
            bail!("process {pid} ended meanwhile");
        };
        let environment = fs::read(folder.join("environ")).with_context(|| format!("process {pid} ended meanwhile"))?;
        Ok(Seen { folder, maps, environment })
    }

    /// Returns where a file of the process is for us: it may have another root.
    fn inside(&self, path: &Path) -> PathBuf {
        self.folder.join("root").join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns the value of a variable that is not empty.
    fn variable(&self, name: &str) -> Option<&[u8]> {
        let variables = self.environment.split(|byte| *byte == 0);
        let mut values = variables.filter_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values.next().filter(|value| !value.is_empty())
    }

    /// Returns why the library is not loaded.
    fn why_not(&self, recorder: bool) -> String {
        if recorder {
            return "turnwise profile records it on the C library's locks".to_owned();
        }
        let program = self.folder.join("exe");
        let name = fs::read_link(&program).unwrap_or_default();
        // The loader as the program says nothing of the program that it was told to run.
        let is_loader = name.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-linux"));
        match check_elf(&program) {
            Err(error) if !is_loader => return format!("{error:#}"),
            _ if self.is_secure() => {
                return "it gained privileges as it started (set-uid, set-gid or file capabilities), so the loader \
                        ignores LD_PRELOAD; start it as the user that it is for"
                    .to_owned();
            }
            _ => {}
        }
        let preloaded = self.variable(VARIABLE).unwrap_or_default();
        let is_ours = |part: &&[u8]| is_library(part, PRELOAD);
        let Some(named) = preloaded.split(|byte| b": ".contains(byte)).find(is_ours) else {
            let is_asked_for = [environment::LOCK, environment::POLICY_TABLE].map(|name| self.variable(name));
            return match is_asked_for {
                [None, None] => "it was not started under `turnwise run`, or with --lock libc",
                _ => "a program between it and `turnwise run` has taken LD_PRELOAD away, as sudo and env -i do",
            }
            .to_owned();
        };
        let path = Path::new(OsStr::from_bytes(named));
        let shown = printable(&path.to_string_lossy()).into_owned();
        if path.is_absolute() && !self.inside(path).exists() {
            return format!("LD_PRELOAD names {shown}, which is not there; start it under `turnwise run` again");
        }
        format!(
            "LD_PRELOAD names {shown}, but the loader has not mapped it: as it starts it says why on standard error"
        )
    }

    /// Returns whether the loader ignored paths in LD_PRELOAD.
    fn is_secure(&self) -> bool {
        let auxv = fs::read(self.folder.join("auxv")).unwrap_or_default();
        let words: Vec<u64> =
            auxv.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?))).collect();
        words.chunks_exact(2).any(|pair| pair[0] == AT_SECURE && pair[1] != 0)
    }

    /// Adds the policy in force: `viewed` is the one that the live view has.
    fn add_policy(&self, status: &mut Status, viewed: Option<Lock>) {
        let preloaded = String::from_utf8_lossy(self.variable(VARIABLE).unwrap_or_default());
        if ["vgpreload_helgrind", "vgpreload_drd"].iter().any(|tool| preloaded.contains(tool)) {
            status.policy = Some("libc".to_owned());
            status.policy_note = Some("valgrind's race checkers see the C library's locks alone".to_owned());
        } else if let Some(lock) = viewed {
            status.policy = Some(lock.name().to_owned());
        } else if let Some(path) = self.variable(environment::POLICY_TABLE) {
            let path = Path::new(OsStr::from_bytes(path));
            let content = input_file::read(&self.inside(path)).unwrap_or_default();
            let table = Table::parse(&content).ok();
            status.policy = table.map(|table| table.default_policy().name().to_owned());
            status.rules = table.map(|table| table.rules());
            let shown = printable(&path.to_string_lossy()).into_owned();
            status.policy_note = table.is_none().then(|| format!("its table cannot be read any more: {shown}"));
        } else if self.environment.is_empty() {
            status.policy_note = Some("it has written over its environment".to_owned());
        } else {
            let lock = Lock::asked_for(self.variable(environment::LOCK).unwrap_or_default());
            status.policy = lock.map(|lock| lock.name().to_owned());
        }
    }
}

/// Returns whether tunables switch restartable sequences off; the last one counts.
fn is_switched_off(tunables: &[u8]) -> bool {
    tunables.split(|byte| *byte == b':').filter_map(|part| part.strip_prefix(TUNABLE)).next_back() == Some(b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_told_apart() {
        let seen = Seen { folder: PathBuf::new(), maps: Vec::new(), environment: b"A=\0AB=1\0B=2".to_vec() };
        assert_eq!(["A", "AB", "B", "C"].map(|name| seen.variable(name)), [None, Some(&b"1"[..]), Some(b"2"), None]);
    }

    #[test]
    fn the_last_tunable_counts() {
        let off = b"glibc.pthread.rseq=1:glibc.malloc.check=3:glibc.pthread.rseq=0";
        assert!(
            is_switched_off(off)
                && !is_switched_off(b"")
                && !is_switched_off(b"glibc.pthread.rseq=0:glibc.pthread.rseq=1")
        );
    }
}
