//! Rules about memory orderings in lock code: each states what it pairs with, and the partner exists.

use super::Report;
use crate::tidy::tree::{File, Rust, Tree, each_token};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// Folders whose orderings must be explained.
const LOCK_CODE: &[&str] = &["crates/turnwise/src/", "lab/lineage/src/", "lab/vfs/src/"];
const ORDERINGS: &[&str] = &["Acquire", "Release", "AcqRel", "SeqCst"];
const OPERATIONS: &[&str] = &["load", "store", "swap", "compare_exchange", "compare_exchange_weak", "fence"];
const NEAR: usize = 4;

fn is_lock_code(file: &File) -> bool {
    LOCK_CODE.iter().any(|code| file.path.starts_with(code))
}

fn lock_code(tree: &Tree) -> impl Iterator<Item = (&File, &Rust)> {
    tree.rust().filter(|(file, _)| is_lock_code(file))
}

pub(super) fn ordering_comment(tree: &Tree, report: &mut Report<'_>) {
    for (file, rust) in lock_code(tree) {
        each_token(&rust.tokens, &mut |tokens, index| {
            let Some((line, ordering)) = operation(tokens, index) else { return };
            let near = file.comments_near(line, NEAR);
            if !rust.in_tests(line) && !near.iter().any(|(_, comment)| names(comment).next().is_some()) {
                report.add(&file.path, line, format!("{ordering} without an ORDERING comment"));
            }
        });
    }
}

/// Returns line and strongest ordering of the atomic operation whose arguments are `tokens[index]`.
fn operation(tokens: &[TokenTree], index: usize) -> Option<(usize, String)> {
    let TokenTree::Group(arguments) = &tokens[index] else { return None };
    let TokenTree::Ident(name) = tokens.get(index.checked_sub(1)?)? else { return None };
    let name_text = name.to_string();
    let is_operation = OPERATIONS.contains(&name_text.as_str()) || name_text.starts_with("fetch_");
    if !is_operation || arguments.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let ordering = first_ordering(arguments.stream())?;
    Some((name.span().start().line, ordering))
}

fn first_ordering(tokens: TokenStream) -> Option<String> {
    let words = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    });
    words.into_iter().find(|word| ORDERINGS.contains(&word.as_str()))
}

/// Returns the names in `// ORDERING one.name, another.name: why`.
fn names(comment: &str) -> impl Iterator<Item = &str> {
    let list = comment.split_once("ORDERING ").and_then(|(_, rest)| rest.split_once(':')).map_or("", |(list, _)| list);
    list.split(',').map(str::trim).filter(|name| is_name(name))
}

/// Returns whether this is `lock.what`, in lower case.
fn is_name(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c));
    parts.clone().count() == 2 && parts.all(is_part)
}

/// A place with an ORDERING comment.
struct OrderingSite<'a> {
    file: &'a str,
    line: usize,
    /// The comment to its end.
    text: String,
    /// An operation that is both sides: it pairs with itself in another thread.
    both: bool,
}

pub(super) fn ordering_pair(tree: &Tree, report: &mut Report<'_>) {
    let mut places: BTreeMap<&str, Vec<OrderingSite<'_>>> = BTreeMap::new();
    for (file, _) in lock_code(tree) {
        for (line, text) in file.lines() {
            let Some(at) = text.find("//") else { continue };
            for name in names(&text[at..]) {
                places.entry(name).or_default().push(place(file, line));
            }
        }
    }
    for (name, at) in &places {
        let others = || places.keys().filter(|other| *other != name);
        let partner = |place: &OrderingSite<'_>| {
            let function = place.text.contains("pairs with") && place.text.contains('`');
            place.both || function || others().any(|other| mentions(&place.text, other))
        };
        if at.len() < 2 && !at.iter().any(partner) {
            report.add(at[0].file, at[0].line, format!("`{name}` has no partner"));
        }
    }
}

fn place(file: &File, line: usize) -> OrderingSite<'_> {
    let lines: Vec<&str> = file.text.lines().skip(line - 1).collect();
    let comment = 1 + lines.iter().skip(1).take_while(|text| text.trim_start().starts_with("//")).count();
    let both = lines.iter().skip(comment).take(NEAR).any(|text| text.contains("AcqRel") || text.contains("SeqCst"));
    OrderingSite { file: &file.path, line, text: lines[..comment].join(" "), both }
}

fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_')
        .any(|word| word.trim_end_matches('.') == name)
}

#[cfg(test)]
mod tests {
    use crate::tidy::lines;

    const OSQ: &str = "crates/turnwise/src/osq.rs";

    #[test]
    fn ordering_comment() {
        let text = "use O::Acquire;\n\
                    fn f() {\n\
                    a.load(Acquire);\n\
                    a.store(1, Relaxed);\n\
                    // ORDERING a.b: x.\n\
                    a.store(1, Release);\n\
                    f();\n\
                    f();\n\
                    f();\n\
                    fence(SeqCst);\n\
                    b.fetch_or(\n\
                    1,\n\
                    AcqRel);\n\
                    }\n";
        assert_eq!(lines("ordering-comment", &[(OSQ, text)]), [3, 11]);
        assert_eq!(lines("ordering-comment", &[("crates/cli/src/main.rs", text)]), [0; 0]);
    }

    #[test]
    fn ordering_comment_not_in_tests() {
        let text = "#[cfg(test)]\nmod tests {\n    fn f() {\n        a.load(Acquire);\n    }\n}\n";
        assert_eq!(lines("ordering-comment", &[(OSQ, text)]), [0; 0]);
    }

    #[test]
    fn ordering_pair() {
        let alone = "// ORDERING a.alone: pairs with nothing that has a name.\n";
        assert_eq!(lines("ordering-pair", &[(OSQ, alone)]), [1]);
        let twice = "// ORDERING a.twice: here.\nf();\n// ORDERING a.twice: there.\n";
        assert_eq!(lines("ordering-pair", &[(OSQ, twice)]), [0; 0]);
        let partner = "// ORDERING a.one: pairs with\n// a.two.\nf();\n// ORDERING a.two, a.three: with a.one.\n";
        assert_eq!(lines("ordering-pair", &[(OSQ, partner)]), [0; 0]);
        let itself = "// ORDERING a.one: with the next swap.\na.swap(1, AcqRel);\n";
        assert_eq!(lines("ordering-pair", &[(OSQ, itself)]), [0; 0]);
        let missing = "// ORDERING a.one: pairs with a.gone.\na.swap(1, Acquire);\n";
        assert_eq!(lines("ordering-pair", &[(OSQ, missing)]), [1]);
    }
}
