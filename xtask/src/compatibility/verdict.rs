//! Whether a program gives the same answers under our commands as alone.

use super::case::Case;
use super::way::{self, PATH, Ran, Way};
use crate::command::{cmd, in_memory, last_lines, need_all, skipped, text_of};
use anyhow::{Context, Result};
use serde::Serialize;
use std::ffi::OsStr;
use std::path::Path;

/// How often a run that differs is made in all, each with one alone alongside: some programs fail by themselves.
const TRIES: u32 = 3;

/// The outcome of a case.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Under each command.
    Compared { alone_s: f64, under: Vec<Under>, versions: String },
    /// Why it could not run here.
    Skipped(String),
    /// What is wrong with the case itself.
    Failed(String),
}

/// One command of ours.
#[derive(Serialize)]
pub(crate) struct Under {
    pub(crate) way: Way,
    /// Time against that alone.
    pub(crate) ratio: f64,
    pub(crate) acquisitions: Option<u64>,
    pub(crate) difference: Option<Difference>,
}

/// An answer that differs from that of the program alone.
#[derive(Serialize)]
pub(crate) struct Difference {
    pub(crate) what: String,
    /// Runs under the command that differed, of [`TRIES`].
    pub(crate) differed: u32,
    /// Runs alone alongside them that differed, too.
    pub(crate) alone: u32,
}

impl Outcome {
    /// Returns whether nothing counts against our locks.
    pub(crate) fn is_fine(&self) -> bool {
        match self {
            Outcome::Compared { under, .. } => under.iter().all(|under| under.difference.is_none()),
            Outcome::Skipped(_) => true,
            Outcome::Failed(_) => false,
        }
    }

    /// Returns it in a line.
    pub(crate) fn line(&self) -> String {
        match self {
            Outcome::Skipped(why) => format!("SKIPPED: {why}"),
            Outcome::Failed(why) => format!("FAILED: {why}"),
            Outcome::Compared { alone_s, under, .. } => {
                let under: Vec<_> = under.iter().map(Under::line).collect();
                format!("{alone_s:6.2} s alone; {}", under.join("; "))
            }
        }
    }
}

impl Under {
    fn line(&self) -> String {
        let Under { way, ratio, acquisitions, difference } = self;
        let recorded = acquisitions.map_or_else(String::new, |number| format!(", {number} acquisitions"));
        match difference {
            None => format!("{} {ratio:.2}{recorded}", way.name()),
            Some(Difference { what, differed, alone }) => {
                format!("{} DIFFERS in {differed} of {TRIES}, alone in {alone} of {TRIES}: {what}", way.name())
            }
        }
    }
}

/// Runs a case alone and under each way.
pub(super) fn of(case: &Case, here: &Path, turnwise: &Path, ways: &[Way]) -> Outcome {
    match skipped(compared(case, here, turnwise, ways)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(missing)) => Outcome::Skipped(missing),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn compared(case: &Case, here: &Path, turnwise: &Path, ways: &[Way]) -> Result<Outcome> {
    need_all(&case.needs, OsStr::new(PATH), &case.packages)?;
    let folder = in_memory("turnwise-compatibility-")?;
    way::set_up(case, here, folder.path())?;
    let run = |way| way::run(way, case, here, folder.path(), turnwise);
    let mut alone = run(Way::Alone)?;
    for _ in 1..TRIES {
        if wrong_alone(case, &alone).is_none() {
            break;
        }
        alone = run(Way::Alone)?; // tests that read the clock fail occasionally on a busy machine
    }
    if let Some(wrong) = wrong_alone(case, &alone) {
        return Ok(Outcome::Failed(format!("alone: {wrong}")));
    }
    let mut under = Vec::new();
    for &way in ways {
        let ran = run(way).with_context(|| format!("under {}", way.name()))?;
        let mut difference = difference(case, &alone, &ran).map(|what| Difference { what, differed: 1, alone: 0 });
        if let Some(found) = &mut difference {
            for _ in 1..TRIES {
                found.differed += u32::from(self::difference(case, &alone, &run(way)?).is_some());
            }
            for _ in 0..TRIES {
                found.alone += u32::from(self::difference(case, &alone, &run(Way::Alone)?).is_some());
            }
        }
        let ratio = ran.time.as_secs_f64() / alone.time.as_secs_f64();
        under.push(Under { way, ratio, acquisitions: ran.acquisitions, difference });
    }
    Ok(Outcome::Compared { alone_s: alone.time.as_secs_f64(), under, versions: versions(case) })
}

/// Returns the versions of the case's packages, as dpkg knows them.
fn versions(case: &Case) -> String {
    let query = cmd("dpkg-query -W").arg("-f=${Package} ${Version}\n").args(&case.packages).output();
    let text = query.map(|output| text_of(&output.stdout)).unwrap_or_default();
    text.lines().filter(|line| line.contains(' ')).map(str::trim).collect::<Vec<_>>().join(", ")
}

/// Returns why a case proves nothing: the program fails even alone.
fn wrong_alone(case: &Case, alone: &Ran) -> Option<String> {
    match &case.answer {
        _ if !alone.status.is_some_and(|status| status.success()) => {
            Some(format!("{}; it said: {} / {}", alone.ending(), last_lines(&alone.answer), last_lines(&alone.said)))
        }
        Some(known) if known.trim() != alone.answer.trim() => {
            Some(format!("it answers `{}` and not `{}`", last_lines(&alone.answer), last_lines(known)))
        }
        None if alone.answer.is_empty() => Some("it answers nothing".to_owned()),
        _ => None,
    }
}

/// Returns what differs from the run without our locks.
fn difference(case: &Case, alone: &Ran, ran: &Ran) -> Option<String> {
    if !ran.ends_like(alone) {
        let said = last_lines(&format!("{}\n{}\n{}", ran.answer, ran.said, ran.tool));
        return Some(format!("{} instead of {}: {said}", ran.ending(), alone.ending()));
    }
    if ran.answer != alone.answer {
        let lines = || ran.answer.lines().zip(alone.answer.lines()).find(|(one, other)| one != other);
        let (one, other) = lines().unwrap_or(("another number of lines", "that"));
        return Some(format!("it answers `{one}` instead of `{other}`"));
    }
    if case.noisy {
        return None;
    }
    let before = alone.complaints();
    ran.complaints().into_iter().find(|line| !before.contains(line)).map(|line| format!("on standard error: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    fn ran(code: Option<i32>, answer: &str, said: &str) -> Ran {
        let status = code.map(|code| ExitStatus::from_raw(code << 8));
        let [answer, said] = [answer, said].map(str::to_owned);
        Ran { status, answer, said, tool: String::new(), time: Duration::from_secs(1), acquisitions: None }
    }

    fn case(known: Option<&str>, noisy: bool) -> Case {
        let [name, setup, script] = ["", "", ""].map(str::to_owned);
        let answer = known.map(str::to_owned);
        Case { name, needs: vec![], packages: vec![], setup, script, answer, quick: false, noisy }
    }

    #[test]
    fn every_difference_is_seen() {
        let (case, alone) = (case(None, false), ran(Some(0), "42", "took 12 ms"));
        assert_eq!(difference(&case, &alone, &ran(Some(0), "42", "took 7 ms")), None);
        let of = |other| difference(&case, &alone, &other).unwrap();
        assert!(of(ran(Some(1), "42", "")).starts_with("exit status 1 instead of exit status 0"));
        assert!(of(ran(None, "42", "")).starts_with("no end within"));
        assert!(of(ran(Some(0), "43", "")).contains("`43` instead of `42`"));
        assert!(of(ran(Some(0), "42\n43", "")).contains("number of lines"));
        assert!(of(ran(Some(0), "42", "turnwise: out of slots")).contains("out of slots"));
        assert_eq!(difference(&self::case(None, true), &alone, &ran(Some(0), "42", "other words")), None);
    }

    #[test]
    fn a_case_that_fails_alone_proves_nothing() {
        assert!(wrong_alone(&case(None, false), &ran(Some(0), "", "")).is_some());
        assert!(wrong_alone(&case(None, false), &ran(Some(2), "42", "")).is_some());
        assert!(wrong_alone(&case(Some("41"), false), &ran(Some(0), "42", "")).is_some());
        assert!(wrong_alone(&case(Some("42\n"), false), &ran(Some(0), "42", "")).is_none());
    }
}
