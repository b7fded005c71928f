//! Words that comments and pages no longer use: each was a riddle, or a private name for what the field has a word for.

use super::Report;
use super::tree::{File, Tree};

/// The phrase, and what to write.
const RETIRED: [(&str, &str); 4] = [
    ("whoever", "the thread, the user, the caller"),
    ("who finds", "a thread that finds"),
    ("in vain", "without success"),
    ("so many", "this many, N"),
];

pub(super) fn retired_words(tree: &Tree, report: &mut Report<'_>) {
    for file in &tree.files {
        for (number, line) in file.lines().filter(|(_, line)| is_prose(file, line)) {
            let line = line.to_lowercase();
            for (phrase, instead) in RETIRED.into_iter().filter(|(phrase, _)| has(&line, phrase)) {
                report.add(&file.path, number, format!("`{phrase}`: write \"{instead}\""));
            }
        }
    }
}

/// Whether a line is a comment's or a page's. Reports, and what is archived, keep their words.
fn is_prose(file: &File, line: &str) -> bool {
    let is_page = file.is(&["md"]) && file.path.starts_with("docs/");
    let is_written =
        ["docs/lab/", "docs/results/", "docs/reproduction/"].iter().any(|room| file.path.starts_with(room));
    is_page && !is_written || file.rust.is_some() && line.trim_start().starts_with("//")
}

fn has(line: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(phrase)
        .any(|(at, _)| !is_word(line[..at].chars().next_back()) && !is_word(line[at + phrase.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use crate::tidy::lines;

    #[test]
    fn retired_words_are_found_in_comments_and_pages_alone() {
        let source = "/// Wakes whoever sleeps.\nfn a() { let _ = \"whoever\"; }\n// So many.\n// So manyfold.\n";
        assert_eq!(lines("retired-words", &[("crates/a/src/lib.rs", source)]), [1, 3]);
        assert_eq!(lines("retired-words", &[("docs/a.md", "One\npolls in vain.\n")]), [2]);
        assert_eq!(lines("retired-words", &[("docs/results/a.md", "in vain\n")]).len(), 0);
    }
}
