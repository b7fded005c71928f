//! The budget of lines: `sizes.toml` states how many each crate may have.

use super::Report;
use super::tree::Tree;
use regex::Regex;
use std::collections::BTreeMap;

const BUDGET: &str = "sizes.toml";
/// Folders whose folders are counted one by one.
const ROOMS: [&str; 4] = ["crates", "lab", "proof", "docs"];
/// A module of tests.
const TESTS: &str =
    r"(?m)^#\[cfg\((?:all\()?test\b.*\]\n(?:(?:#\[|//).*\n)*(?:pub(?:\([a-z]+\))? )?mod \w+ \{\n(?:.*\n)*?\}\n";

pub(super) fn size_budget(tree: &Tree, report: &mut Report<'_>) {
    let Some(budget) = tree.get(BUDGET) else { return report.add(BUDGET, 1, "it is missing") };
    let allowed: BTreeMap<String, usize> = match toml::from_str(&budget.text) {
        Ok(allowed) => allowed,
        Err(error) => return report.add(BUDGET, 1, format!("it is not `\"CRATE\" = LINES`: {}", error.message())),
    };
    let sums = sums(tree);
    for (name, lines) in &sums {
        let line = budget.lines().find(|(_, text)| text.contains(&format!("\"{name}\""))).map_or(1, |(line, _)| line);
        match allowed.get(name) {
            None => report.add(BUDGET, 1, format!("{name} has {lines} lines and no budget")),
            Some(most) if lines > most => report.add(BUDGET, line, format!("{name} has {lines} lines, not {most}")),
            Some(_) => {}
        }
    }
    for name in allowed.keys().filter(|name| !sums.contains_key(*name)) {
        report.add(BUDGET, 1, format!("there is no {name}"));
    }
}

/// Lines by crate.
fn sums(tree: &Tree) -> BTreeMap<String, usize> {
    let (mut sums, tests) = (BTreeMap::new(), Regex::new(TESTS).expect("it is constant"));
    for file in tree.files.iter().filter(|file| file.is(&["rs"])) {
        let parts: Vec<&str> = file.path.split('/').collect();
        let [folders @ .., name] = parts.as_slice() else { continue };
        if *name == "tests.rs" || folders.iter().any(|folder| ["tests", "examples", "benches"].contains(folder)) {
            continue;
        }
        let depth = if folders.len() > 1 && ROOMS.contains(&folders[0]) { 2 } else { 1 };
        let lines = tests.replace_all(&file.text, "").lines().count();
        *sums.entry(parts[..depth].join("/")).or_default() += lines;
    }
    sums
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::lines;

    const SOURCE: &str =
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    mod inner {\n    }\n}\n\n#[cfg(test)]\nfn b() {}\n";

    #[test]
    fn tests_are_not_counted_and_a_crate_stays_within_its_budget() {
        let found = |budget: &str| {
            let files = [("sizes.toml", budget), ("crates/a/src/lib.rs", SOURCE), ("crates/a/tests/a.rs", SOURCE)];
            lines("size-budget", &files)
        };
        assert!(found("\"crates/a\" = 5\n").is_empty());
        assert_eq!(found("# lines\n\"crates/a\" = 4\n"), [2]);
        assert_eq!(found("\"crates/a\" = 5\nxtask = 1\n"), [1], "there is no xtask");
        assert_eq!(found(""), [1]);
        assert_eq!(found("lines"), [1]);
    }
}
