//! `cargo xtask book`: called by mdbook between reading the pages and writing the book (`docs/book.toml`). On GitHub
//! and in an editor a page links to files of the whole repository; a book has only its pages. `cargo xtask book check`
//! builds the book and follows every link of the result.

use crate::check::need;
use crate::command::{Run, cmd};
use crate::root::read;
use crate::tidy::local;
use anyhow::{Context, Result, ensure};
use pulldown_cmark::{Event, Parser, Tag};
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;

/// Lists the pages where `docs/book.toml` has the book built, except the one that repeats all others and the one for a
/// server's errors.
const BUILT_PAGES: &str = "find target/book -type f -name *.html -not -name print.html -not -name 404.html";

/// What mdbook asks.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `check`: build the book and follow its links; `supports RENDERER`: the answer is the exit status; without
    /// either, mdbook's JSON is read and written
    question: Vec<String>,
}

/// Reads a book in mdbook's form, and writes it again.
pub(crate) fn run(args: &Args) -> Result<bool> {
    match args.question.first().map(String::as_str) {
        Some("check") => return check(),
        Some(_) => return Ok(true),
        None => {}
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the book")?;
    let whole: Value = serde_json::from_str(&text).context("this is not what mdbook writes")?;
    let mut book = whole.get(1).cloned().context("mdbook wrote no book")?;
    chapters(&mut book);
    let mut to = std::io::stdout().lock();
    serde_json::to_writer(&mut to, &book).context("cannot write the book")?;
    to.flush().context("cannot write the book")?;
    Ok(true)
}

/// Builds the book, and follows every link of its pages: to files, and to places in them.
fn check() -> Result<bool> {
    ensure!(
        Command::new("mdbook").args(["build", "docs"]).env("PATH", need::path()?).succeeds()?,
        "mdbook cannot build docs"
    );
    let pages = cmd(BUILT_PAGES).text()?;
    let pages = pages.lines().map(|page| Ok((PathBuf::from(page), read(page)?))).collect::<Result<_>>()?;
    let (dead, followed) = dead_links(&pages)?;
    println!("{} pages, {followed} links, {} of them dead", pages.len(), dead.len());
    dead.iter().for_each(|link| println!("{link}"));
    Ok(dead.is_empty())
}

/// Links that lead nowhere, each with its page, and how many were followed.
fn dead_links(pages: &BTreeMap<PathBuf, String>) -> Result<(BTreeSet<String>, usize)> {
    let link = Regex::new(r#"(?:href|src)="([^"]*)""#)?;
    let (mut dead, mut followed) = (BTreeSet::new(), 0);
    for (page, text) in pages {
        for (_, [to]) in link.captures_iter(text).map(|found| found.extract()) {
            if to.is_empty() || to.contains(':') || to.starts_with("//") {
                continue;
            }
            followed += 1;
            let (path, place) = to.split_once('#').unwrap_or((to, ""));
            let elsewhere = || local(&page.to_string_lossy(), path).unwrap_or_default().into();
            let target = if path.is_empty() { page.clone() } else { elsewhere() };
            let has_place = |text: &String| place.is_empty() || text.contains(&format!("id=\"{place}\""));
            if !pages.get(&target).map_or_else(|| target.is_file(), has_place) {
                dead.insert(format!("{}: {to}", page.display()));
            }
        }
    }
    Ok((dead, followed))
}

/// Collects every chapter, at any depth: values with a path and a content.
fn chapters(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(chapters),
        Value::Object(fields) => {
            let path = fields.get("source_path").or(fields.get("path")).and_then(Value::as_str).map(str::to_owned);
            if let (Some(path), Some(Value::String(content))) = (path, fields.get_mut("content")) {
                *content = page(&path, content);
            }
            fields.values_mut().for_each(chapters);
        }
        _ => {}
    }
}

/// Renders a page of the book, which lies at `path` below docs: links out of the book become text, and those to a
/// README go to the page that mdbook makes of it.
fn page(path: &str, content: &str) -> String {
    let mut text = content.to_owned();
    let events = Parser::new(content).into_offset_iter().collect::<Vec<_>>();
    // From the end, so that the places before stay.
    for (event, range) in events.into_iter().rev() {
        let Event::Start(Tag::Link { dest_url: to, .. }) = event else { continue };
        let link = &content[range.clone()];
        let Some((words, _)) = link.strip_prefix('[').and_then(|rest| rest.rsplit_once("](")) else { continue };
        if let Some(instead) = in_book(path, &to, words) {
            text.replace_range(range, &instead);
        }
    }
    text
}

/// Returns what stands in the book for a link of the page `from` with these words; `None`: the link itself.
fn in_book(from: &str, link: &str, words: &str) -> Option<String> {
    let target = local(&format!("docs/{from}"), link)?;
    let leaves = link.matches("../").count() > from.matches('/').count() || !target.starts_with("docs/");
    match target.rsplit('/').next() {
        Some("README.md") if !leaves => Some(format!("[{words}]({})", link.replacen("README.md", "index.md", 1))),
        Some(name) if !leaves && name.contains('.') && name != "SUMMARY.md" => None,
        _ => Some(words.to_owned()), // folders, too
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn links_out_of_the_book_become_text_and_readmes_an_index() {
        let text = "See [the code](../../crates/a.rs#L1), [`here`](b.md), [all](../README.md#top), [web](https://x.y/README.md), \
            [list](../SUMMARY.md), [folder](../lab) and `[no](../../link)`.";
        assert_eq!(
            page("design/a.md", text),
            "See the code, [`here`](b.md), [all](../index.md#top), [web](https://x.y/README.md), list, folder and \
             `[no](../../link)`."
        );
    }

    #[test]
    fn chapters_are_found_in_mdbooks_json() {
        let mut book = json!({"items": [{"Chapter": {"content": "[a](../x.rs)", "path": "a.md", "sub_items": [
            {"Chapter": {"content": "[b](../README.md)", "path": "b/index.md", "source_path": "b/README.md"}}]}}]});
        chapters(&mut book);
        assert_eq!(book["items"][0]["Chapter"]["content"], "a");
        assert_eq!(book["items"][0]["Chapter"]["sub_items"][0]["Chapter"]["content"], "[b](../index.md)");
    }

    #[test]
    fn a_link_to_no_page_and_one_to_no_place_are_dead() {
        let page = "<a href=\"../b.html#here\"></a><a href=\"b.html\"></a><a href=\"../b.html#gone\"></a>\
            <a href=\"https://example.org\"></a><a href=\"#top\" id=\"top\"></a>";
        let pages = [("book/a/a.html", page), ("book/b.html", "<p id=\"here\">")];
        let pages = pages.map(|(path, text)| (PathBuf::from(path), text.to_owned())).into();
        let (dead, followed) = dead_links(&pages).unwrap();
        let dead: Vec<_> = dead.iter().map(String::as_str).collect();
        assert_eq!((dead, followed), (vec!["book/a/a.html: ../b.html#gone", "book/a/a.html: b.html"], 4));
    }

    fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }

    /// What mdbook writes: a page for each chapter, `index` for a README, and all other files as they are.
    #[test]
    fn no_link_of_the_book_is_dead() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").canonicalize().unwrap();
        let (mut found, mut dead) = (Vec::new(), Vec::new());
        pages(&docs, &mut found);
        for file in found.iter().filter(|file| !file.ends_with("SUMMARY.md")) {
            let path = file.strip_prefix(&docs).unwrap();
            let made = page(path.to_str().unwrap(), &std::fs::read_to_string(file).unwrap());
            for event in Parser::new(&made) {
                let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
                let target = dest_url.split('#').next().unwrap_or_default();
                if dest_url.contains("://") || dest_url.starts_with("mailto:") || target.is_empty() {
                    continue;
                }
                let source = file.parent().unwrap().join(target.replace("index.md", "README.md"));
                let is_there = source.canonicalize().is_ok_and(|source| source.starts_with(&docs) && source.is_file());
                if !is_there || target.ends_with("README.md") {
                    dead.push(format!("{}: {dest_url}", path.display()));
                }
            }
        }
        assert!(found.len() > 80 && dead.is_empty(), "{}", dead.join("\n"));
    }
}
