//! The files that rules look at.

use super::Report;
use crate::command::tracked;
use anyhow::Result;
use std::path::Path;

/// Files of the workspace: those that git tracks, or would.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One file.
pub(crate) struct File {
    /// Relative to the workspace's folder, with `/`.
    pub(crate) path: String,
    /// Empty if it is not UTF-8.
    pub(crate) text: String,
    /// Of a Rust file that parses.
    pub(crate) syntax: Option<syn::File>,
}

impl Tree {
    /// Returns the workspace of the working directory.
    pub(crate) fn of_workspace() -> Result<Tree> {
        // Others are deleted but not yet staged: nothing to check. A file that is no text can be linked to.
        let file =
            |name: &String| Some(File::new(name, String::from_utf8(std::fs::read(name).ok()?).unwrap_or_default()));
        Ok(Tree { files: tracked(Path::new("."))?.iter().filter_map(file).collect() })
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|f| f.path == path)
    }

    /// Returns whether a file or folder of this name exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.iter().any(|f| f.path == path || f.path.starts_with(&folder))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &syn::File)> {
        self.files.iter().filter_map(|f| Some((f, f.syntax.as_ref()?)))
    }
}

impl File {
    fn new(path: &str, text: String) -> File {
        let syntax = path.ends_with(".rs").then(|| syn::parse_file(&text).ok());
        File { path: path.into(), text, syntax: syntax.flatten() }
    }

    pub(crate) fn is(&self, extensions: &[&str]) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, e)| extensions.contains(&e))
    }

    /// Returns the text's lines, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Returns the comments on `line`, or above it with at most `code` lines of code in between, nearest first.
    pub(crate) fn comments_near(&self, line: usize, code: usize) -> Vec<(usize, &str)> {
        let lines: Vec<(usize, &str)> = self.lines().take(line).collect();
        let (mut seen, mut found) = (0, Vec::new());
        for (number, text) in lines.into_iter().rev() {
            seen += usize::from(number != line && !text.trim_start().starts_with("//"));
            if seen > code {
                break;
            }
            if let Some(at) = text.find("//") {
                found.push((number, &text[at..]));
            }
        }
        found
    }
}

pub(super) fn rust_syntax(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|file| file.is(&["rs"]) && file.syntax.is_none()) {
        report.add(&file.path, 1, "does not parse");
    }
}

/// Returns whether an item is left out unless tests are built.
pub(crate) fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|a| {
        let syn::Meta::List(list) = &a.meta else { return false };
        let condition = list.tokens.to_string();
        let condition = condition.strip_prefix("all (").unwrap_or(&condition);
        list.path.is_ident("cfg") && condition.starts_with("test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Tree {
        pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
            Tree { files: files.iter().map(|(path, text)| File::new(path, (*text).to_string())).collect() }
        }
    }

    #[test]
    fn comments_are_found_over_a_few_lines_of_code() {
        let tree = Tree::of(&[("a.rs", "// far\nf();\n// near\n// more\nf();\nf(); // here\n")]);
        let near = |code| tree.files[0].comments_near(6, code).iter().map(|&(n, _)| n).collect::<Vec<_>>();
        assert_eq!(near(0), [6]);
        assert_eq!(near(1), [6, 4, 3]);
        assert_eq!(near(9), [6, 4, 3, 1]);
    }
}
