//! Rules that keep documents and code together.

use super::Report;
use crate::results::{README, RUNS, readme};
use crate::tidy::tree::{File, Tree};
use pulldown_cmark::{Event, Parser, Tag};
use std::collections::BTreeMap;
use std::path::Path;

const DEPENDENCIES: &str = "docs/dependencies.md";

pub(super) fn dependency_listed(tree: &Tree, report: &mut Report<'_>) {
    let used = used(tree, report);
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
fn used(tree: &Tree, report: &mut Report<'_>) -> BTreeMap<String, (String, usize)> {
    let mut used = BTreeMap::new();
    for file in tree.files.iter().filter(|f| f.path.rsplit('/').next() == Some("Cargo.toml")) {
        let Ok(manifest) = file.text.parse::<toml::Table>() else {
            report.add(&file.path, 1, "not valid TOML");
            continue;
        };
        for name in dependencies(&manifest) {
            let line = file.lines().find(|(_, text)| text.trim_start().starts_with(&name)).map_or(1, |(line, _)| line);
            used.entry(name).or_insert_with(|| (file.path.clone(), line));
        }
    }
    used
}

/// Names in all dependency tables below `table`.
fn dependencies(table: &toml::Table) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            let foreign =
                inner.iter().filter(|(name, spec)| spec.get("path").is_none() && !name.starts_with("turnwise"));
            names.extend(foreign.map(|(name, _)| name.clone()));
        } else if ["workspace", "target"].contains(&key.as_str()) || key.starts_with("cfg(") {
            names.extend(dependencies(inner));
        }
    }
    names
}

/// Returns the first cells of the table's rows, in backquotes.
fn listed(tree: &Tree) -> BTreeMap<String, usize> {
    let lines = tree.get(DEPENDENCIES).into_iter().flat_map(File::lines);
    lines
        .filter_map(|(number, line)| Some((line.strip_prefix("| `")?.split_once('`')?.0.to_string(), number)))
        .collect()
}

pub(super) fn design_page(tree: &Tree, report: &mut Report<'_>) {
    for (file, page) in tree.files.iter().filter_map(|f| Some((f, page_of(&f.path)?))) {
        if tree.get(&page).is_none() {
            report.add(&file.path, 1, format!("{page} is missing"));
        }
    }
    let index = tree.get("docs/design/README.md").map_or("", |f| &f.text);
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix("docs/design/") else { continue };
        if name != "README.md" && name.ends_with(".md") && !index.contains(&format!("({name})")) {
            report.add(&file.path, 1, "docs/design/README.md does not link to it");
        }
    }
}

/// The most words in a page, as `wc -w` counts them, by its folder.
const PAGE_WORDS: [(&str, usize); 4] =
    [("docs/design/", 900), ("lab/lineage/docs/", 900), ("docs/results/", 1_600), ("docs/lab/0", 600)];
const LAB: &str = "docs/lab/README.md";
const ROW_WORDS: usize = 40;

pub(super) fn page_words(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|f| f.is(&["md"])) {
        let most = PAGE_WORDS.iter().find(|(folder, _)| file.path.starts_with(folder)).map(|(_, most)| *most);
        let words = file.text.split_whitespace().count();
        if most.is_some_and(|most| words > most) {
            report.add(&file.path, 1, format!("{words} words"));
        }
    }
    for (number, row) in tree.get(LAB).into_iter().flat_map(File::lines).filter(|(_, line)| line.starts_with("| <a ")) {
        let words = row.replace("<a id", "").split_whitespace().filter(|word| *word != "|").count();
        if words > ROW_WORDS {
            report.add(LAB, number, format!("{words} words"));
        }
    }
}

const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn book_complete(tree: &Tree, report: &mut Report<'_>) {
    let Some(summary) = tree.get(SUMMARY) else { return };
    for file in tree.files.iter().filter(|f| f.is(&["md"]) && f.path != SUMMARY) {
        let Some(page) = file.path.strip_prefix("docs/") else { continue };
        if !summary.text.contains(&format!("({page})")) {
            report.add(&file.path, 1, format!("{SUMMARY} does not list it"));
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

pub(super) fn figures_written(tree: &Tree, report: &mut Report<'_>) {
    let is_about = |file: &&File| file.path == README || file.path.starts_with("docs/guide/");
    for file in tree.files.iter().filter(is_about) {
        let (mut quoted, mut written) = (false, false);
        for (number, line) in file.lines() {
            quoted ^= line.trim_start().starts_with("```");
            written = (written || line.starts_with("<!-- ")) && !line.starts_with("<!-- end ");
            if !quoted && !written && has_figure(line) {
                report.add(&file.path, number, "a figure that no command wrote");
            }
        }
    }
}

/// Returns whether a line has a ratio or an interval: `1.03 times`, `0.95 to 1.13`, `1.18 (0.65`.
fn has_figure(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
    let is_figure =
        |word: &str| word.contains('.') && bare(word).parse::<f64>().is_ok_and(|_| bare(word).contains('.'));
    words.windows(2).any(|pair| {
        is_figure(pair[0]) && (["to", "times"].contains(&pair[1]) || pair[1].starts_with('(') && is_figure(pair[1]))
    })
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
    use crate::tidy::lines;

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
    fn page_words() {
        let (full, over) = ("word ".repeat(900), "word ".repeat(901));
        let rows =
            format!("| <a id=\"1\"></a>1 | {} |\n| <a id=\"2\"></a>2 | {} |\n", &full[..39 * 5], &full[..40 * 5]);
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
    fn book_complete() {
        let files = [("docs/SUMMARY.md", "- [a](lab/a.md)\n"), ("docs/lab/a.md", ""), ("docs/b.md", "")];
        assert_eq!(lines("book-complete", &files).len(), 1);
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
