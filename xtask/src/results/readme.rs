//! The README's lines on the programs and on the reproduction: made of the newest report of each machine.

use super::record;
use super::subject::Subject;
use super::template::render;
use super::{README, RUNS};
use crate::root;
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// What stands in the README, and the line before it.
const BLOCKS: [(&str, &str); 3] = [
    ("programs", "<!-- programs: `cargo xtask programs --readme` writes these lines -->\n"),
    ("no gain", "<!-- no gain: `cargo xtask programs --readme` writes these lines -->\n"),
    ("score", "<!-- score: `cargo xtask results reproduction` writes this line -->\n"),
];
const END: &str = "<!-- end of ";

/// What the lines are made of.
#[derive(Serialize)]
struct Newest {
    block: &'static str,
    /// On programs.
    reports: Vec<Value>,
    reproduction: Value,
}

/// Returns the README with these lines as in the reports in `runs`; `None`: it has no place for them.
pub(crate) fn reported(readme: &str, runs: &Path) -> Result<Option<String>> {
    let reproduction = Subject::named("reproduction")?;
    let newest = record::newest_of_each(runs, "reproduction.json", None)?;
    let newest = newest.first().with_context(|| format!("{} has no report of the reproduction", runs.display()))?;
    with(readme, Newest { block: "", reports: record::programs(runs, None)?, reproduction: reproduction.read(newest)? })
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
        assert!(reported == readme, "write it again: cargo xtask programs --readme");
    }

    #[test]
    fn a_readme_without_a_place_is_refused() {
        let newest = Newest { block: "", reports: Vec::new(), reproduction: Value::Null };
        assert_eq!(with("# X\n", newest).unwrap(), None);
    }

    #[test]
    fn the_readme_tells_the_score_of_the_report() {
        let score = serde_json::json!({"claims_held": 10, "claims_in_direction": 3, "claims": 16, "rows_met": 95,
            "rows_judged": 125});
        let reproduction = serde_json::json!({ "score": score });
        let readme: String =
            BLOCKS.iter().map(|(_, begin)| format!("above\n{begin}before\n{END}it -->\nbelow\n")).collect();
        let reported = with(&readme, Newest { block: "", reports: Vec::new(), reproduction }).unwrap().unwrap();
        let line = reported.lines().skip_while(|line| !line.starts_with("<!-- score")).nth(1).unwrap();
        assert!(line.starts_with("**10 of 16 claims hold, 3 more in direction; 95 of 125 judged rows"), "{line}");
        assert!(reported.lines().all(|line| line.chars().count() <= 100), "{reported}");
        assert!(
            !reported.contains("before")
                && reported.matches("above").count() == 3
                && reported.ends_with("it -->\nbelow\n"),
            "{reported}"
        );
    }
}
