//! Style as a test. A rule has a name, one line that states what it wants, and a pattern or a function that finds what
//! breaks it; a review names the rule. No exceptions are kept.

mod circles;
mod docs;
mod ordering;
mod promises;
mod sizes;
mod table;
mod tree;

use anyhow::Result;
use std::fmt;
use table::{RULES, Rule};
use tree::Tree;

pub(crate) use docs::local;

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

/// Finds what breaks a rule.
type Finds = fn(&Tree, &mut Report<'_>);

/// The functions of the rules that are not about text.
const FUNCTIONS: &[(&str, Finds)] = &[
    ("rust-syntax", tree::rust_syntax),
    ("circles", circles::circles),
    ("ordering-pair", ordering::ordering_pair),
    ("dependency-listed", docs::dependency_listed),
    ("design-page", docs::design_page),
    ("book-complete", docs::book_complete),
    ("readme-figures", docs::readme_figures),
    ("link-resolves", docs::link_resolves),
    ("promise-proved", promises::promise_proved),
    ("size-budget", sizes::size_budget),
];

/// Where a rule puts its findings.
pub(crate) struct Report<'a> {
    rule: &'static Rule,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn add(&mut self, file: &str, line: usize, message: impl Into<String>) {
        let (rule, remedy) = (self.rule.name.as_str(), self.rule.remedy.as_str());
        self.findings.push(Finding { rule, file: file.into(), line, message: message.into(), remedy });
    }
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the rules
    #[arg(long)]
    list: bool,
}

/// Runs all rules on the working tree, or lists them; `true` if none is broken.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.list {
        RULES.iter().for_each(|rule| println!("{:18} {}", rule.name, rule.what));
        return Ok(true);
    }
    let tree = Tree::of_workspace()?;
    let findings = find(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} rules, {} files, {} findings", RULES.len(), tree.files.len(), findings.len());
    Ok(findings.is_empty())
}

fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES.iter() {
        let report = &mut Report { rule, findings: &mut findings };
        rule.check_text(tree, report);
        FUNCTIONS.iter().filter(|(name, _)| *name == rule.name).for_each(|(_, check)| check(tree, report));
    }
    findings.sort_by(|a, b| (&a.file, a.line, &a.rule).cmp(&(&b.file, b.line, &b.rule)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the findings of one rule in a tree made of these files: for the rules' tests.
    pub(super) fn lines(rule: &str, files: &[(&str, &str)]) -> Vec<usize> {
        assert!(RULES.iter().any(|r| r.name == rule), "no rule is called {rule}");
        find(&Tree::of(files)).into_iter().filter(|f| f.rule == rule).map(|f| f.line).collect()
    }

    #[test]
    fn each_rule_finds_by_text_or_by_its_function_and_names_are_unique() {
        let mut names: Vec<_> = RULES.iter().map(|rule| &rule.name).collect();
        assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for rule in RULES.iter() {
            let functions = FUNCTIONS.iter().filter(|(name, _)| *name == rule.name).count();
            assert_eq!(functions, usize::from(rule.text.is_empty()), "{}", rule.name);
        }
        assert!(FUNCTIONS.iter().all(|(name, _)| names.iter().any(|n| n == name)));
    }
}
