//! `cargo xtask compatibility --crates`: tests of third-party crates, with the locks of parking_lot on ours.

use super::way;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
#[derive(Deserialize)]
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
#[derive(Deserialize)]
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
pub(super) struct Tested {
    pub(super) of: Crate,
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
    for of in crates {
        if !names.is_empty() && !names.iter().any(|name| of.name.contains(name.as_str())) {
            continue;
        }
        let result = compare(&of, &sources, &locks, &folder).unwrap_or_else(|error| Err(format!("{error:#}")));
        let done = Tested { of, result };
        println!("{}", done.line());
        tested.push(done);
    }
    ensure!(
        !tested.is_empty(),
        "no crate's name contains any of {names:?}; they are in {}",
        here.join("crates.toml").display()
    );
    Ok(tested)
}

fn load(here: &Path) -> Result<Vec<Crate>> {
    let path = here.join("crates.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: Table = toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    Ok(table.crates)
}

/// Has cargo fetch the crates; returns where their files are.
fn sources(crates: &[Crate], folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        manifest_path: PathBuf,
    }
    let fetched = folder.join("fetched");
    fs::create_dir_all(fetched.join("src")).context("cannot make a folder")?;
    fs::write(fetched.join("src/lib.rs"), "")?;
    let lines: Vec<_> = crates.iter().map(|of| format!("{} = \"={}\"\n", of.name, of.version)).collect();
    let manifest =
        "[package]\nname = \"fetched\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n";
    fs::write(fetched.join("Cargo.toml"), format!("{manifest}{}", lines.concat()))?;
    let output =
        cargo(&["metadata", "--format-version=1"]).current_dir(&fetched).output().context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "the crates cannot be fetched: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let all: Metadata = serde_json::from_slice(&output.stdout).context("what cargo metadata says")?;
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
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status().context("cannot run cp")?;
    ensure!(status.success(), "{} cannot be copied", from.display());
    let _ = fs::remove_file(to.join("Cargo.lock")); // it may ask for an older parking_lot
    let manifest = to.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, format!("{text}\n[workspace]\n")).context("cannot write a manifest")
}

/// Makes the parking_lot of our locks; returns where it is.
fn assemble(sources: &BTreeMap<String, PathBuf>, here: &Path, folder: &Path) -> Result<PathBuf> {
    let (made, ours) = (folder.join("on-turnwise"), here.join(LOCKS));
    copy(sources, LOCKS, &made)?;
    for file in REPLACED {
        fs::copy(ours.join(file), made.join("src").join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    let theirs = fs::read_to_string(made.join("src").join(WITH_TESTS))?;
    let Some(tests) = theirs.find("#[cfg(test)]") else { bail!("{WITH_TESTS} of {LOCKS} has no tests any more") };
    let both = fs::read_to_string(ours.join(WITH_TESTS))? + &theirs[tests..];
    fs::write(made.join("src").join(WITH_TESTS), both)?;
    let manifest = made.join("Cargo.toml");
    let turnwise = std::path::absolute("crates/turnwise")?;
    let text = fs::read_to_string(&manifest)? + &format!("\n[dependencies.turnwise]\npath = {:?}\n", turnwise);
    fs::write(&manifest, text)?;
    Ok(made)
}

/// Runs the tests of a crate with parking_lot's locks and with ours; returns how many pass, or why not.
fn compare(
    of: &Crate,
    sources: &BTreeMap<String, PathBuf>,
    locks: &Path,
    folder: &Path,
) -> Result<Result<usize, String>> {
    let copied = folder.join(&of.name);
    copy(sources, &of.name, &copied)?;
    let theirs = match tests(of, &copied, None, folder)? {
        Ok(passed) => passed,
        Err(why) => return Ok(Err(format!("on its own locks: {why}"))),
    };
    let (at, patch) = if of.name == LOCKS { (locks, None) } else { (copied.as_path(), Some(locks)) };
    let mut missing = theirs.clone();
    for _ in 0..TRIES {
        match tests(of, at, patch, folder)? {
            Ok(ours) => missing.retain(|test| !ours.contains(test)),
            Err(why) => return Ok(Err(format!("on ours: {why}"))),
        }
        if missing.is_empty() {
            return Ok(Ok(theirs.len()));
        }
    }
    let all: Vec<_> = missing.into_iter().collect();
    Ok(Err(format!("pass on its own locks, and {TRIES} times not on ours: {}", all.join(", "))))
}

/// Runs a crate's tests: those that pass, or why none does.
fn tests(of: &Crate, at: &Path, patch: Option<&Path>, folder: &Path) -> Result<Result<BTreeSet<String>, String>> {
    let patch = patch.map(|locks| format!("patch.crates-io.{LOCKS}.path={:?}", locks.display().to_string()));
    let config: Vec<_> = patch.iter().flat_map(|patch| ["--config", patch.as_str()]).collect();
    let is_ours = !config.is_empty();
    if is_ours {
        let tree =
            cargo(&config).args(["tree", "--quiet", "--all-features", "--invert", "turnwise"]).current_dir(at).output();
        let tree = tree.context("cannot run cargo")?;
        ensure!(tree.status.success(), "{} {} does not use this {LOCKS}: nothing to try", of.name, of.version);
    }
    let log = folder.join(format!("{}{}.log", of.name, if is_ours { "-on-turnwise" } else { "" }));
    let out = File::create(&log).context("cannot make a file")?;
    let mut command = cargo(&config);
    command.args(["test", "--no-fail-fast"]).args(&of.arguments).arg("--");
    command.args(of.skip.iter().flat_map(|skipped| ["--skip", skipped.test.as_str()]));
    command.current_dir(at).env("CARGO_TARGET_DIR", folder.join("built")).stdout(out.try_clone()?).stderr(out);
    let status = way::bounded(command, LIMIT)?;
    let text = fs::read_to_string(&log).context("cannot read what cargo printed")?;
    let name = |line: &str| line.strip_prefix("test ")?.strip_suffix(" ... ok").map(str::to_owned);
    Ok(match status {
        Some(_) => {
            let passed: BTreeSet<_> = text.lines().filter_map(name).collect();
            match passed.is_empty() {
                true => Err(format!("{}: see {}", crate::programs::run::last_lines(&text), log.display())),
                false => Ok(passed),
            }
        }
        None => Err(format!("no end within {} s: see {}", LIMIT.as_secs(), log.display())),
    })
}

/// Returns cargo, without the environment of the cargo that started us.
fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    for variable in ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "RUSTFLAGS"] {
        cargo.env_remove(variable);
    }
    cargo.args(arguments).stdin(Stdio::null());
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
