//! The README's lines on the programs and on the reproduction: made of the newest report of each machine.

use super::built;
use super::record::{self, Record, over};
use super::subject::Subject;
use super::template::render;
use super::{README, RUNS};
use crate::command::{Run, read_json};
use crate::root;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use turnwise_present::others::Watch;

/// The file of what the tool prints about its sample.
const FRONT: &str = "front.json";

/// What stands in the README, and the line before it.
const BLOCKS: [(&str, &str); 4] = [
    ("front", "<!-- front: `cargo xtask results --front` writes these lines -->\n"),
    ("programs", "<!-- programs: `cargo xtask programs` writes these lines -->\n"),
    ("no gain", "<!-- no gain: `cargo xtask programs` writes these lines -->\n"),
    ("score", "<!-- score: `cargo xtask results reproduction` writes this line -->\n"),
];
const END: &str = "<!-- end of ";

/// What the lines are made of.
#[derive(Serialize)]
struct Newest {
    block: &'static str,
    /// What the tool prints about its sample.
    front: Value,
    /// On programs.
    reports: Vec<Value>,
    reproduction: Value,
}

/// Returns the README with these lines as in the reports in `runs`; `None`: it has no place for them.
pub(crate) fn reported(readme: &str, runs: &Path) -> Result<Option<String>> {
    let newest = |file: &str| -> Result<PathBuf> {
        let newest = record::newest_of_each(runs, file, None)?.into_iter().next();
        newest.with_context(|| format!("{} has no {file}", runs.display()))
    };
    let reproduction = Subject::named("reproduction")?.read(&newest("reproduction.json")?)?;
    let front = read_json(newest(FRONT)?.join(FRONT), "the tool on its sample")?;
    with(readme, Newest { block: "", front, reports: record::programs(runs, None)?, reproduction })
}

/// Runs the tool on its sample, keeps the parts of what it prints, and writes them into the README.
pub(crate) fn run_front(record: &Record) -> Result<()> {
    let tool = built("turnwise-cli", "turnwise")?;
    let (watch, start) = (Watch::begin(), Instant::now());
    let commands = ["profile -- @sample -t 4", "compare"];
    let [profile, compare] = commands.map(|words| Command::new(&tool).args(words.split(' ')).text());
    let (profile, compare) = (profile?, compare?);
    let mut report = record.env.clone();
    report["format"] = "turnwise-front/1".into();
    let profile = [("@sample", "Blocked by"), ("LOCKS", ""), ("1. ", "")].map(|(from, to)| part(&profile, from, to));
    let compare = [("throughput", "wall_s"), ("Adaptive is", "")].map(|(from, to)| part(&compare, from, to));
    report["profile"] = profile.into_iter().collect::<Result<Vec<_>>>()?.join(&String::new()).into();
    report["compare"] = compare.into_iter().collect::<Result<Vec<_>>>()?.concat().into();
    record.keep("front", report, over("cargo xtask results --front".to_owned(), start, watch.as_ref()))?;
    write()
}

/// Returns the lines from one that begins with `from` up to one that begins with `to`, or to an empty one.
fn part(printed: &str, from: &str, to: &str) -> Result<Vec<String>> {
    let ends = |line: &&str| if to.is_empty() { !line.is_empty() } else { !line.starts_with(to) };
    let lines = printed.lines().skip_while(|line| !line.starts_with(from)).take_while(ends);
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    ensure!(!lines.is_empty(), "turnwise prints no line that begins with `{from}`:\n{printed}");
    Ok(lines)
}

fn with(readme: &str, mut newest: Newest) -> Result<Option<String>> {
    let mut text = readme.to_owned();
    for (block, begin) in BLOCKS {
        newest.block = block;
        let lines = render("the README", include_str!("templates/readme.md.jinja"), &newest)?;
        let Some((before, rest)) = text.split_once(begin) else { return Ok(None) };
        let Some(end) = rest.find(END) else { return Ok(None) };
        text = format!("{before}{begin}{lines}{}", &rest[end..]);
    }
    Ok(Some(text))
}

/// Writes them.
pub(crate) fn write() -> Result<()> {
    let (readme, text) = (Path::new(README), root::read(README)?);
    let reported = reported(&text, Path::new(RUNS))?;
    root::write(readme, reported.with_context(|| format!("{README} has no place for the figures"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_says_what_the_reports_on_record_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        let reported = reported(&readme, &root.join(RUNS)).unwrap().expect("it has a place for the figures");
        assert!(reported == readme, "write it again: cargo xtask results --from FOLDER programs");
    }

    #[test]
    fn a_readme_without_a_place_is_refused() {
        let newest = Newest { block: "", front: Value::Null, reports: Vec::new(), reproduction: Value::Null };
        assert_eq!(with("# X\n", newest).unwrap(), None);
    }

    #[test]
    fn the_readme_tells_the_score_of_the_report() {
        let score = serde_json::json!({"claims_held": 10, "claims_in_direction": 3, "claims": 16, "claims_open": 2});
        let reproduction = serde_json::json!({ "score": score });
        let readme: String =
            BLOCKS.iter().map(|(_, begin)| format!("above\n{begin}before\n{END}it -->\nbelow\n")).collect();
        let reported = with(&readme, Newest { block: "", front: Value::Null, reports: Vec::new(), reproduction })
            .unwrap()
            .unwrap();
        let line = reported.lines().skip_while(|line| !line.starts_with("<!-- score")).nth(1).unwrap();
        assert_eq!(line, "**10 of 16 claims hold, 3 more in direction, 2 open.**");
        assert!(reported.lines().all(|line| line.chars().count() <= 100), "{reported}");
        assert!(
            !reported.contains("before")
                && reported.matches("above").count() == BLOCKS.len()
                && reported.ends_with("it -->\nbelow\n"),
            "{reported}"
        );
    }
}
