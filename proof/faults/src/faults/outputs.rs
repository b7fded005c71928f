//! Disks that are full or may not be written to, pipes that are not read: what the tool and the libraries write.

use super::{Fault, Outcome, fault};
use crate::run::Tally;
use crate::session::Session;
use anyhow::{Context, Result};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "full-disk",
        "a file system without room for every file that the tools, a recording or a live view take",
        |session| on_disk(session, FULL),
    ),
    fault("read-only", "a file system that may not be written to, for the same files", |session| {
        on_disk(session, READ_ONLY)
    }),
    fault(
        "full-output",
        "standard output that takes nothing (/dev/full), for every subcommand that prints",
        |session| printing(session, "exec \"$@\" > /dev/full", |output| !output.status.success()),
    ),
    fault("closed-pipe", "standard output as a pipe without a reader, for the same subcommands", |session| {
        // Output behind a closed pipe is no loss: any status but a crash is fine.
        printing(session, "\"$@\" | true; exit ${PIPESTATUS[0]}", |_| true)
    }),
];

/// Makes `$DIR` a file system of its own: in a mount namespace, so that no other process sees it.
const FULL: &str =
    "mount -t tmpfs -o size=4k turnwise \"$DIR\" && head -c 4096 /dev/zero > \"$DIR/full\" && exec \"$@\"";
const READ_ONLY: &str = "mount -t tmpfs -o ro turnwise \"$DIR\" && exec \"$@\"";

/// What is written there.
enum Written {
    /// Output that the user requested: refused, with the file's name.
    Asked(&'static str),
    /// Output that the program does not depend on: it continues, with its own answer.
    Aside(&'static str, &'static str),
}

/// `DIR` is the file system at fault, `READY` a profile that was written before, `SHORT` a program, `LITTLE` a
/// benchmark and `SIMULATED` a simulation that end soon.
const CASES: &[Written] = &[
    Written::Asked("turnwise profile --json DIR/it -- SHORT"),
    Written::Asked("turnwise profile --recording DIR/it -- SHORT"),
    Written::Asked("turnwise profile --from READY --json DIR/it"),
    Written::Asked("turnwise profile --from READY --html DIR/it"),
    Written::Asked("turnwise profile --from READY --flame DIR/it"),
    Written::Asked("turnwise profile --from READY --pprof DIR/it"),
    Written::Asked("turnwise profile --from READY --perfetto DIR/it"),
    Written::Asked("turnwise profile --from READY --firefox DIR/it"),
    Written::Asked("turnwise compare --runs 2 --json DIR/it -- SHORT"),
    Written::Asked("turnwise man DIR/it"),
    Written::Asked("turnwise-lab bench LITTLE --json DIR/it"),
    Written::Asked("turnwise-lab bench LITTLE --markdown DIR/it"),
    Written::Asked("turnwise-lab bench LITTLE --html DIR/it"),
    Written::Asked("turnwise-lab sim SIMULATED --json DIR/it"),
    Written::Asked("turnwise-lab sim SIMULATED --html DIR/it"),
    Written::Asked("turnwise-lab sim SIMULATED --trace DIR/it"),
    Written::Asked("turnwise-lab calibrate --quick --output DIR/it"),
    Written::Asked("turnwise-lab man DIR/it"),
    Written::Aside("XDG_RUNTIME_DIR", "turnwise run -- SHORT"),
    Written::Aside("TMPDIR", "turnwise run -- SHORT"),
    Written::Aside("TMPDIR", "turnwise profile -- SHORT"),
    Written::Aside("TMPDIR", "turnwise compare --runs 2 -- SHORT"),
    Written::Aside("XDG_RUNTIME_DIR", "turnwise profile --waits -- SHORT"),
];

const PRINTING: &[&str] = &[
    "turnwise profile -- SHORT",
    "turnwise profile --from READY",
    "turnwise profile --from READY --json -",
    "turnwise profile --from READY --pprof -",
    "turnwise compare --runs 2 -- SHORT",
    "turnwise top --json",
    "turnwise why",
    "turnwise completions bash",
    "turnwise list",
    "turnwise --help",
    "turnwise --version",
    "turnwise-lab bench LITTLE",
    "turnwise-lab bench LITTLE --json -",
    "turnwise-lab bench --list",
    "turnwise-lab sim SIMULATED",
    "turnwise-lab sim SIMULATED --json -",
    "turnwise-lab sim --list",
    "turnwise-lab sim --describe",
    "turnwise-lab list",
    "turnwise-lab completions bash",
    "turnwise-lab --help",
];

/// Longer than any of them takes.
const PATIENCE: &str = "60";

fn on_disk(session: &mut Session, prelude: &str) -> Result<Outcome> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(Outcome::Skipped("only root can make a file system".into()));
    }
    let dir = session.path("dir").display().to_string();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {dir}"))?;
    let mut sum = Tally::default();
    for case in CASES {
        let (variable, words) = match case {
            Written::Asked(words) => ("UNUSED", words),
            Written::Aside(variable, words) => (*variable, words),
        };
        let mut command = Command::new("unshare");
        command.args(["-m", "bash", "-c", prelude, "bash"]).env("DIR", &dir).env(variable, &dir);
        let is_right = |output: &Output| {
            let said = String::from_utf8_lossy(&output.stderr);
            match case {
                Written::Asked(_) => output.status.code() == Some(2) && said.contains(&dir),
                Written::Aside(..) => output.status.success() || said.contains("answer 4000"),
            }
        };
        sum.add(attempt(session, command, words, is_right)?);
    }
    Ok(Outcome::Ran(sum))
}

fn printing(session: &mut Session, prelude: &str, is_right: fn(&Output) -> bool) -> Result<Outcome> {
    let mut sum = Tally::default();
    for words in PRINTING {
        let mut command = Command::new("bash");
        command.args(["-c", prelude, "bash"]);
        sum.add(attempt(session, command, words, is_right)?);
    }
    Ok(Outcome::Ran(sum))
}

/// What [`CASES`] call `LITTLE` and `SIMULATED`.
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
