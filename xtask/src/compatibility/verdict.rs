//! Whether a program gives the same answers under our commands as alone.

use super::case::Case;
use super::way::{self, PATH, Ran, Way};
use crate::command::{cmd, in_memory, last_lines, need_all, text_of, undone};
use crate::results::each;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;

/// How often a run that differs is made in all, each with one alone alongside: some programs fail by themselves.
const TRIES: u32 = 3;

/// Returns whether nothing in the outcome of a case counts against our locks.
pub(super) fn is_fine(outcome: &Value) -> bool {
    let under = each(&outcome["compared"]["under"]);
    outcome.get("failed").is_none() && under.iter().all(|under| under["difference"].is_null())
}

/// Returns an outcome in a line.
pub(super) fn line(outcome: &Value) -> String {
    let under = |under: &Value| {
        let recorded = under["acquisitions"].as_u64().map(|number| format!(", {number} acquisitions"));
        let (way, found) = (under["way"].as_str().unwrap_or_default(), &under["difference"]);
        match found["what"].as_str() {
            None => format!("{way} {:.2}{}", under["ratio"].as_f64().unwrap_or_default(), recorded.unwrap_or_default()),
            Some(what) => {
                let [differed, alone] = [&found["differed"], &found["alone"]];
                format!("{way} DIFFERS in {differed} of {TRIES}, alone in {alone} of {TRIES}: {what}")
            }
        }
    };
    undone(outcome).unwrap_or_else(|| {
        let compared = &outcome["compared"];
        let ways: Vec<_> = each(&compared["under"]).iter().map(under).collect();
        format!("{:6.2} s alone; {}", compared["alone_s"].as_f64().unwrap_or_default(), ways.join("; "))
    })
}

/// Runs a case alone and under each way.
pub(super) fn of(case: &Case, here: &Path, turnwise: &Path) -> Result<Value> {
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
        bail!("alone: {wrong}");
    }
    let mut under = Vec::new();
    for way in [Way::Run, Way::Profile] {
        let ran = run(way).with_context(|| format!("under {}", way.name()))?;
        // How many of the runs differ.
        let differ = |way, runs: u32| -> Result<usize> {
            let runs = (0..runs).map(|_| run(way)).collect::<Result<Vec<_>>>()?;
            Ok(runs.iter().filter(|ran| difference(case, &alone, ran).is_some()).count())
        };
        let difference = match difference(case, &alone, &ran) {
            Some(what) => {
                json!({ "what": what, "differed": 1 + differ(way, TRIES - 1)?, "alone": differ(Way::Alone, TRIES)? })
            }
            None => Value::Null,
        };
        under.push(json!({
            "way": way.name(),
            // Time against that alone.
            "ratio": ran.time.as_secs_f64() / alone.time.as_secs_f64(),
            "acquisitions": ran.acquisitions,
            "difference": difference,
        }));
    }
    Ok(json!({ "compared": { "alone_s": alone.time.as_secs_f64(), "under": under, "versions": versions(case) } }))
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
    if ran.status.is_none() || ran.status != alone.status {
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
