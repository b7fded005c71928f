//! One run of a case's script: alone, or under a command of ours; in a process group of its own, for a bounded time.

use super::case::Case;
use super::prepare;
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// No run takes longer; one that does is reported as hanging.
const LIMIT: Duration = Duration::from_secs(180);

/// What a script runs under.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Way {
    /// Nothing: the C library's locks.
    #[value(skip)]
    Alone,
    /// Our locks
    Run,
    /// The C library's locks, recorded
    Profile,
}

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Alone => "alone",
            Way::Run => "run",
            Way::Profile => "profile",
        }
    }
}

/// The outcome of a script.
pub(super) struct Ran {
    /// None: it did not end in time.
    pub(super) status: Option<ExitStatus>,
    pub(super) answer: String,
    pub(super) said: String,
    /// What the tool itself wrote on its outputs.
    pub(super) tool: String,
    pub(super) time: Duration,
    /// Acquisitions that were recorded; under `profile` only.
    pub(super) acquisitions: Option<u64>,
}

impl Ran {
    /// Returns how it ended, in words.
    pub(super) fn ending(&self) -> String {
        match self.status {
            None => format!("no end within {} s", LIMIT.as_secs()),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => status.to_string(),
            },
        }
    }

    /// Returns whether it ended as `other` did.
    pub(super) fn ends_like(&self, other: &Ran) -> bool {
        self.status.is_some() && self.status == other.status
    }

    /// Returns the lines on standard error, all numbers alike: times, addresses and process numbers differ by run.
    pub(super) fn complaints(&self) -> BTreeSet<String> {
        let number = regex::Regex::new("0x[0-9a-fA-F]+|[0-9]+").expect("it is constant");
        self.said.lines().map(|line| number.replace_all(line.trim(), "#").into_owned()).collect()
    }
}

/// The beginning of every script: its outputs apart from the tool's, and a check whether our library is there.
const BEGIN: &str = r#"exec >"$TW_ANSWER" 2>"$TW_SAID"
if [ -n "$TW_LIBRARY" ] && ! grep -q "$TW_LIBRARY" /proc/self/maps; then
    echo "$TW_LIBRARY is not loaded" >&2
    exit 99
fi
cd "$DIR"
"#;

/// Runs the case's script under the way. `folder`: the case's, with what its set-up left.
pub(super) fn run(way: Way, case: &Case, here: &Path, folder: &Path, turnwise: &Path) -> Result<Ran> {
    let place = tempfile::TempDir::with_prefix_in(way.name(), folder).context("cannot make a folder")?;
    let file = |name: &str| place.path().join(name);
    let (script, json, tool) = (file("script"), file("profile.json"), file("tool"));
    std::fs::write(&script, format!("{BEGIN}{}", case.script)).context("cannot write the script")?;
    let dir = file("dir");
    std::fs::create_dir(&dir).context("cannot make a folder")?;
    let mut command = with_signals();
    command.arg(if way == Way::Alone { Path::new("sh") } else { turnwise });
    match way {
        Way::Alone => {}
        Way::Run => drop(command.args(["run", "--", "sh"])),
        Way::Profile => drop(command.arg("profile").arg(format!("--json={}", json.display())).args(["--", "sh"])),
    }
    command.arg("-eu").arg(&script);
    let library = match way {
        Way::Alone => "",
        Way::Run => "libturnwise_preload",
        Way::Profile => "libturnwise_recorder",
    };
    surroundings(&mut command, here, folder, &dir);
    command.env("TW_ANSWER", file("answer")).env("TW_SAID", file("said")).env("TW_LIBRARY", library);
    let out = File::create(&tool).context("cannot make a file")?;
    command.stdout(out.try_clone()?).stderr(out);
    let start = Instant::now();
    let status = bounded(command, LIMIT)?;
    let time = start.elapsed();
    let text = |name: &str| std::fs::read(file(name)).map(|all| String::from_utf8_lossy(&all).trim_end().to_owned());
    Ok(Ran {
        status,
        answer: text("answer").unwrap_or_default(),
        said: text("said").unwrap_or_default(),
        tool: text("tool").unwrap_or_default(),
        time,
        acquisitions: acquisitions(&json),
    })
}

/// Runs the set-up of the case.
pub(super) fn set_up(case: &Case, here: &Path, folder: &Path) -> Result<()> {
    let mut command = with_signals();
    command.args(["sh", "-eu", "-c", &case.setup]).current_dir(folder);
    surroundings(&mut command, here, folder, folder);
    let log = folder.join("setup.log");
    let out = File::create(&log).context("cannot make a file")?;
    command.stdout(out.try_clone()?).stderr(out);
    let status = bounded(command, LIMIT)?;
    let printed = || std::fs::read_to_string(&log).unwrap_or_default();
    let is_done = status.is_some_and(|status| status.success());
    anyhow::ensure!(is_done, "its set-up failed: {}", crate::programs::run::last_lines(&printed()));
    Ok(())
}

/// Returns a command whose words are to follow, with the signals as at a terminal: a shell's background jobs, and what
/// they start, ignore these, and Python's tests of threads fail then.
fn with_signals() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,QUIT");
    command
}

/// Sets an environment that is the same everywhere.
fn surroundings(command: &mut Command, here: &Path, folder: &Path, dir: &Path) {
    command.env_clear().envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]).env("PATH", prepare::path());
    command.env("HOME", dir).env("DIR", dir).env("INPUT", folder).env("HERE", here);
    command.stdin(Stdio::null());
}

/// Runs a command for a bounded time, and kills what is left of its process group. `None`: it did not end.
pub(super) fn bounded(mut command: Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let mut child =
        command.process_group(0).spawn().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let group = Pid::from_child(&child);
    let limit = Instant::now() + limit;
    // Ended, but not waited for: until then no other group can get its number.
    let has_ended =
        || waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
    let mut in_time = false;
    while Instant::now() < limit && !in_time {
        in_time = has_ended().context("cannot wait for a program")?.is_some();
        if !in_time {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    match kill_process_group(group, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(error).context("cannot end a program"),
    }
    let status = child.wait().context("cannot wait for a program")?;
    Ok(in_time.then_some(status))
}

/// Returns the acquisitions in a profile.
fn acquisitions(json: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct Profile {
        threads: Vec<Thread>,
    }
    #[derive(Deserialize)]
    struct Thread {
        usage: Usage,
    }
    #[derive(Deserialize)]
    struct Usage {
        acquisitions: u64,
    }
    let profile: Profile = serde_json::from_slice(&std::fs::read(json).ok()?).ok()?;
    Some(profile.threads.iter().map(|thread| thread.usage.acquisitions).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_hears_signals_though_its_caller_does_not() {
        let words = with_signals();
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT; exec \"$@\"", "sh"]).arg(words.get_program()).args(words.get_args());
        let out = command.args(["sh", "-c", "kill -INT $$; echo deaf"]).output().expect("sh runs");
        assert_eq!((out.status.signal(), out.stdout.as_slice()), (Some(Signal::INT.as_raw()), &b""[..]), "{out:?}");
    }
}
