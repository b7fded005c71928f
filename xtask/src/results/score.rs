//! The README's line about the reproduction: made of the raw report, like its page.

use crate::command::json;
use crate::root::{read, write};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// The marks around the line.
const BEGIN: &str = "<!-- score: `cargo xtask results reproduction` writes this line -->\n";
const END: &str = "<!-- end of the score -->\n";

/// Writes the report's score into the README. Reports from before it existed leave the README as it is.
pub(super) fn tell(report: &Value, readme: &Path) -> Result<()> {
    let Some(line) = line(&report["score"]) else { return Ok(()) };
    let text = read(readme)?;
    let reported =
        reported(&text, &line).with_context(|| format!("{} has no place for the score", readme.display()))?;
    write(readme, reported)
}

/// Returns the README with the score of the newest report in `runs`; `None`: it has no place for one, or there is none.
pub(crate) fn newest(readme: &str, runs: &Path) -> Result<Option<String>> {
    let folders = super::record::newest_of_each(runs, "reproduction.json", None)?;
    let Some(folder) = folders.first() else { return Ok(None) };
    let report: Value = json(folder.join("reproduction.json"), "`turnwise-lab reproduce`")?;
    Ok(line(&report["score"]).and_then(|line| reported(readme, &line)))
}

/// Returns the score in words.
pub(super) fn line(score: &Value) -> Option<String> {
    let count = |name: &str| score[name].as_u64();
    let (held, near, claims) = (count("claims_held")?, count("claims_in_direction")?, count("claims")?);
    let (rows, judged) = (count("rows_met")?, count("rows_judged")?);
    Some(format!(
        "**{held} of {claims} claims hold, {near} more in direction; {rows} of {judged} judged rows lie within their\n\
         bounds.**\n"
    ))
}

fn reported(readme: &str, line: &str) -> Option<String> {
    between(readme, BEGIN, END, line)
}

/// Returns a page with a text between two marks; `None` if it has no such place.
pub(crate) fn between(page: &str, begin: &str, end: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, behind) = rest.split_once(end)?;
    Some(format!("{before}{begin}{text}{end}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_readme_tells_the_score_of_the_report() {
        let counts = json!({"claims_held": 10, "claims_in_direction": 3, "claims": 16, "rows_met": 95,
            "rows_judged": 125});
        let line = line(&counts).expect("a score");
        assert!(line.starts_with("**10 of 16 claims hold, 3 more in direction; 95 of 125 judged rows"), "{line}");
        assert!(line.lines().all(|line| line.chars().count() <= 100), "{line}");
        let readme = format!("above\n{BEGIN}old\n{END}below\n");
        assert_eq!(reported(&readme, &line), Some(format!("above\n{BEGIN}{line}{END}below\n")));
        assert_eq!((reported("above\n", &line), super::line(&Value::Null)), (None, None));
    }

    #[test]
    fn the_readme_of_this_repository_has_a_place_for_it() {
        let readme = std::fs::read_to_string("../README.md").expect("it is there");
        assert!(reported(&readme, "x\n").is_some());
    }
}
