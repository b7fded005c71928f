//! Rules that keep documents and code together.

use super::Report;
use crate::results::{README, RUNS, readme};
use crate::tidy::tree::{File, Tree};
use pulldown_cmark::{Event, Parser, Tag};
use std::collections::BTreeMap;
use std::path::Path;

const DEPENDENCIES: &str = "docs/dependencies.md";

pub(super) fn dependency_listed(tree: &Tree, report: &mut Report<'_>) {
    let used = used(tree);
    let listed = listed(tree);
    for (name, (file, line)) in &used {
        if !listed.contains_key(name) {
            report.add(file, *line, format!("`{name}` is not in {DEPENDENCIES}"));
        }
    }
    for (name, line) in &listed {
        if !used.contains_key(name) {
            report.add(DEPENDENCIES, *line, format!("no Cargo.toml names `{name}`"));
        }
    }
}

/// Returns dependencies that are not our own crates, and where each is first named.
fn used(tree: &Tree) -> BTreeMap<&str, (&str, usize)> {
    let mut used = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.path.rsplit('/').next() == Some("Cargo.toml")) {
        let mut is_inside = false;
        for (line, text) in file.lines() {
            let name = text.split([' ', '.', '=']).next().unwrap_or_default();
            if text.starts_with('[') {
                is_inside = text.ends_with("dependencies]");
            } else if is_inside && text.starts_with(char::is_alphabetic) && !name.starts_with("turnwise") {
                used.entry(name).or_insert((file.path.as_str(), line));
            }
        }
    }
    used
}

/// Returns the first cells of the table's rows, in backquotes.
fn listed(tree: &Tree) -> BTreeMap<&str, usize> {
    let lines = tree.get(DEPENDENCIES).into_iter().flat_map(File::lines);
    lines.filter_map(|(number, line)| Some((line.strip_prefix("| `")?.split_once('`')?.0, number))).collect()
}

pub(super) fn design_page(tree: &Tree, report: &mut Report<'_>) {
    for (file, page) in tree.files.iter().filter_map(|f| Some((f, page_of(&f.path)?))) {
        if tree.get(&page).is_none() {
            report.add(&file.path, 1, format!("{page} is missing"));
        }
    }
    all_listed(tree, report, "docs/design/", "README.md");
}

pub(super) fn book_complete(tree: &Tree, report: &mut Report<'_>) {
    all_listed(tree, report, "docs/", "SUMMARY.md");
}

/// Finds the pages in a folder that its page `index` does not link.
fn all_listed(tree: &Tree, report: &mut Report<'_>, folder: &str, index: &str) {
    let listed = tree.get(&format!("{folder}{index}")).map_or("", |file| &file.text);
    for file in tree.files.iter().filter(|file| file.is(&["md"])) {
        let Some(page) = file.path.strip_prefix(folder).filter(|page| *page != index) else { continue };
        if !listed.contains(&format!("({page})")) {
            report.add(&file.path, 1, format!("{folder}{index} does not list it"));
        }
    }
}

pub(super) fn readme_figures(tree: &Tree, report: &mut Report<'_>) {
    let Some(text) = tree.get(README).map(|readme| &readme.text) else { return };
    match readme::reported(text, Path::new(RUNS)) {
        Ok(Some(reported)) if reported == *text => {}
        Ok(Some(reported)) => {
            let same = text.lines().zip(reported.lines()).take_while(|(a, b)| a == b).count();
            report.add(README, same + 1, "this is not what the newest report says");
        }
        Ok(None) => report.add(README, 1, "it has no place for the figures"),
        Err(error) => report.add(README, 1, format!("{error:#}")),
    }
}

/// Returns the page that belongs to a source file, if it is a lock's.
fn page_of(path: &str) -> Option<String> {
    let name = path.strip_prefix("crates/").or(path.strip_prefix("lab/"))?.strip_suffix(".rs")?;
    let (krate, name) = name.split_once("/src/")?;
    let name = name.strip_suffix("/mod").unwrap_or(name);
    let page = match (krate, name.split_once('/')) {
        ("turnwise" | "lineage", None)
            if ["lib", "lock", "rwlock", "lock_api_impl", "raw", "backoff", "spin"].contains(&name) =>
        {
            return None;
        }
        ("turnwise", None) => name.to_string(),
        ("turnwise", Some(("spin", lock))) => format!("spin-{lock}"),
        ("turnwise", Some(("platform", "native/on_cpu"))) => "on-cpu".to_string(),
        ("lineage", None) => return Some(format!("lab/lineage/docs/{}.md", name.replace('_', "-"))),
        _ => return None,
    };
    Some(format!("docs/design/{}.md", page.replace('_', "-")))
}

pub(super) fn link_resolves(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|f| f.is(&["md"])) {
        for (event, range) in Parser::new(&file.text).into_offset_iter() {
            let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) = event else {
                continue;
            };
            let line = file.text[..range.start].matches('\n').count() + 1;
            if let Some(target) = local(&file.path, &dest_url)
                && !tree.has(&target)
            {
                report.add(&file.path, line, format!("`{dest_url}` does not exist"));
            }
        }
    }
}

/// Returns the target path of a link, relative to the workspace; `None`: elsewhere, or a place in the same file.
pub(crate) fn local(from: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") || link.starts_with('#') {
        return None;
    }
    let link = link.split('#').next()?;
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Above the workspace: keep it, so that it is not found.
                if parts.pop().is_none() {
                    parts.push("..");
                }
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::DEPENDENCIES;
    use crate::tidy::tests::lines;

    #[test]
    fn dependency_listed() {
        let manifest = "[dependencies]\nturnwise = { workspace = true }\nsyn = \"3\"\n\
            [dev-dependencies]\nclap = \"4\"\n[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n";
        let list = "| dependency | for |\n|---|---|\n| `syn` | x |\n| `gone` | x |\n";
        let found = lines("dependency-listed", &[("crates/a/Cargo.toml", manifest), (DEPENDENCIES, list)]);
        assert_eq!(found, [5, 7, 4]);
    }

    #[test]
    fn design_page() {
        let index = "[osq](osq.md)\n";
        let files = [
            ("crates/turnwise/src/osq.rs", ""),
            ("crates/turnwise/src/spin/ticket.rs", ""),
            ("crates/turnwise/src/mutex/raw.rs", ""),
            ("docs/design/README.md", index),
            ("docs/design/osq.md", ""),
            ("docs/design/stray.md", ""),
        ];
        assert_eq!(lines("design-page", &files).len(), 2);
        assert_eq!(lines("design-page", &files[..1]), [1]);
    }

    #[test]
    fn book_complete() {
        let files = [("docs/SUMMARY.md", "- [a](lab/a.md)\n"), ("docs/lab/a.md", ""), ("docs/b.md", "")];
        assert_eq!(lines("book-complete", &files).len(), 1);
    }

    #[test]
    fn a_readme_that_is_behind_the_reports_is_found() {
        assert_eq!(lines("readme-figures", &[("README.md", "no place\n")]), [1]);
    }

    #[test]
    fn link_resolves() {
        let text = "[a](../README.md)\n[b](gone.md)\n[c](https://example.org/x.md)\n[d](#here)\n[e](b.md#x) `[f](no.md)`\n\
            [g](../../README.md)\n";
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("README.md", "[docs](docs/)\n")];
        assert_eq!(lines("link-resolves", &files), [2, 6]);
    }
}
