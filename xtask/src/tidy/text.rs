//! Rules about text.

use super::Report;
use crate::tidy::tree::{File, Tree};

const FILE_LINES: usize = 600;
const COLUMNS: usize = 120;
const CODE: &[&str] = &["rs", "c", "h", "cc", "cpp", "hpp", "toml", "sh", "yml"];

/// Returns whether a file is written by people, by hand.
fn is_written(file: &File) -> bool {
    let made = ["docs/results/", "packaging/interface/"].iter().any(|folder| file.path.starts_with(folder))
        || file.path.ends_with(".lock")
        || file.is(&["json"]);
    !made && !file.path.starts_with("LICENSE")
}

fn is_code(file: &File) -> bool {
    file.is(CODE) || file.path.starts_with(".ci/")
}

pub(super) fn file_length(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|f| is_written(f)) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES {
            report.add(&file.path, FILE_LINES + 1, format!("{lines} lines"));
        }
    }
}

pub(super) fn line_length(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|f| is_code(f)) {
        for (number, line) in file.lines() {
            let columns = line.chars().count();
            // A manifest's lists and descriptions are one line each.
            let is_exempt = file.is(&["toml"]) || is_table(line) || line.contains("://");
            if columns > COLUMNS && !is_exempt {
                report.add(&file.path, number, format!("{columns} columns"));
            }
        }
    }
}

/// Returns a row of a table in a comment.
fn is_table(line: &str) -> bool {
    ["//! |", "/// |", "// |"].iter().any(|start| line.trim_start().starts_with(start))
}

/// In two parts, so that this file does not break its own rule.
const NOTES: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO"), concat!("HA", "CK")];

pub(super) fn leftover_note(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|f| is_code(f)) {
        for (number, line) in file.lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(note) = words.find(|word| NOTES.contains(word)) {
                report.add(&file.path, number, note);
            }
        }
    }
}

pub(super) fn whitespace(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|f| is_code(f) || f.is(&["md"])) {
        for (number, line) in file.lines() {
            if line.ends_with([' ', '\t', '\r']) {
                report.add(&file.path, number, "blank at the end of the line");
            } else if file.is(&["rs"]) && line.contains('\t') {
                report.add(&file.path, number, "tab");
            }
        }
        if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
            report.add(&file.path, file.text.lines().count(), "the last line");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NOTES;
    use crate::tidy::lines;

    #[test]
    fn file_length() {
        let (good, bad) = ("x\n".repeat(600), "x\n".repeat(601));
        assert_eq!(lines("file-length", &[("a.c", &bad), ("b.rs", &good), ("docs/results/r.md", &bad)]), [601]);
    }

    #[test]
    fn line_length() {
        let long = "x".repeat(121);
        let text = format!("{}\n{long}\n//! | {long} |\n// https://{long}\n", "é".repeat(120));
        assert_eq!(lines("line-length", &[("a.h", &text), ("a.md", &text)]), [2]);
    }

    #[test]
    fn leftover_note() {
        for note in NOTES {
            let text = format!("ok();\n// {note}: later\n// {note}_SUFFIX is a name\n");
            assert_eq!(lines("leftover-note", &[("a.c", &text)]), [2]);
        }
    }

    #[test]
    fn whitespace() {
        assert_eq!(lines("whitespace", &[("a.rs", "a\nb \n\tc\n\n"), ("b.md", "\tcode\nno end")]), [2, 3, 4, 2]);
    }
}
