//! The page that states how each promise is proved: what it names must exist.

use super::Report;
use crate::tidy::tree::{File, Tree};
use clap::Parser;
use regex::Regex;
use std::collections::BTreeSet;

const PAGE: &str = "docs/correctness.md";

pub(super) fn promise_proved(tree: &Tree, report: &mut Report<'_>) {
    let Some(page) = tree.get(PAGE) else { return };
    let proofs = proofs(tree);
    for (line, row) in rows(page) {
        let [promise, proof, rerun, limits] = row[..] else {
            report.add(PAGE, line, format!("{} cells instead of 4: promise, proof, rerun by, cannot show", row.len()));
            continue;
        };
        if [promise, proof, rerun, limits].iter().any(|cell| cell.is_empty()) {
            report.add(PAGE, line, "an empty cell");
        }
        if quoted(proof).next().is_none() || quoted(rerun).next().is_none() {
            report.add(PAGE, line, "no proof, or no command, in backquotes");
        }
        let is_there = |name: &str| proofs.contains(name) || name.contains('/') && tree.has(name);
        for name in quoted(proof).filter(|name| !is_there(name)) {
            report.add(PAGE, line, format!("no test, model, scenario or file is called `{name}`"));
        }
        for (command, fault) in quoted(rerun).filter_map(|command| Some((command, fault(tree, command)?))) {
            report.add(PAGE, line, format!("`{command}`: {fault}"));
        }
    }
}

/// Returns the cells of the rows of each table whose first column is headed `promise`.
fn rows(page: &File) -> Vec<(usize, Vec<&str>)> {
    let (mut found, mut inside) = (Vec::new(), false);
    for (number, line) in page.lines() {
        let Some(row) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            inside = false;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells[0] == "promise" {
            inside = true;
        } else if inside && !cells[0].starts_with("---") {
            found.push((number, cells));
        }
    }
    found
}

/// Returns the parts in backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Where the names of proofs stand: a pattern of files, and one of their text.
const PROOFS: [(&str, &str); 4] = [
    (r"\.rs$", r"#\[test\]\n(?:\s*[#/].*\n)*\s*fn (\w+)\("),
    // Tests that a macro makes.
    (r"/tests/.*\.rs$", r"(?m)^\s*([a-zA-Z0-9_]+): .*[,;]$"),
    // Models and scenarios.
    (r"^proof/(?:model/src/models|torture/src)/", r#""([^"\n]*)""#),
    // Sentences of the conformance programs.
    (r"/conformance/", r"(?m)^SENTENCE\((\w+),"),
];

fn proofs(tree: &Tree) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (files, name) in PROOFS {
        let [files, name] = [files, name].map(|text| Regex::new(text).expect("a test compiles it"));
        for file in tree.files.iter().filter(|file| files.is_match(&file.path)) {
            names.extend(name.captures_iter(&file.text).map(|found| found.extract::<1>().1[0]));
        }
    }
    names
}

/// Returns what is wrong with a command, if anything is.
fn fault(tree: &Tree, command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().skip_while(|word| word.contains('=')).collect();
    match words[..] {
        ["cargo", "xtask", ref arguments @ ..] => {
            let parsed = crate::Cli::try_parse_from(["cargo xtask"].iter().chain(arguments));
            parsed.err().map(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
        }
        ["cargo", "test", ref arguments @ ..] => test_fault(tree, arguments),
        _ => Some("neither `cargo test -p` nor `cargo xtask`".into()),
    }
}

/// Checks `-p PACKAGE`, perhaps `--test TARGET`, `--lib` or `--features LIST`, perhaps a part of the tests' names.
fn test_fault(tree: &Tree, arguments: &[&str]) -> Option<String> {
    let (mut folder, mut target, mut filter) = (None, None, None);
    let mut words = arguments.iter().take_while(|word| **word != "--");
    while let Some(&word) = words.next() {
        match word {
            "-p" => folder = package(tree, words.next()?),
            "--test" => target = words.next(),
            "--features" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => filter = Some(word),
        }
    }
    let Some(folder) = folder else { return Some("no such package".into()) };
    let sources = match target {
        Some(name) => {
            let paths = [format!("{folder}tests/{name}.rs"), format!("{folder}tests/{name}/main.rs")];
            let named =
                || tree.get(&format!("{folder}Cargo.toml"))?.text.contains(&format!("\"{name}\"")).then_some(());
            if !paths.iter().any(|path| tree.get(path).is_some()) && named().is_none() {
                return Some(format!("no test program is called {name}"));
            }
            format!("{folder}tests/")
        }
        None => folder.to_string(),
    };
    let filter = filter?;
    let mut files = tree.files.iter().filter(|file| file.path.starts_with(&sources));
    files.all(|file| !file.text.contains(filter)).then(|| format!("nothing there is called {filter}"))
}

/// Returns the folder of a package, with a slash.
fn package<'a>(tree: &'a Tree, name: &str) -> Option<&'a str> {
    let head = format!("[package]\nname = \"{name}\"\n");
    let mut manifests = tree.files.iter().filter_map(|file| Some((file.path.strip_suffix("Cargo.toml")?, file)));
    manifests.find(|(_, file)| file.text.contains(&head)).map(|(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::PAGE;
    use crate::tidy::tests::lines;

    const MANIFEST: &str = "[package]\nname = \"locks\"\n";
    const SOURCE: &str = "#[test]\nfn holds() {}\nfn helper() {}\nprograms! {\n    by_macro: \"x.c\",\n}\n";

    fn found(row: &str) -> usize {
        let head = "| other |\n|---|\n| x |\n\n| promise | proof | rerun by | cannot show |\n|---|---|---|---|\n";
        let page = format!("{head}{row}\n");
        let files = [
            (PAGE, page.as_str()),
            ("crates/locks/Cargo.toml", MANIFEST),
            ("crates/locks/tests/all.rs", SOURCE),
            ("proof/model/src/models/a.rs", "const M: &str = \"a: two threads\";\n"),
            ("crates/x/tests/conformance/a.c", "SENTENCE(it_locks, 0, \"It locks.\")\n"),
        ];
        let lines = lines("promise-proved", &files);
        assert!(lines.iter().all(|line| *line == 7), "{lines:?}");
        lines.len()
    }

    #[test]
    fn promise_proved() {
        let good = [
            "| p | `by_macro`, `it_locks`, `a: two threads`, in `crates/locks/tests` | `cargo test -p locks` | x |",
            "| p | `holds` | `A=1 cargo test -p locks --test all hol -- -q`, `cargo xtask check tidy miri` | x |",
            "| p | `holds` | `cargo xtask models` | x |",
        ];
        assert_eq!(good.map(found), [0; 3]);
        let bad = [
            "| p | `helper` | `cargo test -p locks` | x |",
            "| p | | `cargo test -p locks` | x |",
            "| p | none | `cargo test -p locks` | x |",
            "| p | `holds` | `cargo test -p locks` | |",
            "| p | `holds` | `cargo test -p locks` |",
            "| p | `holds` | `cargo test -p keys` | x |",
            "| p | `holds` | `cargo test -p locks --test some` | x |",
            "| p | `holds` | `cargo test -p locks --test all else` | x |",
            "| p | `holds` | `cargo xtask check every` | x |",
            "| p | `holds` | `cargo xtask prove` | x |",
            "| p | `holds` | `make test` | x |",
        ];
        assert_eq!(bad.map(|row| found(row).min(1)), [1; 11]);
    }
}
