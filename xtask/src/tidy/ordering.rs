//! The rule that each memory ordering in lock code that states what it pairs with has that partner.

use super::Report;
use crate::tidy::tree::Tree;
use regex::Regex;
use std::collections::BTreeMap;

/// Folders whose orderings must be explained, as `ordering-comment` has them.
const LOCK_CODE: &[&str] = &["crates/turnwise/src/", "lab/lineage/src/", "lab/vfs/src/"];
/// Lines of code below a comment that it is about.
const NEAR: usize = 4;
/// `lock.what`.
const NAME: &str = "[a-z0-9_]+\\.[a-z0-9_]+";

pub(super) fn ordering_pair(tree: &Tree, report: &mut Report<'_>) {
    let [list, name] = ["//.*?ORDERING ([^:\\n]*):", NAME].map(|text| Regex::new(text).expect("it is constant"));
    // By name: file, line, comment to its end, and whether the operation is both sides: it pairs with itself in another
    // thread.
    let mut sites: BTreeMap<&str, Vec<(&str, usize, String, bool)>> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| LOCK_CODE.iter().any(|code| file.path.starts_with(code))) {
        for found in list.captures_iter(&file.text) {
            let (start, (_, [names])) = (found.get_match().start(), found.extract());
            let lines: Vec<&str> = file.text[start..].lines().collect();
            let comment = 1 + lines[1..].iter().take_while(|text| text.trim_start().starts_with("//")).count();
            let code = &lines[comment..lines.len().min(comment + NEAR)];
            let both = code.iter().any(|text| text.contains("AcqRel") || text.contains("SeqCst"));
            let line = file.text[..start].matches('\n').count() + 1;
            for found in name.find_iter(names) {
                sites.entry(found.as_str()).or_default().push((&file.path, line, lines[..comment].join(" "), both));
            }
        }
    }
    for (own, at) in sites.iter().filter(|(_, at)| at.len() < 2) {
        let (file, line, text, both) = &at[0];
        let function = text.contains("pairs with") && text.contains('`');
        let partner = || name.find_iter(text).any(|other| other.as_str() != *own && sites.contains_key(other.as_str()));
        if !both && !function && !partner() {
            report.add(file, *line, format!("`{own}` has no partner"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::lines;

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
