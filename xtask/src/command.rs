//! Commands of other programs and what they print, and the tables by which chores choose.

use crate::root::{cargo, read, target};
use anyhow::{Context, Error, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;
use turnwise_present::machine::{self, Machine};

/// Returns the command of the words in a line, without input.
pub(crate) fn cmd(words: &str) -> Command {
    of_words(words.split_whitespace())
}

/// Returns the command of these words, without input.
pub(crate) fn of_words(words: impl IntoIterator<Item: Into<OsString>>) -> Command {
    let mut words = words.into_iter().map(Into::into);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stdin(Stdio::null());
    command
}

/// Ways to run a command.
pub(crate) trait Run {
    fn command(&mut self) -> &mut Command;

    /// Shows it and runs it; it must succeed.
    fn must(&mut self) -> Result<()> {
        let command = self.command();
        println!("+ {}", shown(command));
        let status = command.status().with_context(|| unstarted(command))?;
        if status.success() { Ok(()) } else { bail!("{} ended with {status}", shown(command)) }
    }

    /// Runs it; returns whether it succeeded.
    fn succeeds(&mut self) -> Result<bool> {
        let command = self.command();
        Ok(command.status().with_context(|| unstarted(command))?.success())
    }

    /// Runs it, and keeps what it prints.
    fn printed(&mut self) -> Result<Output> {
        let command = self.command();
        command.output().with_context(|| unstarted(command))
    }

    /// Returns its output; it must succeed.
    fn text(&mut self) -> Result<String> {
        let out = self.printed()?;
        let command = self.command();
        if !out.status.success() {
            bail!("{} ended with {}:\n{}", shown(command), out.status, text_of(&out.stderr).trim());
        }
        String::from_utf8(out.stdout).with_context(|| format!("{} prints what is not UTF-8", shown(command)))
    }
}

impl Run for Command {
    fn command(&mut self) -> &mut Command {
        self
    }
}

/// Returns what was printed.
pub(crate) fn text_of(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).into_owned()
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn unstarted(command: &Command) -> String {
    format!("cannot start {}", command.get_program().display())
}

/// Runs a command for a bounded time, and kills what is left of its process group. `None`: it did not end.
pub(crate) fn bounded(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let mut child = command.process_group(0).spawn().with_context(|| unstarted(command))?;
    let group = Pid::from_child(&child);
    let process = pidfd_open(group, PidfdFlags::empty()).context("cannot watch a program")?;
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: 0 };
    // Ended, but not waited for: until then no other group can get its number.
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).context("cannot wait for a program")?;
    match kill_process_group(group, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(error).context("cannot end a program"),
    }
    let status = child.wait().context("cannot wait for a program")?;
    Ok((ended > 0).then_some(status))
}

/// Runs a command, and calls `each` with every line that it prints on either output; returns how it ended.
pub(crate) fn lines(command: &mut Command, mut each: impl FnMut(String) -> Result<()>) -> Result<ExitStatus> {
    let (out, input) = std::io::pipe().context("cannot make a pipe")?;
    let mut child = command.stdout(input.try_clone()?).stderr(input).spawn().with_context(|| unstarted(command))?;
    // Without our ends of the pipe, it ends with the command's.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    for line in BufReader::new(out).split(b'\n') {
        each(text_of(&line.context("cannot read what a command prints")?))?;
    }
    child.wait().context("cannot wait for a command")
}

/// Has both outputs of a command go to a file. Opened once: else each would overwrite the other.
pub(crate) fn outputs_to(command: &mut Command, file: File) -> Result<&mut Command> {
    Ok(command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file))
}

/// Runs a command, for at most `limit` if there is one; returns how it ended, and its whole output.
pub(crate) fn both(command: &mut Command, limit: Option<Duration>) -> Result<(ExitStatus, String)> {
    let out = tempfile::NamedTempFile::new().context("cannot make a file")?;
    let command = outputs_to(command, out.reopen()?)?;
    let status = match limit {
        Some(limit) => bounded(command, limit)?.with_context(|| format!("no end within {} s", limit.as_secs()))?,
        None => command.status().with_context(|| unstarted(command))?,
    };
    Ok((status, text_of(&std::fs::read(out.path())?)))
}

/// Returns the end of what a program printed, in one line.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

/// The exit status of a command that cannot run here; its last line says why. The tests of automake have the same.
pub(crate) const SKIPPED: u8 = 77;

/// Why something cannot run here, which is no failure.
#[derive(Debug)]
struct Skip(String);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns an error that says why something cannot run here.
pub(crate) fn skip(why: impl Into<String>) -> Error {
    Error::msg(Skip(why.into()))
}

/// Returns why something could not run here; any other error stays one.
pub(crate) fn skipped<T>(result: Result<T>) -> Result<Result<T, String>> {
    match result {
        Err(error) if error.is::<Skip>() => Ok(Err(error.to_string())),
        other => other.map(Ok),
    }
}

/// Returns what was done, or `skipped` or `failed` with the reason, as reports have it.
pub(crate) fn outcome(result: Result<Value>) -> Value {
    match skipped(result) {
        Ok(Ok(done)) => done,
        Ok(Err(why)) => json!({ "skipped": why }),
        Err(error) => json!({ "failed": format!("{error:#}") }),
    }
}

/// Returns why there is no result, in a line, if there is none.
pub(crate) fn undone(outcome: &Value) -> Option<String> {
    let why = |kind: &str| Some(format!("{}: {}", kind.to_uppercase(), outcome[kind].as_str()?));
    why("skipped").or_else(|| why("failed"))
}

/// # Errors
/// The program is not here: it is of this package of Debian's.
pub(crate) fn need(program: &str, package: &str) -> Result<()> {
    need_all(&[program.to_owned()], &std::env::var_os("PATH").unwrap_or_default(), &[package.to_owned()])
}

/// # Errors
/// One of the programs is in no folder of `path`: they are of these packages of Debian's.
pub(crate) fn need_all(programs: &[String], path: &OsStr, packages: &[String]) -> Result<()> {
    let is_here = |program: &&String| std::env::split_paths(path).any(|folder| folder.join(program).exists());
    match programs.iter().find(|program| !is_here(program)) {
        Some(program) => Err(skip(format!("no {program} here: `apt-get install {}`", packages.join(" ")))),
        None => Ok(()),
    }
}

/// Installs packages of Debian's.
pub(crate) fn install<'a>(packages: impl Iterator<Item = &'a String>) -> Result<()> {
    let packages = std::collections::BTreeSet::from_iter(packages);
    let mut apt = cmd("apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300");
    let done = apt.args(packages).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()).succeeds()?;
    ensure!(done, "apt-get install failed; run it by hand, or leave out --install to skip what is missing");
    Ok(())
}

/// Makes a folder for a program's files, in memory where possible: disks are not being tested.
pub(crate) fn in_memory(name: &str) -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::TempDir::with_prefix_in(name, place).context("cannot make a folder")
}

/// Builds the whole workspace in dev; returns where the programs and libraries are. A selection of packages has other
/// features than what `cargo test --workspace` has built, so that in CI nearly all was built again.
pub(crate) fn workspace() -> Result<PathBuf> {
    ensure!(cargo("build --quiet --workspace").succeeds()?, "the workspace cannot be built");
    Ok(std::path::absolute(target().join("debug"))?)
}

/// Returns the machine that the compiler is for.
pub(crate) fn host() -> Result<String> {
    let reported = cmd("rustc -vV").text()?;
    let host = reported.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say which machine it is for")
}

/// Returns the output of a git command, without its end of line.
pub(crate) fn git(words: &[&str]) -> Result<String> {
    Ok(cmd("git").args(words).text()?.trim().to_owned())
}

/// Returns the files in a folder that git tracks, or would.
pub(crate) fn tracked(folder: &Path) -> Result<Vec<String>> {
    let files = cmd("git ls-files -z --cached --others --exclude-standard").current_dir(folder).text()?;
    Ok(files.split_terminator('\0').map(str::to_owned).collect())
}

/// Returns how a page is made, by `command`, here and now.
pub(crate) fn made_here(command: &str) -> String {
    let (machine, commit) = (Machine::here(), machine::commit().unwrap_or_else(|| "unknown".to_owned()));
    format!("Written by `{command}`, commit {commit}; do not edit. Machine: {machine}.")
}

/// Reads a TOML file.
pub(crate) fn toml<T: DeserializeOwned>(file: impl AsRef<Path>) -> Result<T> {
    toml::from_str(&read(&file)?).with_context(|| format!("in {}", file.as_ref().display()))
}

/// Returns the entries of a list in TOML; each is headed by the list's name.
pub(crate) fn rows<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, toml::de::Error> {
    toml::from_str::<BTreeMap<String, Vec<T>>>(text).map(|lists| lists.into_values().flatten().collect())
}

/// Reads the list in a TOML file.
pub(crate) fn rows_in<T: DeserializeOwned>(file: impl AsRef<Path>) -> Result<Vec<T>> {
    rows(&read(&file)?).with_context(|| format!("in {}", file.as_ref().display()))
}

/// Reads a JSON file, of `what`.
pub(crate) fn read_json<T: DeserializeOwned>(file: impl AsRef<Path>, what: &str) -> Result<T> {
    let text = read(&file)?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a report of {what}", file.as_ref().display()))
}

/// Returns what a folder has, in the order of names.
pub(crate) fn entries(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    let entries = folder.read_dir().and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    let mut entries: Vec<PathBuf> = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    entries.sort();
    Ok(entries)
}

/// Returns those whose names contain any of these parts, in any case; all, if there are none. `what`: what they are
/// called, and the command that lists them.
pub(crate) fn named<T>(
    mut all: Vec<T>,
    parts: &[impl AsRef<str>],
    name: fn(&T) -> &str,
    [what, list]: [&str; 2],
) -> Result<Vec<T>> {
    let fits = |one: &T, part: &str| name(one).to_lowercase().contains(&part.to_lowercase());
    if let Some(part) = parts.iter().map(|part| part.as_ref()).find(|part| !all.iter().any(|one| fits(one, part))) {
        let names = all.iter().map(name).collect::<Vec<_>>().join("; ");
        bail!("no {what}'s name contains `{part}`; `cargo xtask {list}` lists them: {names}");
    }
    all.retain(|one| parts.is_empty() || parts.iter().any(|part| fits(one, part.as_ref())));
    Ok(all)
}

/// # Errors
/// One of the names is none of those known.
pub(crate) fn all_known<'a>(names: &[String], known: impl Iterator<Item = &'a str>, what: &str) -> Result<()> {
    let known: Vec<_> = known.collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => bail!("no {what} is called `{name}`; there are {}", known.join(", ")),
        None => Ok(()),
    }
}
