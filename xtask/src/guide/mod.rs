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

mod page;

use crate::command::{Run, all_known, both, cmd};
use crate::root::{cargo, target, write};
use anyhow::{Context, Result, bail, ensure};
use page::{Block, Page};
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
    let pages = page::load(Path::new("docs/guide"))?;
    all_known(&args.page, pages.iter().map(|page| &*page.name), "page")?;
    let reader = Reader::new()?;
    let mut wrong = Vec::new();
    for page in pages.iter().filter(|page| args.page.is_empty() || args.page.contains(&page.name)) {
        match reader.read(page) {
            Ok(steps) => println!("{}: {steps} steps, as it says", page.name),
            Err(error) => wrong.push(format!("{}: {error:#}", page.name)),
        }
    }
    // Last, where a reader of the end of a log finds it.
    wrong.iter().for_each(|error| println!("{error}"));
    Ok(wrong.is_empty())
}

/// A follower of the guide.
struct Reader {
    repository: PathBuf,
    /// With `turnwise` in it.
    path: std::ffi::OsString,
    /// What is built for one page serves the next.
    target: PathBuf,
}

impl Reader {
    /// Builds `turnwise` like the tests: after them there is nothing to do.
    fn new() -> Result<Reader> {
        ensure!(cargo("test --workspace --no-run").succeeds()?, "turnwise cannot be built");
        let repository = std::env::current_dir().context("cannot find the current folder")?;
        let target = repository.join(target());
        let mut folders = vec![target.join("debug")];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(folders).context("PATH has a folder with a colon")?;
        Ok(Reader { repository, path, target: target.join("guide") })
    }

    /// Follows a page; how many steps it has.
    fn read(&self, page: &Page) -> Result<usize> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let steps = self.steps(page, folder.path());
        if steps.is_err() {
            // What the page left running, since it did not come to where it ends that.
            self.step("for pid in *.pid; do kill -9 \"$(cat \"$pid\")\" || true; done", 0, folder.path())?;
        }
        steps
    }

    fn steps(&self, page: &Page, folder: &Path) -> Result<usize> {
        let (mut printed, mut steps) = (String::new(), 0);
        for (line, block) in &page.blocks {
            let step = || format!("docs/guide/{}.md:{line}", page.name);
            match block {
                Block::Run { script, status } => {
                    printed = self.step(script, *status, folder).with_context(step)?;
                    steps += 1;
                }
                Block::File { name, text } => {
                    let text = text.replace("${TURNWISE}", &self.repository.to_string_lossy());
                    write(folder.join(name), text).with_context(step)?;
                }
                Block::Expect(wanted) => page::expect(wanted, &printed).with_context(step)?,
            }
        }
        Ok(steps)
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
