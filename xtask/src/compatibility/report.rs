//! The page of the field test.

use super::crates::Tested;
use super::verdict::is_fine;
use crate::command::made_here;
use crate::results::template::render;
use crate::root::write as put_file;
use anyhow::Result;
use serde_json::{Value, json};

/// The page.
pub(super) const PAGE: &str = "docs/results/compatibility.md";

/// The titles of its halves.
const PROGRAMS: &str = "## Programs";
const CRATES: &str = "## Rust crates";

/// Summarises all cases in a sentence.
pub(super) fn summary(cases: &[Value]) -> String {
    let count = |fits: fn(&Value) -> bool| cases.iter().filter(|case| fits(&case["outcome"])).count();
    let (skipped, wrong) = (count(|outcome| outcome.get("skipped").is_some()), count(|outcome| !is_fine(outcome)));
    format!("{} cases ran, {wrong} of them not as they should; {skipped} were skipped.", cases.len() - skipped)
}

/// Writes the half of the page that is about programs.
pub(super) fn write(cases: &[Value]) -> Result<()> {
    let made = made_here("cargo xtask compatibility --write");
    put(json!({ "made": made, "summary": summary(cases), "cases": cases }), PROGRAMS)
}

/// Writes the half of the page that is about crates.
pub(super) fn write_crates(tested: &[Tested]) -> Result<()> {
    put(json!({ "made": made_here("cargo xtask compatibility --crates --write"), "crates": tested }), CRATES)
}

/// Puts a half into the page, behind its title; the other stays.
fn put(values: Value, title: &str) -> Result<()> {
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    put_file(PAGE, with_half(&page, &half(values)?, title))
}

fn half(values: Value) -> Result<String> {
    Ok(render(PAGE, include_str!("page.jinja"), values)?.trim_end().to_owned())
}

fn with_half(page: &str, half: &str, title: &str) -> String {
    let kept = |title: &str| {
        let (_, rest) = page.split_once(&format!("\n{title}\n"))?;
        Some(rest.split("\n## ").next().unwrap_or_default().trim().to_owned())
    };
    let halves = [PROGRAMS, CRATES].map(|one| (one, if one == title { Some(half.to_owned()) } else { kept(one) }));
    let halves = halves.into_iter().filter_map(|(title, half)| Some(format!("{title}\n\n{}\n", half?)));
    format!("# Compatibility\n\n{}", halves.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_half_of_the_page_leaves_the_other() {
        let both = with_half(&with_half("", "| a |", PROGRAMS), "| b |", CRATES);
        assert_eq!(both, "# Compatibility\n\n## Programs\n\n| a |\n\n## Rust crates\n\n| b |\n");
        assert_eq!(with_half(&both, "| b |", CRATES), both);
        assert!(with_half(&both, "| c |", PROGRAMS).contains("| c |\n\n## Rust crates\n\n| b |"));
    }

    #[test]
    fn a_row_says_how_it_went_and_a_cell_stays_one() {
        let case = |name: &str, outcome: Value| json!({ "name": name, "packages": ["p", "q"], "outcome": outcome });
        let under =
            |way: &str, found: Value| json!({ "way": way, "ratio": 1.5, "acquisitions": 7, "difference": found });
        let ran = |under: Value| json!({ "compared": { "alone_s": 0.5, "versions": "p 1", "under": under } });
        let differs = under("profile", json!({ "what": "a|b\nc", "differed": 1, "alone": 0 }));
        let cases = [
            case("one", ran(json!([under("run", Value::Null)]))),
            case("two", ran(json!([under("run", Value::Null), differs]))),
            case("gone", json!({ "skipped": "no x" })),
        ];
        let page = half(json!({ "made": "m", "summary": "s", "cases": cases })).unwrap();
        let rows = "| one | p 1 | 0.50 | 1.50 |  | 7 | same |\n\
                    | two | p 1 | 0.50 | 1.50 | 1.50 | 7 | profile DIFFERS: a\\|b c |\n\
                    | gone | p, q | | | | | SKIPPED: no x |";
        assert!(page.ends_with(rows), "{page}");
        let skip = json!([{ "test": "t", "reason": "r" }, { "test": "u", "reason": "v" }]);
        let crates = json!([{ "name": "c", "version": "1", "skip": skip, "result": { "Ok": 3 } },
            { "name": "d", "version": "2", "skip": [], "result": { "Err": "it\ndied" } }]);
        let page = half(json!({ "made": "m", "crates": crates })).unwrap();
        assert!(page.ends_with("| c 1 | 3 pass | `t`: r; `u`: v |\n| d 2 | FAILED: it died |  |"), "{page}");
    }
}
