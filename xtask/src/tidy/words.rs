//! Words that comments and pages no longer use, and names that code no longer has: each was a riddle, a private name
//! for what the field has a word for, or a second name of one thing.

use super::Report;
use super::tree::{File, Tree};

/// The phrase, and what to write.
const RETIRED: [(&str, &str); 15] = [
    ("whoever", "the thread, the user, the caller"),
    ("who finds", "a thread that finds"),
    ("in vain", "without success"),
    ("so many", "this many, N"),
    ("nobody", "no thread, no process"),
    ("somebody", "a thread, a user"),
    ("everybody", "all threads"),
    ("gets on", "makes progress"),
    ("goes on", "continues"),
    ("is told", "is notified, is reported"),
    ("are told", "are notified, are reported"),
    ("claimant", "hand-off waiter"),
    ("promised turn", "pending hand-off"),
    ("offers its CPU", "yields its CPU"),
    ("waits for whom", "which thread waits for which"),
];

/// The identifier, and what it is called now.
const RENAMED: [(&str, &str); 25] = [
    ("turn_ns", "yield_after_ns"),
    ("claim_after_ns", "handoff_after_ns"),
    ("kept_ns", "reserved_ns"),
    ("close_looks", "close_polls"),
    ("look_ns", "poll_ns"),
    ("Lookout", "SpinThenSleep"),
    ("lookout", "spin_then_sleep"),
    ("Quantum", "YieldInterval"),
    ("yield_quantum", "yield_after_interval"),
    ("leave_note", "set_spin_hint"),
    ("unlock_noting", "unlock_with_hint"),
    ("unlock_telling", "unlock_passing"),
    ("PROMISE", "HANDOFF_MASK"),
    ("claimant", "handoff_waiter"),
    ("begin_to_look", "begin_to_poll"),
    ("looks_closely", "polls_closely"),
    ("wait_in_line", "wait_in_queue"),
    ("in_line", "in_queue"),
    ("tell_contention", "report_contention"),
    ("told", "reported, shown, received"),
    ("Told", "the noun"),
    ("in_vain", "failed"),
    ("decided", "cached_rule"),
    ("DocumentReport", "PaperReport"),
    ("DOCUMENTS", "PAPERS"),
];

pub(super) fn retired_words(tree: &Tree, report: &mut Report<'_>) {
    for file in &tree.files {
        for (number, line) in file.lines() {
            if is_prose(file, line) {
                let line = line.to_lowercase();
                for (phrase, instead) in RETIRED.into_iter().filter(|(phrase, _)| has(&line, &phrase.to_lowercase())) {
                    report.add(&file.path, number, format!("`{phrase}`: write \"{instead}\""));
                }
            } else if file.rust.is_some() && !file.path.ends_with("tidy/words.rs") {
                for (name, instead) in RENAMED.into_iter().filter(|(name, _)| has(line, name)) {
                    report.add(&file.path, number, format!("`{name}`: it is called {instead}"));
                }
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

    #[test]
    fn renamed_identifiers_are_found_as_whole_names() {
        let source =
            "fn a(told: u32) {\n    let told_apart = return_told();\n    settings.turn_ns()\n}\n// `turn_ns`\n";
        assert_eq!(lines("retired-words", &[("crates/a/src/lib.rs", source)]), [1, 3]);
    }
}
