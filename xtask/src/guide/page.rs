//! A page of the guide: its code blocks, and what they expect.

use crate::command::entries;
use crate::root::read;
use anyhow::{Context, Result, bail, ensure};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use regex::Regex;
use std::path::{Path, PathBuf};

/// A page.
pub(super) struct Page {
    pub(super) name: String,
    /// Blocks with a meaning, each with its line.
    pub(super) blocks: Vec<(usize, Block)>,
}

/// The purpose of a code block.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Block {
    Run { script: String, status: i32 },
    File { name: String, text: String },
    Expect(String),
}

/// Returns all pages, in the order of their names.
pub(super) fn load(folder: &Path) -> Result<Vec<Page>> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let page = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Page { name, blocks: blocks(&read(&path)?).with_context(|| path.display().to_string())? })
    };
    entries(folder)?.into_iter().filter(is_page).map(page).collect()
}

fn blocks(text: &str) -> Result<Vec<(usize, Block)>> {
    let (mut found, mut open) = (Vec::new(), None);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let line = text[..range.start].lines().count() + 1;
                open = Some((line, info.to_string(), String::new()));
            }
            Event::Text(part) => {
                if let Some((_, _, body)) = &mut open {
                    body.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((line, info, body)) = open.take() {
                    found
                        .extend(block(&info, body).with_context(|| format!("line {line}"))?.map(|block| (line, block)));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn block(info: &str, body: String) -> Result<Option<Block>> {
    let (language, role) = info.split_once(',').unwrap_or((info, ""));
    Ok(Some(match (language, role) {
        ("sh", "") => Block::Run { script: body, status: 0 },
        ("sh", role) if role.starts_with("untried: ") => return Ok(None),
        ("text", "expect") => Block::Expect(body),
        (_, "") => return Ok(None),
        (_, role) => match (role.strip_prefix("fails="), role.strip_prefix("file=")) {
            (Some(status), _) if language == "sh" => {
                Block::Run { script: body, status: status.parse().context("fails= wants a status")? }
            }
            (_, Some(name)) => Block::File { name: name.to_owned(), text: body },
            _ => bail!("`{info}`: not known; a block is sh, sh,fails=N, sh,untried: WHY, X,file=NAME or text,expect"),
        },
    }))
}

/// Checks that all lines of `wanted` occur in `printed`, in order.
pub(super) fn expect(wanted: &str, printed: &str) -> Result<()> {
    let mut lines = printed.lines();
    for line in wanted.lines() {
        // `…` stands for anything.
        let parts: Vec<_> = line.trim().split('…').map(|part| regex::escape(part.trim())).collect();
        let pattern = Regex::new(&format!("^{}$", parts.join(".*")))?;
        let is_there = lines.any(|has| pattern.is_match(has.trim()));
        ensure!(is_there, "`{line}` is not, or not there, in what was printed:\n{printed}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_distinguished() {
        let text = "a\n```sh\nls\n```\n```sh,fails=2\nfalse\n```\n```sh,untried: needs root\nx\n```\n\
                    ```c,file=a.c\nint a;\n```\n\
                    ```text\nshown\n```\n```text,expect\nb\n```\n";
        let run = |script: &str, status| Block::Run { script: script.into(), status };
        let file = Block::File { name: "a.c".into(), text: "int a;\n".into() };
        let wanted = [(2, run("ls\n", 0)), (5, run("false\n", 2)), (11, file), (17, Block::Expect("b\n".into()))];
        assert_eq!(blocks(text).unwrap(), wanted);
        let error = blocks("```sh,fail\nx\n```\n").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 1: `sh,fail`: not known"), "{error:#}");
    }

    #[test]
    fn dots_stand_for_anything_and_order_counts() {
        assert!(expect("a … c\nd", "x\na b c\ny\nd\n").is_ok());
        assert!(expect("d\na … c", "a b c\nd\n").is_err());
        assert!(expect("a c", "a b c\n").is_err());
        assert!(expect("… c", "a b c\n").is_ok() && expect("a …", "a b c\n").is_ok());
        assert!(expect("a … c", "a b c d\n").is_err());
    }
}
