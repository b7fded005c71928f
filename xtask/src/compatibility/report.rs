//! The pages of the field test.

use super::verdict::is_fine;
use crate::command::made_here;
use crate::results::template::render;
use crate::root::write as put_file;
use anyhow::Result;
use serde_json::Value;

/// Summarises all cases in a sentence.
pub(super) fn summary(cases: &[Value]) -> String {
    let count = |fits: fn(&Value) -> bool| cases.iter().filter(|case| fits(&case["outcome"])).count();
    let (skipped, wrong) = (count(|outcome| outcome.get("skipped").is_some()), count(|outcome| !is_fine(outcome)));
    format!("{} cases ran, {wrong} of them not as they should; {skipped} were skipped.", cases.len() - skipped)
}

/// Writes a page, by the command with these flags.
pub(super) fn write(name: &str, flags: &str, mut values: Value) -> Result<()> {
    values["made"] = made_here(&format!("cargo xtask compatibility {flags}--write")).into();
    put_file(format!("docs/results/{name}.md"), page(values)?)
}

fn page(values: Value) -> Result<String> {
    render("the page", include_str!("page.jinja"), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        let page = super::page(json!({ "made": "m", "summary": "s", "cases": cases })).unwrap();
        let rows = "| one | p 1 | 0.50 | 1.50 |  | 7 | same |\n\
                    | two | p 1 | 0.50 | 1.50 | 1.50 | 7 | profile DIFFERS: a\\|b c |\n\
                    | gone | p, q | | | | | SKIPPED: no x |\n";
        assert!(page.ends_with(rows), "{page}");
        let skip = json!([{ "test": "t", "reason": "r" }, { "test": "u", "reason": "v" }]);
        let crates = json!([{ "name": "c", "version": "1", "skip": skip, "result": { "Ok": 3 } },
            { "name": "d", "version": "2", "skip": [], "result": { "Err": "it\ndied" } }]);
        let page = super::page(json!({ "made": "m", "crates": crates })).unwrap();
        assert!(page.ends_with("| c 1 | 3 pass | `t`: r; `u`: v |\n| d 2 | FAILED: it died |  |\n"), "{page}");
    }
}
