//! Runs a step's commands, shows what they print, and counts the tests.

use super::{Step, need};
use crate::command::{SKIPPED, lines, of_words, skipped};
use crate::test::Tests;
use anyhow::{Context, Result};
use std::collections::VecDeque;
use std::fmt;
use std::io::{IsTerminal, Write};

/// Lines of a failed command that are shown again at the end.
const LAST_LINES: usize = 60;

/// How a step ended.
pub(crate) enum Outcome {
    Passed(Tests),
    /// The command that failed, and the end of its output.
    Failed(String, Vec<String>, Tests),
    /// Why it could not run.
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed(tests) if tests.passed > 0 => write!(f, "ok, {} tests", tests.passed),
            Outcome::Passed(_) => write!(f, "ok"),
            Outcome::Failed(line, ..) => write!(f, "FAILED: {line}"),
            Outcome::Skipped(why) => write!(f, "SKIPPED: {why}"),
        }
    }
}

/// The outcome of one command.
pub(crate) struct Finished {
    pub(crate) success: bool,
    is_skipped: bool,
    tests: Tests,
    /// The end of its output.
    said: VecDeque<String>,
}

/// Runs a step up to the first command that fails.
pub(crate) fn step(step: &Step) -> Result<Outcome> {
    if let Err(why) = skipped(step.needs.iter().try_for_each(|needed| need::provide(needed)))? {
        println!("SKIPPED: {why}");
        return Ok(Outcome::Skipped(why));
    }
    let mut tests = Tests::default();
    for together in step.run.chunks(if step.at_once { step.run.len() } else { 1 }) {
        let results = at_once(together, step.minutes.unwrap_or(20))?;
        for done in &results {
            tests.passed += done.tests.passed;
            tests.failed += done.tests.failed;
        }
        if let Some((line, mut done)) = together.iter().zip(results).find(|(_, done)| !done.success) {
            if done.is_skipped {
                return Ok(Outcome::Skipped(done.said.pop_back().unwrap_or_default()));
            }
            return Ok(Outcome::Failed(line.clone(), done.said.into(), tests));
        }
    }
    Ok(Outcome::Passed(tests))
}

/// Runs commands at the same time, without a terminal for at most these minutes each. The output of those behind the
/// first one follows when it has ended.
fn at_once(all: &[String], minutes: u64) -> Result<Vec<Finished>> {
    let limit = (!std::io::stdin().is_terminal()).then_some(minutes);
    let Some((first, others)) = all.split_first() else { return Ok(vec![]) };
    std::thread::scope(|threads| {
        let run = |line| {
            let mut printed = Vec::new();
            (follow(line, &[], limit, &mut printed), printed)
        };
        let others: Vec<_> = others.iter().map(|line| threads.spawn(move || run(line))).collect();
        let mut results = vec![follow(first, &[], limit, &mut std::io::stdout())?];
        for other in others {
            let (done, printed) = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            std::io::stdout().write_all(&printed)?;
            results.push(done?);
        }
        Ok(results)
    })
}

/// Runs one command with `args` added, for at most `minutes`, and writes its output, errors included, to `to`.
pub(crate) fn follow(line: &str, args: &[String], minutes: Option<u64>, to: &mut impl Write) -> Result<Finished> {
    writeln!(to, "+ {line} {}", args.join(" "))?;
    let words = shlex::split(line).with_context(|| format!("a quote is not closed in {line}"))?;
    // coreutils' timeout, which stops the tests that cargo started too; and env, for the variables.
    let limit = minutes.map(|minutes| ["timeout".to_owned(), "--kill-after=10".to_owned(), format!("{minutes}m")]);
    let mut command = of_words(limit.into_iter().flatten().chain(["env".to_owned()]).chain(words));
    let (mut tests, mut said) = (Tests::default(), VecDeque::with_capacity(LAST_LINES));
    let status = lines(command.args(args).env("PATH", need::path()?), |line| {
        writeln!(to, "{line}")?;
        tests.count(&line);
        if said.len() == LAST_LINES {
            said.pop_front();
        }
        said.push_back(line);
        Ok(())
    })?;
    if status.code() == Some(124) {
        writeln!(to, "stopped after {} minutes", minutes.unwrap_or(0))?;
    }
    Ok(Finished { success: status.success(), is_skipped: status.code() == Some(SKIPPED.into()), tests, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_of_both_outputs() {
        let done = follow("seq 1 100", &[], Some(1), &mut std::io::sink()).unwrap();
        assert!(done.success);
        assert_eq!(done.said.len(), LAST_LINES);
        assert_eq!(done.said.back().unwrap(), "100");
        let done = follow("ls no-such-file", &[], Some(1), &mut std::io::sink()).unwrap();
        assert!(!done.success);
        assert!(done.said.back().unwrap().contains("no-such-file"), "{:?}", done.said);
        let done = follow("sh -c 'echo no network; exit 77'", &[], None, &mut std::io::sink()).unwrap();
        assert!(done.is_skipped && done.said == ["no network"], "{:?}", done.said);
    }
}
