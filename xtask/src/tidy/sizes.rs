//! The budget of lines: `sizes.toml` states how many each crate may have.

use super::tree::{File, Tree};
use super::{Report, Rule};
use std::collections::BTreeMap;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "size-budget",
    what: "no crate has more lines of Rust outside tests than sizes.toml allows",
    remedy: "remove lines, or raise the number and name in the commit message what went for it",
    check: size_budget,
}];

const BUDGET: &str = "sizes.toml";
/// Folders whose folders are counted one by one.
const ROOMS: [&str; 4] = ["crates", "lab", "proof", "docs"];

fn size_budget(tree: &Tree, report: &mut Report<'_>) {
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
    let mut sums = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.is(&["rs"])) {
        let parts: Vec<&str> = file.path.split('/').collect();
        let [folders @ .., name] = parts.as_slice() else { continue };
        if *name == "tests.rs" || folders.iter().any(|folder| ["tests", "examples", "benches"].contains(folder)) {
            continue;
        }
        let depth = if folders.len() > 1 && ROOMS.contains(&folders[0]) { 2 } else { 1 };
        *sums.entry(parts[..depth].join("/")).or_default() += counted(file);
    }
    sums
}

/// Returns the number of lines of a file without its modules under `#[cfg(test)]`.
fn counted(file: &File) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    let (mut counted, mut at) = (0, 0);
    while at < lines.len() {
        match end_of_tests(&lines[at..]) {
            Some(length) => at += length,
            None => (counted, at) = (counted + 1, at + 1),
        }
    }
    counted
}

/// Returns the length of a module of tests that begins with these lines; `None`: none does.
fn end_of_tests(lines: &[&str]) -> Option<usize> {
    let first = lines[0].trim_start();
    let is_test = ["#[cfg(test", "#[cfg(all(test"].iter().any(|begin| {
        first.strip_prefix(begin).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    });
    let is_between = |line: &&str| line.trim_start().starts_with("#[") || line.trim_start().starts_with("//");
    let head = 1 + lines[1..].iter().take_while(|line| is_between(line)).count();
    let module = lines.get(head).filter(|_| is_test)?;
    let words = module.trim_start();
    let words = words.strip_prefix("pub").map_or(words, |rest| rest.split_once(' ').map_or(rest, |(_, rest)| rest));
    if !(words.starts_with("mod ") && words.ends_with(" {")) {
        return None;
    }
    let indent = &module[..module.len() - module.trim_start().len()];
    let closes = |line: &&str| line.strip_prefix(indent) == Some("}");
    Some(lines[head..].iter().position(closes).map_or(lines.len(), |end| head + end + 1))
}

#[cfg(test)]
mod tests {
    use crate::tidy::lines;

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
