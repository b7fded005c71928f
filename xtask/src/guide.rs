//! `cargo xtask guide`: tries the guide (`docs/guide`), step by step, as a reader would.
//!
//! The info string of a code block states its kind:
//!
//! | info string | meaning |
//! |---|---|
//! | `sh` | run by bash in the page's folder, which begins empty; it succeeds |
//! | `sh,fails=2` | the same, but it ends with this status |
//! | `sh,untried: why` | not run |
//! | `c,file=server.c` | the file is written; `${TURNWISE}` in it is this repository |
//! | `text,expect` | its lines occur in this order in the output of the commands before; `…` stands for anything |

use crate::check::need;
use crate::command::{Run, all_known, both, cmd, entries};
use crate::root::{cargo, read, target, write};
use anyhow::{Context, Result, bail, ensure};
use regex::Regex;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A step that takes longer hangs.
const LIMIT_S: &str = "900";

/// Arguments of `cargo xtask guide`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pages, by their file names without `.md` (all, if none is named)
    page: Vec<String>,
}

/// Tries the pages; returns `true` if all is as stated there.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut pages = entries("docs/guide")?;
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    all_known(&args.page, pages.iter().map(|page| name(page)), "page")?;
    pages.retain(|page| args.page.is_empty() || args.page.iter().any(|named| named == name(page)));
    let reader = Reader::new()?;
    let mut wrong = Vec::new();
    for page in &pages {
        match reader.read(page) {
            Ok(steps) => println!("{}: {steps} steps, as it says", name(page)),
            Err(error) => wrong.push(format!("{}: {error:#}", page.display())),
        }
    }
    // Last, where a reader of the end of a log finds it.
    wrong.iter().for_each(|error| println!("{error}"));
    Ok(wrong.is_empty())
}

fn name(page: &Path) -> &str {
    page.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// A follower of the guide.
struct Reader {
    repository: PathBuf,
    /// With `turnwise` in it.
    path: OsString,
    /// What is built for one page serves the next.
    target: PathBuf,
}

impl Reader {
    /// Builds `turnwise` like the tests: after them there is nothing to do.
    fn new() -> Result<Reader> {
        ensure!(cargo("test --workspace --no-run").succeeds()?, "turnwise cannot be built");
        let repository = std::env::current_dir().context("cannot find the current folder")?;
        let target = repository.join(target());
        Ok(Reader { repository, path: need::path_from(target.join("debug"))?, target: target.join("guide") })
    }

    /// Follows a page; how many steps it has.
    fn read(&self, page: &Path) -> Result<usize> {
        let blocks = blocks(&read(page)?)?;
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let mut printed = String::new();
        for (line, block) in &blocks {
            if let Err(error) = self.follow(block, folder.path(), &mut printed) {
                // What the page left running, since it did not come to where it ends that.
                self.step("for pid in *.pid; do kill -9 \"$(cat \"$pid\")\" || true; done", 0, folder.path())?;
                return Err(error.context(format!("line {line}")));
            }
        }
        Ok(blocks.iter().filter(|(_, block)| matches!(block, Block::Run { .. })).count())
    }

    fn follow(&self, block: &Block, folder: &Path, printed: &mut String) -> Result<()> {
        match block {
            Block::Run { script, status } => *printed = self.step(script, *status, folder)?,
            Block::File { name, text } => {
                write(folder.join(name), text.replace("${TURNWISE}", &self.repository.to_string_lossy()))?;
            }
            Block::Expect(wanted) => expect(wanted, printed)?,
        }
        Ok(())
    }

    /// Runs a script that ends with this status; returns its output.
    fn step(&self, script: &str, status: i32, folder: &Path) -> Result<String> {
        let mut bash = cmd("timeout -k 5");
        bash.args([LIMIT_S, "bash", "-euo", "pipefail", "-c", script]).current_dir(folder);
        bash.env("PATH", &self.path).env("CARGO_TARGET_DIR", &self.target).env("TURNWISE", &self.repository);
        let (ended, printed) = both(&mut bash, None)?;
        if ended.code() != Some(status) {
            bail!("{ended}, not status {status}:\n{}\nprinted:\n{printed}", script.trim_end());
        }
        Ok(printed)
    }
}

/// The purpose of a code block.
#[derive(PartialEq, Eq, Debug)]
enum Block {
    Run { script: String, status: i32 },
    File { name: String, text: String },
    Expect(String),
}

/// Returns the code blocks of a page that have a meaning, each with its line.
fn blocks(page: &str) -> Result<Vec<(usize, Block)>> {
    ensure!(!Regex::new("(?m)^[ \t]+```")?.is_match(page), "an indented code block would not be tried");
    let mut found = Vec::new();
    for block in Regex::new("(?ms)^```(.*?)$\n(.*?)^```$")?.captures_iter(page) {
        let line = page[..block.get_match().start()].matches('\n').count() + 1;
        let known = Block::of(&block[1], block[2].to_owned()).with_context(|| format!("line {line}"))?;
        found.extend(known.map(|block| (line, block)));
    }
    Ok(found)
}

impl Block {
    fn of(info: &str, body: String) -> Result<Option<Block>> {
        Ok(match info.split_once(',').unwrap_or((info, "")) {
            ("sh", "") => Some(Block::Run { script: body, status: 0 }),
            ("text", "expect") => Some(Block::Expect(body)),
            ("sh", role) if role.starts_with("untried: ") => None,
            (_, "") => None,
            ("sh", role) if let Some(status) = role.strip_prefix("fails=") => {
                Some(Block::Run { script: body, status: status.parse().context("fails= wants a status")? })
            }
            (_, role) if let Some(name) = role.strip_prefix("file=") => {
                Some(Block::File { name: name.to_owned(), text: body })
            }
            _ => bail!("`{info}`: not known; a block is sh, sh,fails=N, sh,untried: WHY, X,file=NAME or text,expect"),
        })
    }
}

/// Checks that all lines of `wanted` occur in `printed`, in order.
fn expect(wanted: &str, printed: &str) -> Result<()> {
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
