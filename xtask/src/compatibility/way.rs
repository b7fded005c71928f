//! One run of a case's script: alone, or under a command of ours; in a process group of its own, for a bounded time.

use super::case::Case;
use crate::command::{both, bounded, cmd, last_lines, outputs_to, text_of};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// No run takes longer; one that does is reported as hanging.
const LIMIT: Duration = Duration::from_secs(180);

/// Where Debian's programs are: before other programs of the same name in the caller's path.
pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/games";

/// What a script runs under.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing: the C library's locks.
    Alone,
    /// Our locks.
    Run,
    /// The C library's locks, recorded.
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
            Some(status) => status.to_string().replacen(": ", " ", 1),
        }
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
    let mut command = cmd(WITH_SIGNALS);
    let report = format!("--json={}", json.display());
    let (words, library): (&[&str], &str) = match way {
        Way::Alone => (&[], ""),
        Way::Run => (&["run", "--"], "libturnwise_preload"),
        Way::Profile => (&["profile", &report, "--"], "libturnwise_recorder"),
    };
    command.args((way != Way::Alone).then_some(turnwise)).args(words).args(["sh", "-eu"]).arg(&script);
    surroundings(&mut command, here, folder, &dir);
    command.env("TW_ANSWER", file("answer")).env("TW_SAID", file("said")).env("TW_LIBRARY", library);
    outputs_to(&mut command, File::create(&tool).context("cannot make a file")?)?;
    let start = Instant::now();
    let status = bounded(&mut command, LIMIT)?;
    let time = start.elapsed();
    let text = |name: &str| text_of(&std::fs::read(file(name)).unwrap_or_default()).trim_end().to_owned();
    let [answer, said, tool] = ["answer", "said", "tool"].map(text);
    Ok(Ran { status, answer, said, tool, time, acquisitions: acquisitions(&json) })
}

/// Runs the set-up of the case.
pub(super) fn set_up(case: &Case, here: &Path, folder: &Path) -> Result<()> {
    let mut command = cmd(WITH_SIGNALS);
    command.args(["sh", "-eu", "-c", &case.setup]).current_dir(folder);
    surroundings(&mut command, here, folder, folder);
    let (status, printed) = both(&mut command, Some(LIMIT)).context("its set-up failed")?;
    ensure!(status.success(), "its set-up failed: {}", last_lines(&printed));
    Ok(())
}

/// The beginning of a command, with the signals as at a terminal: a shell's background jobs, and what they start,
/// ignore these, and Python's tests of threads fail then.
const WITH_SIGNALS: &str = "env --default-signal=INT,QUIT";

/// Sets an environment that is the same everywhere.
fn surroundings(command: &mut Command, here: &Path, folder: &Path, dir: &Path) {
    command.env_clear().envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]).env("PATH", PATH);
    command.env("HOME", dir).env("DIR", dir).env("INPUT", folder).env("HERE", here);
}

/// Returns the acquisitions in a profile.
fn acquisitions(json: &Path) -> Option<u64> {
    let profile: Value = serde_json::from_slice(&std::fs::read(json).ok()?).ok()?;
    profile["threads"].as_array()?.iter().map(|thread| thread["usage"]["acquisitions"].as_u64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_script_hears_signals_though_its_caller_does_not() {
        let words = cmd(WITH_SIGNALS);
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT; exec \"$@\"", "sh"]).arg(words.get_program()).args(words.get_args());
        let out = command.args(["sh", "-c", "kill -INT $$; echo deaf"]).output().expect("sh runs");
        assert_eq!((out.status.signal(), out.stdout.as_slice()), (Some(Signal::INT.as_raw()), &b""[..]), "{out:?}");
    }
}
