//! Disks that are full or may not be written to, pipes that are not read: what the tool and the libraries write.

use super::{Fault, fault, need};
use crate::run::Tally;
use crate::session::Session;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub(super) const FAULTS: &[Fault] = &[
    fault("full-disk", |session| on_disk(session, FULL)),
    fault("read-only", |session| on_disk(session, READ_ONLY)),
    fault("full-output", |session| printing(session, "exec \"$@\" > /dev/full", |output| !output.status.success())),
    fault("closed-pipe", |session| {
        // Output behind a closed pipe is no loss: any status but a crash is fine.
        printing(session, "\"$@\" | true; exit ${PIPESTATUS[0]}", |_| true)
    }),
];

/// Makes `$DIR` a file system of its own: in a mount namespace, so that no other process sees it.
const FULL: &str =
    "mount -t tmpfs -o size=4k turnwise \"$DIR\" && head -c 4096 /dev/zero > \"$DIR/full\" && exec \"$@\"";
const READ_ONLY: &str = "mount -t tmpfs -o ro turnwise \"$DIR\" && exec \"$@\"";

/// What is written there.
#[derive(Deserialize)]
struct Outputs {
    /// Refused.
    asked: Vec<String>,
    /// Left out, whatever the variable leads to.
    aside: Vec<(String, String)>,
    printing: Vec<String>,
}

static OUTPUTS: LazyLock<Outputs> = LazyLock::new(|| {
    toml::from_str(include_str!("outputs.toml")).unwrap_or_else(|error| panic!("outputs.toml: {error}"))
});

/// Longer than any of them takes.
const PATIENCE: &str = "60";

fn on_disk(session: &mut Session, prelude: &str) -> Result<Tally> {
    need(nix::unistd::geteuid().is_root(), "only root can make a file system")?;
    let dir = session.path("dir").display().to_string();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {dir}"))?;
    let mut sum = Tally::default();
    let asked = OUTPUTS.asked.iter().map(|words| (None, words));
    let aside = OUTPUTS.aside.iter().map(|(variable, words)| (Some(variable), words));
    for (variable, words) in asked.chain(aside) {
        let mut command = Command::new("unshare");
        command
            .args(["-m", "bash", "-c", prelude, "bash"])
            .env("DIR", &dir)
            .envs(variable.map(|variable| (variable, &dir)));
        let is_right = |output: &Output| {
            let said = String::from_utf8_lossy(&output.stderr);
            match variable {
                None => output.status.code() == Some(2) && said.contains(&dir),
                Some(_) => output.status.success() || said.contains("answer 4000"),
            }
        };
        sum.add(attempt(session, command, words, is_right)?);
    }
    Ok(sum)
}

fn printing(session: &mut Session, prelude: &str, is_right: fn(&Output) -> bool) -> Result<Tally> {
    let mut sum = Tally::default();
    for words in &OUTPUTS.printing {
        let mut command = Command::new("bash");
        command.args(["-c", prelude, "bash"]);
        sum.add(attempt(session, command, words, is_right)?);
    }
    Ok(sum)
}

/// What `outputs.toml` calls `LITTLE` and `SIMULATED`.
const LITTLE: &str = "--samples 1 --sample-ms 2 --scenario uncontended --lock mutex,std";
const SIMULATED: &str = "--machine desktop-4 --lock mutex --cpus 2 --duration 100us --warm-up 10us";

/// Runs a tool with these words, below `command`.
fn attempt(session: &Session, mut command: Command, words: &str, is_right: impl Fn(&Output) -> bool) -> Result<Tally> {
    let (tool, arguments) = words.split_once(' ').context("a tool and its arguments")?;
    command.args(["timeout", "-k", "5", PATIENCE]).arg(session.tool(tool)?);
    let (dir, ready) = (session.path("dir").display().to_string(), session.ready()?.display().to_string());
    let short = session.path("short").display().to_string();
    let fill = |word: &str| word.replace("DIR", &dir).replace("READY", &ready).replace("SHORT", &short);
    let arguments = arguments.replace("LITTLE", LITTLE).replace("SIMULATED", SIMULATED);
    command.args(arguments.split_whitespace().map(fill)).stdin(Stdio::null());
    let begun = Instant::now();
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // `timeout -k` kills itself, too.
    let by_timeout = output.status.code() == Some(124) || output.status.signal() == Some(libc::SIGKILL);
    let hangs = u64::from(by_timeout);
    let crashes = output.status.code().is_none_or(|code| code >= 128 && code != 141) || said.contains("panicked");
    let wrong = hangs == 0 && (crashes || !is_right(&output));
    let trouble = (wrong || hangs > 0).then(|| format!("{words}: {}; it said: {}", output.status, said.trim()));
    let stall = if hangs > 0 { begun.elapsed() } else { Duration::ZERO };
    Ok(Tally { tries: 1, lost: wrong.into(), hangs, stall, trouble: trouble.into_iter().collect(), ..Tally::default() })
}
