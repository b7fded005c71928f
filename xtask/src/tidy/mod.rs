//! Style as a test. A rule has a name, one line that states what it wants, and a function that finds what breaks it; a
//! review names the rule. No exceptions are kept.

mod circles;
mod docs;
mod ordering;
mod promises;
mod rust;
mod sizes;
mod text;
mod tree;
mod words;

use anyhow::Result;
use std::fmt;
use tree::Tree;

/// Something that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    rule: &'static str,
    file: String,
    /// From 1.
    line: usize,
    message: String,
    /// What to do about it.
    remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}; {}", self.file, self.line, self.rule, self.message, self.remedy)
    }
}

/// One rule.
pub(crate) struct Rule {
    name: &'static str,
    what: &'static str,
    remedy: &'static str,
    check: fn(&Tree, &mut Report<'_>),
}

/// Where a rule puts its findings.
pub(crate) struct Report<'a> {
    rule: &'a Rule,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn add(&mut self, file: &str, line: usize, message: impl Into<String>) {
        let Rule { name, remedy, .. } = *self.rule;
        self.findings.push(Finding { rule: name, file: file.into(), line, message: message.into(), remedy });
    }
}

/// All rules, in the order in which they are listed and run.
const RULES: &[&[Rule]] = &[
    text::RULES,
    rust::RULES,
    circles::RULES,
    ordering::RULES,
    docs::RULES,
    promises::RULES,
    sizes::RULES,
    words::RULES,
];

fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().copied().flatten()
}

/// Prints the rules.
pub(crate) fn list() {
    for rule in rules() {
        println!("{:18} {}", rule.name, rule.what);
    }
}

/// Runs all rules on the working tree; `true` if none is broken.
pub(crate) fn run() -> Result<bool> {
    let tree = Tree::of_workspace()?;
    let findings = find(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} rules, {} files, {} findings", rules().count(), tree.files.len(), findings.len());
    Ok(findings.is_empty())
}

fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules() {
        (rule.check)(tree, &mut Report { rule, findings: &mut findings });
    }
    findings.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
    findings
}

/// Returns the findings of one rule in a tree made of these files: for the rules' tests.
#[cfg(test)]
pub(crate) fn lines(rule: &str, files: &[(&str, &str)]) -> Vec<usize> {
    assert!(rules().any(|r| r.name == rule), "no rule is called {rule}");
    find(&Tree::of(files)).into_iter().filter(|f| f.rule == rule).map(|f| f.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unique() {
        let mut names: Vec<_> = rules().map(|r| r.name).collect();
        assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
