//! `cargo xtask compatibility --crates`: tests of third-party crates, with the locks of parking_lot on ours.

use crate::command::{Run, bounded, cmd, last_lines, named, outputs_to, toml};
use crate::root::{self, read, write};
use crate::supply::{Graph, Package};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Copies of the crates, and what is built of them.
const FOLDER: &str = "target/compatibility";
/// For building and running one crate's tests.
const LIMIT: Duration = Duration::from_secs(1200);
/// Runs on our locks in which a test may fail by itself: some crates' tests read the clock.
const TRIES: u32 = 2;
/// The crate whose files ours replace.
const LOCKS: &str = "parking_lot";
/// The files that are replaced as a whole.
const REPLACED: [&str; 2] = ["raw_mutex.rs", "raw_rwlock.rs"];
/// The file that keeps its tests.
const WITH_TESTS: &str = "condvar.rs";

/// A crate with tests.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    pub(super) skip: Vec<Skipped>,
}

/// A test that is left out.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skipped {
    pub(super) test: String,
    pub(super) reason: String,
}

#[derive(Deserialize)]
struct Table {
    #[serde(rename = "crate")]
    crates: Vec<Crate>,
}

/// The result of a crate's tests.
#[derive(Serialize)]
pub(super) struct Tested {
    #[serde(flatten)]
    of: Crate,
    /// Tests that pass with both, or what is wrong.
    pub(super) result: Result<usize, String>,
}

impl Tested {
    fn line(&self) -> String {
        let of = format!("{} {}", self.of.name, self.of.version);
        match &self.result {
            Ok(passed) => format!("{of:30} {passed} tests pass with both"),
            Err(why) => format!("{of:30} FAILED: {why}"),
        }
    }
}

/// Runs the tests of the crates whose names contain any of these.
pub(super) fn run(here: &Path, names: &[String]) -> Result<Vec<Tested>> {
    let crates = load(here)?;
    let folder = std::path::absolute(FOLDER)?;
    let sources = sources(&crates, &folder)?;
    let locks = assemble(&sources, here, &folder)?;
    let mut tested = Vec::new();
    for of in named(crates, names, |of| &of.name, ["crate", "compatibility --crates"])? {
        let result = compare(&of, &sources, &locks, &folder).map_err(|why| format!("{why:#}"));
        let done = Tested { of, result };
        println!("{}", done.line());
        tested.push(done);
    }
    Ok(tested)
}

fn load(here: &Path) -> Result<Vec<Crate>> {
    Ok(toml::<Table>(here.join("crates.toml"))?.crates)
}

/// Has cargo fetch the crates; returns where their files are.
fn sources(crates: &[Crate], folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let fetched = folder.join("fetched");
    write(fetched.join("src/lib.rs"), "")?;
    let lines: Vec<_> = crates.iter().map(|of| format!("{} = \"={}\"\n", of.name, of.version)).collect();
    let manifest =
        "[package]\nname = \"fetched\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n";
    write(fetched.join("Cargo.toml"), format!("{manifest}{}", lines.concat()))?;
    let text = cargo(&["metadata", "--format-version=1"]).current_dir(&fetched).text();
    let all: Graph = serde_json::from_str(&text.context("the crates cannot be fetched")?)?;
    let is_one = |package: &Package| crates.iter().any(|of| of.name == package.name && of.version == package.version);
    let folder_of = |package: Package| Some((package.name, package.manifest_path.parent()?.to_path_buf()));
    Ok(all.packages.into_iter().filter(is_one).filter_map(folder_of).collect())
}

/// Copies a crate to a place where it can be built by itself.
fn copy(sources: &BTreeMap<String, PathBuf>, name: &str, to: &Path) -> Result<()> {
    let from = sources.get(name).with_context(|| format!("cargo did not fetch {name}"))?;
    let _ = fs::remove_dir_all(to); // there may be none
    let parent = to.parent().context("it lies in a folder")?;
    fs::create_dir_all(parent)?;
    ensure!(cmd("cp -r").arg(from).arg(to).succeeds()?, "{} cannot be copied", from.display());
    let _ = fs::remove_file(to.join("Cargo.lock")); // it may ask for an older parking_lot
    let manifest = to.join("Cargo.toml");
    write(&manifest, read(&manifest)? + "\n[workspace]\n")
}

/// Makes the parking_lot of our locks; returns where it is.
fn assemble(sources: &BTreeMap<String, PathBuf>, here: &Path, folder: &Path) -> Result<PathBuf> {
    let (made, ours) = (folder.join("on-turnwise"), here.join(LOCKS));
    copy(sources, LOCKS, &made)?;
    for file in REPLACED {
        root::copy(ours.join(file), made.join("src").join(file))?;
    }
    let theirs = read(made.join("src").join(WITH_TESTS))?;
    let Some(tests) = theirs.find("#[cfg(test)]") else { bail!("{WITH_TESTS} of {LOCKS} has no tests any more") };
    write(made.join("src").join(WITH_TESTS), read(ours.join(WITH_TESTS))? + &theirs[tests..])?;
    let manifest = made.join("Cargo.toml");
    let turnwise = std::path::absolute("crates/turnwise")?;
    write(&manifest, read(&manifest)? + &format!("\n[dependencies.turnwise]\npath = {turnwise:?}\n"))?;
    Ok(made)
}

/// Runs the tests of a crate with parking_lot's locks and with ours; returns how many pass, or why not.
fn compare(of: &Crate, sources: &BTreeMap<String, PathBuf>, locks: &Path, folder: &Path) -> Result<usize> {
    let copied = folder.join(&of.name);
    copy(sources, &of.name, &copied)?;
    let theirs = tests(of, &copied, None, folder).context("on its own locks")?;
    let (at, patch) = if of.name == LOCKS { (locks, None) } else { (copied.as_path(), Some(locks)) };
    let mut missing = theirs.clone();
    for _ in 0..TRIES {
        let ours = tests(of, at, patch, folder).context("on ours")?;
        missing.retain(|test| !ours.contains(test));
        if missing.is_empty() {
            return Ok(theirs.len());
        }
    }
    let all: Vec<_> = missing.into_iter().collect();
    bail!("pass on its own locks, and {TRIES} times not on ours: {}", all.join(", "))
}

/// Runs a crate's tests; returns those that pass.
fn tests(of: &Crate, at: &Path, patch: Option<&Path>, folder: &Path) -> Result<BTreeSet<String>> {
    let patch = patch.map(|locks| format!("patch.crates-io.{LOCKS}.path={:?}", locks.display().to_string()));
    let config: Vec<_> = patch.iter().flat_map(|patch| ["--config", patch.as_str()]).collect();
    if patch.is_some() {
        let tree = ["tree", "--quiet", "--all-features", "--invert", "turnwise"];
        let uses_ours = cargo(&config).args(tree).current_dir(at).printed()?.status.success();
        ensure!(uses_ours, "{} {} does not use this {LOCKS}: nothing to try", of.name, of.version);
    }
    let log = folder.join(format!("{}{}.log", of.name, if patch.is_some() { "-on-turnwise" } else { "" }));
    let mut command = cargo(&config);
    command.args(["test", "--no-fail-fast"]).args(&of.arguments).arg("--");
    command.args(of.skip.iter().flat_map(|skipped| ["--skip", skipped.test.as_str()]));
    command.current_dir(at).env("CARGO_TARGET_DIR", folder.join("built"));
    let ended = bounded(outputs_to(&mut command, File::create(&log).context("cannot make a file")?)?, LIMIT)?;
    let see = || format!("see {}", log.display());
    ended.with_context(|| format!("no end within {} s: {}", LIMIT.as_secs(), see()))?;
    let text = read(&log)?;
    let name = |line: &str| line.strip_prefix("test ")?.strip_suffix(" ... ok").map(str::to_owned);
    let passed: BTreeSet<_> = text.lines().filter_map(name).collect();
    ensure!(!passed.is_empty(), "{}: {}", last_lines(&text), see());
    Ok(passed)
}

/// Returns cargo, without the environment of the cargo that started us.
fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = cmd("env -u CARGO -u CARGO_MANIFEST_DIR -u CARGO_MANIFEST_PATH -u RUSTFLAGS cargo");
    cargo.args(arguments);
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_says_why_tests_are_left_out() {
        let crates = load(Path::new("compatibility")).unwrap();
        assert!(crates.len() >= 10 && crates.iter().any(|of| of.name == LOCKS));
        assert!(crates.iter().flat_map(|of| &of.skip).all(|skip| !skip.reason.is_empty()));
    }
}
