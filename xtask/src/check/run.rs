//! Runs a step's commands, shows what they print, and counts the tests.

use super::{Cmd, Step};
use crate::test::Tests;
use anyhow::{Context, Result};
use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, Stdio};

/// Lines of a failed command that are shown again at the end.
const LAST_LINES: usize = 60;

/// How a step ended.
pub(crate) enum Outcome {
    Passed(Tests),
    Failed(Failure, Tests),
    /// Why it could not run.
    Skipped(String),
}

/// The command that failed.
pub(crate) struct Failure {
    line: &'static str,
    /// The end of its output.
    pub(crate) said: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed(tests) if tests.passed > 0 => write!(f, "ok, {} tests", tests.passed),
            Outcome::Passed(_) => write!(f, "ok"),
            Outcome::Failed(Failure { line, .. }, _) => write!(f, "FAILED: {line}"),
            Outcome::Skipped(why) => write!(f, "SKIPPED: {why}"),
        }
    }
}

/// The outcome of one command.
pub(crate) struct Finished {
    pub(crate) success: bool,
    tests: Tests,
    /// The end of its output.
    said: VecDeque<String>,
}

/// Runs a step up to the first command that fails.
pub(crate) fn step(step: &Step) -> Result<Outcome> {
    for need in step.needs {
        if let Err(why) = need.provide() {
            println!("SKIPPED: {why}");
            return Ok(Outcome::Skipped(why));
        }
    }
    let mut tests = Tests::default();
    for together in step.commands.chunk_by(|_, next| next.beside) {
        let results = at_once(together)?;
        for done in &results {
            tests.passed += done.tests.passed;
            tests.failed += done.tests.failed;
        }
        if let Some((cmd, done)) = together.iter().zip(results).find(|(_, done)| !done.success) {
            return Ok(Outcome::Failed(Failure { line: cmd.line, said: done.said.into() }, tests));
        }
    }
    Ok(Outcome::Passed(tests))
}

/// Runs commands at the same time, without a terminal for at most their minutes each. The output of those behind the
/// first one follows when it has ended.
fn at_once(commands: &[Cmd]) -> Result<Vec<Finished>> {
    let limit = |cmd: &Cmd| (!std::io::stdin().is_terminal()).then_some(cmd.minutes);
    let Some((first, others)) = commands.split_first() else { return Ok(vec![]) };
    std::thread::scope(|threads| {
        let run = |cmd| {
            threads.spawn(move || {
                let mut printed = Vec::new();
                let done = follow(cmd, &[], &[], limit(cmd), &mut printed);
                (done, printed)
            })
        };
        let others: Vec<_> = others.iter().map(run).collect();
        let mut results = vec![command(first, &[], &[], limit(first))?];
        for other in others {
            let (done, printed) = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            std::io::stdout().write_all(&printed)?;
            results.push(done?);
        }
        Ok(results)
    })
}

/// Runs one command with `args` added, for at most `minutes`.
pub(crate) fn command(cmd: &Cmd, env: &[(&str, &str)], args: &[String], minutes: Option<u64>) -> Result<Finished> {
    follow(cmd, env, args, minutes, &mut std::io::stdout())
}

/// Runs one command like [`command`], and writes its output, errors included, to `to`.
fn follow(
    cmd: &Cmd,
    env: &[(&str, &str)],
    args: &[String],
    minutes: Option<u64>,
    to: &mut impl Write,
) -> Result<Finished> {
    let env: Vec<_> = cmd.env.iter().copied().chain(env.iter().copied()).collect();
    let mut words: Vec<String> = cmd.line.split_whitespace().map(str::to_string).collect();
    words.extend_from_slice(args);
    let shown: Vec<_> = env.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    writeln!(to, "+ {}{}", shown.concat(), words.join(" "))?;
    if let Some(minutes) = minutes {
        // coreutils' timeout, which stops the tests that cargo started too.
        words.splice(0..0, ["timeout".into(), "--kill-after=10".into(), format!("{minutes}m")]);
    }
    let (out, input) = std::io::pipe().context("cannot make a pipe")?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(env).stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", words[0]))?;
    drop(command); // with its ends of the pipe
    let (mut tests, mut said) = (Tests::default(), VecDeque::with_capacity(LAST_LINES));
    for line in BufReader::new(out).split(b'\n') {
        let line = line.context("cannot read what the command prints")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        writeln!(to, "{line}")?;
        tests.count(&line);
        if said.len() == LAST_LINES {
            said.pop_front();
        }
        said.push_back(line);
    }
    let status = child.wait().context("cannot wait for the command")?;
    if status.code() == Some(124) {
        writeln!(to, "stopped after {} minutes", minutes.unwrap_or(0))?;
    }
    Ok(Finished { success: status.success(), tests, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_of_both_outputs() {
        let cmd = Cmd { env: &[], line: "seq 1 100", beside: false, minutes: 1 };
        let done = follow(&cmd, &[], &[], Some(1), &mut std::io::sink()).unwrap();
        assert!(done.success);
        assert_eq!(done.said.len(), LAST_LINES);
        assert_eq!(done.said.back().unwrap(), "100");
        let cmd = Cmd { line: "ls no-such-file", ..cmd };
        let done = follow(&cmd, &[], &[], Some(1), &mut std::io::sink()).unwrap();
        assert!(!done.success);
        assert!(done.said.back().unwrap().contains("no-such-file"), "{:?}", done.said);
    }
}
