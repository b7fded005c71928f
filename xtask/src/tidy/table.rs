//! The rules: `rules.toml` has them, and its head explains the fields.

use super::Report;
use super::tree::{File, Tree};
use crate::command::rows;
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Lines of code between a comment and its subject.
const NEAR: usize = 4;

/// A rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) remedy: String,
    #[serde(default)]
    words: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) text: Vec<Breach>,
}

/// Text that breaks a rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Breach {
    files: Pattern,
    except: Option<Pattern>,
    outside: Option<Pattern>,
    finds: Pattern,
    only: Option<Pattern>,
    unless: Option<Pattern>,
    near: Option<Pattern>,
    #[serde(default)]
    below: usize,
    #[serde(default)]
    most_lines: usize,
    #[serde(default)]
    most_words: usize,
}

/// A regular expression in which ^ and $ match at lines.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Pattern, regex::Error> {
        Regex::new(&format!("(?m){text}")).map(Pattern)
    }
}

/// All rules, in the order in which they are listed and run.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let mut rules: Vec<Rule> = rows(include_str!("rules.toml")).expect("a test reads it");
    for rule in rules.iter_mut().filter(|rule| !rule.words.is_empty()) {
        let words = rule.words.keys().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|");
        for breach in &mut rule.text {
            breach.finds.0 = Regex::new(&breach.finds.0.as_str().replace("WORDS", &words)).expect("a test compiles it");
        }
    }
    rules
});

impl Rule {
    /// Finds the text that breaks it.
    pub(super) fn check_text(&self, tree: &Tree, report: &mut Report<'_>) {
        for breach in &self.text {
            for file in tree.files.iter().filter(|file| breach.is_about(&file.path)) {
                breach.find(file, |line, found| report.add(&file.path, line, self.message(found)));
            }
        }
    }

    /// Returns what was found, as far as it helps to see it.
    fn message(&self, found: &str) -> String {
        match self.words.get(found).or_else(|| self.words.get(&found.to_lowercase())) {
            Some(instead) => format!("`{found}`: write \"{instead}\""),
            None if found.len() < 200 => format!("`{}`", found.split_whitespace().collect::<Vec<_>>().join(" ")),
            None => format!("{} lines, {} words", found.lines().count(), found.split_whitespace().count()),
        }
    }
}

impl Breach {
    fn is_about(&self, path: &str) -> bool {
        self.files.0.is_match(path) && !matches(&self.except, path, false)
    }

    /// Calls `each` with the line and the text of each place.
    fn find(&self, file: &File, mut each: impl FnMut(usize, &str)) {
        // Without its parts that do not count, but with all lines.
        let blank = |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count());
        let text = &*file.text;
        let text = self.outside.as_ref().map_or(text.into(), |part| part.0.replace_all(text, blank));
        for found in self.finds.0.captures_iter(&text) {
            let at = found.name("at").or(found.get(0)).map_or(0, |at| at.start());
            let end = found.get(0).map_or(at, |whole| whole.end());
            let line = text[..at].matches('\n').count();
            let shown = text.lines().nth(line).unwrap_or_default();
            let is_over = found[0].lines().nth(self.most_lines).is_some() || self.most_lines == 0;
            let is_over =
                is_over && (found[0].split_whitespace().nth(self.most_words).is_some() || self.most_words == 0);
            let has_comment =
                |line: usize| file.comments_near(line, NEAR).iter().any(|(_, it)| matches(&self.near, it, true));
            let is_fine = self.near.is_some() && (line + 1..=line + 1 + self.below).any(has_comment);
            if is_over && !is_fine && matches(&self.only, shown, true) && !matches(&self.unless, shown, false) {
                each(line + 1 + self.most_lines, &text[at..end]);
            }
        }
    }
}

fn matches(pattern: &Option<Pattern>, text: &str, without: bool) -> bool {
    pattern.as_ref().map_or(without, |pattern| pattern.0.is_match(text))
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::lines;

    #[test]
    fn file_length() {
        let (good, bad) = ("x\n".repeat(600), "x\n".repeat(601));
        assert_eq!(lines("file-length", &[("a.c", &bad), ("b.rs", &good), ("docs/results/r.md", &bad)]), [601]);
    }

    #[test]
    fn rust_syntax() {
        assert_eq!(lines("rust-syntax", &[("a.rs", "fn f( {"), ("b.rs", "fn f() {}\n")]), [1]);
    }

    #[test]
    fn function_length() {
        let body = |lines| format!("impl T {{\nfn long() {{\n{}}}\n}}\n", "f();\n".repeat(lines));
        assert_eq!(lines("function-length", &[("a.rs", &body(59)), ("b.rs", &body(58))]), [62]);
        let long = format!("fn a(\n    b: u8,\n) -> C<D> {{ // e\n{}}}\n", "f();\n".repeat(57));
        let inside = format!("fn short();\n\npub(crate) mod m {{\n    {}}}\n", long.replace('\n', "\n    "));
        assert_eq!(lines("function-length", &[("a.rs", &long), ("b.rs", &inside)]), [61, 64]);
    }

    #[test]
    fn safety_comment() {
        let bad = "fn f() {\n    unsafe { g() }\n}\nunsafe impl Send for T {}\nunsafe extern \"C\" {}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", bad)]), [2, 4, 5]);
        let good = "fn f() {\n    // SAFETY: g is harmless.\n    unsafe { g() }\n}\nunsafe extern \"C\" fn h() {}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", good)]), [0; 0]);
        let far = "// SAFETY: a.\nf();\nf();\nf();\nf();\nf();\nf();\nf();\nfn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", far)]), [10]);
        let in_macro = "macro_rules! m {\n    () => {\n        unsafe { g() }\n    };\n}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", in_macro)]), [3]);
    }

    #[test]
    fn atomic_types() {
        let text = "use core::sync::atomic::AtomicU32;\n\
                    impl L {\n\
                    pub const fn new() -> L {\n\
                    L(core::sync::atomic::AtomicU32::new(0))\n\
                    }\n\
                    }\n\
                    #[cfg(test)]\n\
                    mod tests {\n\
                    type T = AtomicBool;\n\
                    }\n";
        assert_eq!(lines("atomic-types", &[("crates/turnwise/src/osq.rs", text)]), [1]);
        assert_eq!(lines("atomic-types", &[("crates/turnwise/src/platform/word.rs", text)]), [0; 0]);
        let hidden = "impl L {\n    pub const fn nothing() {}\n    fn f() {\n        AtomicU8::new(0);\n    }\n    \
                      pub(super) const unsafe fn g() -> u8 {\n        AtomicU8::new(0)\n    }\n}\n\
                      #[cfg(test)]\nmod none {} // none\nfn h() {\n    r##\"a \" b\"##;\n    AtomicU8::new(0);\n}\n";
        assert_eq!(lines("atomic-types", &[("crates/turnwise/src/osq.rs", hidden)]), [4, 14]);
    }

    #[test]
    fn line_length() {
        let long = "x".repeat(121);
        let text = format!("{}\n{long}\n//! | {long} |\n// https://{long}\n", "é".repeat(120));
        assert_eq!(lines("line-length", &[("a.h", &text), ("a.md", &text)]), [2]);
    }

    #[test]
    fn leftover_note() {
        let text = "ok();\n// FIXME: later\n// TODO_SUFFIX is a name\n/* XXX */ f(); // HACK\n";
        assert_eq!(lines("leftover-note", &[("a.c", text)]), [2, 4, 4]);
    }

    #[test]
    fn whitespace() {
        assert_eq!(lines("whitespace", &[("a.rs", "a\nb \n\tc\n\n"), ("b.md", "\tcode\nno end")]), [2, 3, 4, 2]);
    }

    #[test]
    fn a_comment_that_only_points_elsewhere_is_found() {
        let text = "/// The same.\nfn f() {}\n// SAFETY: as above.\nfn g() {} // as above\n/// Is it\n/// the same.\n";
        assert_eq!(lines("comment-says", &[("a.rs", text)]), [1, 3]);
    }

    #[test]
    fn ignored_test() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn t() {}\n#[test]\n#[ignore]\nfn u(ignore: u32) {}\n";
        assert_eq!(lines("ignored-test", &[("a.rs", text)]), [2, 5]);
    }

    #[test]
    fn page_words() {
        let (full, over) = ("word ".repeat(900), "word ".repeat(901));
        let row = |words: usize| format!("| <a id=\"1\"></a>1 | {}| x | x | x |\n", &full[..words * 5]);
        let rows = row(36) + &row(37);
        let files = [
            ("docs/design/a.md", &*full),
            ("docs/design/b.md", &*over),
            ("docs/c.md", &*over),
            ("docs/lab/0001-d.md", &*full),
            ("docs/lab/README.md", &*rows),
        ];
        assert_eq!(lines("page-words", &files), [1, 1, 2]);
    }

    #[test]
    fn numbers_of_waiting_stand_in_their_tables() {
        let text = "const REST_NS: u64 = 4_000;\nconst BACK: u32 = 2;\nconst POLLS: usize = 3;\n";
        assert_eq!(lines("number-elsewhere", &[("crates/turnwise/src/mutex/spin.rs", text)]), [1, 3]);
        for elsewhere in ["crates/turnwise/src/platform/limits.rs", "crates/turnwise/src/events.rs"] {
            assert!(lines("number-elsewhere", &[(elsewhere, text)]).is_empty());
        }
    }

    #[test]
    fn figures_written() {
        let text = "It ran at 1.03 times\nthe speed (0.95 to 1.13)\nJava 1.18 (0.65 up)\n```\n1.5 times\n```\n\
            <!-- x: `y` writes this -->\n2.5 times\n<!-- end of it -->\nRust 1.95 or later, in 2 to 3 steps\n";
        assert_eq!(lines("figures-written", &[("README.md", text)]), [1, 2, 3]);
        assert_eq!(lines("figures-written", &[("docs/guide/a.md", text)]), [1, 2, 3]);
        assert!(lines("figures-written", &[("docs/lab/a.md", text)]).is_empty(), "records of experiments");
    }

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
        assert_eq!(lines("renamed", &[("crates/a/src/lib.rs", source)]), [1, 3]);
    }
}
