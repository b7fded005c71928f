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

pub(crate) use docs::local;

/// Something that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    rule: String,
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
struct Rule {
    /// The name of its function.
    function: &'static str,
    what: &'static str,
    remedy: &'static str,
    check: fn(&Tree, &mut Report<'_>),
}

impl Rule {
    fn name(&self) -> String {
        self.function.replace('_', "-")
    }
}

/// Declares the rules, each by the function that finds what breaks it: what it wants, and what to do.
macro_rules! rules {
    ($($room:ident::$function:ident: $what:literal, $remedy:literal;)*) => {
        /// All rules, in the order in which they are listed and run.
        const RULES: &[Rule] =
            &[$(Rule { function: stringify!($function), what: $what, remedy: $remedy, check: $room::$function }),*];
    };
}

rules! {
    text::file_length: "no file has more than 600 lines", "split it by what a reader seeks";
    text::line_length: "no line has more than 120 columns (tables and links excepted)", "break it";
    text::leftover_note: "no notes to oneself in the code", "do it, or open an issue and remove the note";
    text::whitespace: "no tabs in Rust, no blanks at the end of a line, one newline at the end of a file",
        "remove them (`cargo fmt` does it for Rust)";
    rust::rust_syntax: "every Rust file parses", "make it compile: the other rules did not check it";
    rust::function_length: "no function has more than 60 lines", "split off a step that has a name";
    rust::safety_comment: "every unsafe block, impl and extern block has a SAFETY comment",
        "write `// SAFETY:` above it and say why the contract holds";
    rust::comment_says: "no comment is only `The same`, `As above` or the like",
        "name the subject, and say what holds of it";
    rust::ignored_test: "no test is ignored", "let it run, or remove it";
    rust::atomic_types: "in lock code, atomic types only in platform/ and in const constructors",
        "use the words of `Platform`, which models and simulators can see";
    circles::circles: "no more than three files of a crate use one another in a circle",
        "move what they share to a file below them, or let one of them not know the others";
    ordering::ordering_comment: "every Acquire, Release, AcqRel and SeqCst in lock code has an ORDERING comment",
        "write `// ORDERING lock.name:` at most 4 lines above it and say what it pairs with";
    ordering::ordering_pair:
        "every ORDERING name stands at two places or more, names its partner, or is on both sides at once",
        "give both sides one name, or write `pairs with other.name` or pairs with ... in `function`";
    docs::dependency_listed: "every dependency has its line in docs/dependencies.md, and every line its dependency",
        "add `| name | what for | why this one |`, or remove the line";
    docs::design_page: "every lock has its page in docs/design, and the index links to every page",
        "write the page (CONTRIBUTING.md says what belongs there) and link it in docs/design/README.md";
    docs::page_words:
        "a design page has at most 900 words, one of results 1600, one of docs/lab 600; a row of docs/lab 40",
        "an experiment is a row of docs/lab/README.md, figures are in the JSON; link what the source says";
    docs::book_complete: "docs/SUMMARY.md lists every page below docs", "add the page to its part of docs/SUMMARY.md";
    docs::readme_figures:
        "the README's lines on programs and on the reproduction are those of the newest reports in bench/runs",
        "write them again: `cargo xtask programs --readme`, `cargo xtask results --from FOLDER reproduction`";
    docs::figures_written: "no measured figure stands in the README or the guide but in what a command wrote",
        "remove it, link the page of results, or have a command write it between `<!--` marks";
    docs::link_resolves: "links to local files resolve", "correct the link";
    promises::promise_proved:
        "each promise in docs/correctness.md has a proof and a command that reruns it, and both exist",
        "correct the name, or write the test";
    sizes::size_budget: "no crate has more lines of Rust outside tests than sizes.toml allows",
        "remove lines, or raise the number and name in the commit message what went for it";
    words::retired_words: "comments, pages and identifiers do without the words that were retired",
        "name the subject, and use the field's word";
}

/// Where a rule puts its findings.
pub(crate) struct Report<'a> {
    rule: &'a Rule,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn add(&mut self, file: &str, line: usize, message: impl Into<String>) {
        let (rule, remedy) = (self.rule.name(), self.rule.remedy);
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
        RULES.iter().for_each(|rule| println!("{:18} {}", rule.name(), rule.what));
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
    for rule in RULES {
        (rule.check)(tree, &mut Report { rule, findings: &mut findings });
    }
    findings.sort_by(|a, b| (&a.file, a.line, &a.rule).cmp(&(&b.file, b.line, &b.rule)));
    findings
}

/// Returns the findings of one rule in a tree made of these files: for the rules' tests.
#[cfg(test)]
pub(crate) fn lines(rule: &str, files: &[(&str, &str)]) -> Vec<usize> {
    assert!(RULES.iter().any(|r| r.name() == rule), "no rule is called {rule}");
    find(&Tree::of(files)).into_iter().filter(|f| f.rule == rule).map(|f| f.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unique() {
        let mut names: Vec<_> = RULES.iter().map(Rule::name).collect();
        assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
