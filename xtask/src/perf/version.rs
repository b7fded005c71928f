//! The two versions: the working tree as it is, and a commit, which is built once in a folder of its own below
//! `target/perf`.

use super::placement::Placement;
use crate::command::{Run, cmd, git, of_words, outputs_to, text_of};
use crate::root::{cargo, copy, target, write};
use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::environment;

/// Where commits, their programs and the logs of their builds lie.
const FOLDER: &str = "target/perf";
/// Lines of a build's log that its failure shows.
const LAST_LINES: usize = 20;
/// The two programs of a version.
const PROGRAM: &str = "turnwise";
const LAB: &str = "turnwise-lab";

/// A version, built.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Version {
    /// Its commit, with `+` if files were changed since; or the program, where that was given.
    pub(super) name: String,
    /// The commit's first line, and what is changed.
    pub(super) what: String,
    /// The program `turnwise`, which carries its preload library.
    #[serde(skip)]
    pub(super) program: PathBuf,
    /// The program `turnwise-lab`; of an existing program without one alongside, that itself.
    #[serde(skip)]
    pub(super) bench: PathBuf,
    /// Its run-time settings, if these and not the build are what differs.
    #[serde(skip)]
    pub(super) overridden: Option<Overrides>,
}

/// The run-time settings of a version: numbers of its policy.
#[derive(Clone, Debug)]
pub(crate) struct Overrides {
    /// The preload library that reads them from its environment: feature `ablate`.
    pub(crate) library: PathBuf,
    /// `NAME=VALUE` each.
    pub(crate) set: Vec<String>,
    /// Other variables.
    pub(crate) variables: Vec<(String, String)>,
}

impl Overrides {
    /// Returns a program that runs on the library.
    pub(super) fn command(&self, words: &[String]) -> Command {
        let mut command = of_words(words);
        command.env("LD_PRELOAD", &self.library).env(environment::LOCK, "adaptive");
        command.env("TURNWISE_ABLATE", self.set.join(",")).envs(self.variables.clone());
        command
    }
}

impl Version {
    fn new(name: String, what: String, program: PathBuf) -> Version {
        let lab = program.with_file_name(LAB);
        let bench = if lab.is_file() { lab } else { program.clone() };
        Version { name, what, program, bench, overridden: None }
    }

    /// Returns the laboratory and the programs on a preload library, both with the same settings.
    pub(crate) fn overridden(name: &str, lab: &Path, overridden: Overrides) -> Version {
        let (program, bench) = (overridden.library.clone(), lab.to_path_buf());
        Version { name: name.to_owned(), what: String::new(), program, bench, overridden: Some(overridden) }
    }
}

/// Returns a program that is there already.
pub(super) fn given(program: &Path) -> Result<Version> {
    let found = program.canonicalize().with_context(|| format!("cannot find the program {}", program.display()))?;
    Ok(Version::new(program.display().to_string(), "an existing program".to_owned(), found))
}

/// Builds the version in the working tree.
pub(super) fn working_tree(placement: Placement) -> Result<Version> {
    let (commit, title) = described("HEAD")?;
    let changed = git(&["status", "--porcelain"])?.lines().count();
    let place = Path::new(FOLDER).join(format!("tree{}", placement.suffix()));
    let target = match placement {
        Placement(None) => target(),
        // The compiler's own cache does not know that a linker changed.
        Placement(Some(_)) => place.join("build"),
    };
    let log = place.with_extension("log");
    build(Path::new("."), &target, &log, placement).context("the working tree cannot be built")?;
    // Builds during the measurement must not exchange it.
    let program = keep(&target.join(profile(Path::new("."))), &place)?;
    let (mark, what) = match changed {
        0 => ("", format!("the working tree, unchanged: {title}")),
        1 => ("+", format!("the working tree, 1 file changed since: {title}")),
        more => ("+", format!("the working tree, {more} files changed since: {title}")),
    };
    Ok(Version::new(commit + mark, what, program))
}

/// Unpacks a commit and builds it.
pub(super) fn commit(named: &str, placement: Placement) -> Result<Version> {
    let (name, what) = described(named)?;
    let place = Path::new(FOLDER).join(&name);
    // By compiler: another one makes another program.
    let kept = place.join(compiler()?.replace([' ', '/'], "-") + &placement.suffix());
    let program = kept.join(PROGRAM);
    if !program.is_file() {
        let source = place.join("source");
        unpack(&name, &source)?;
        if !source.join("lab/cli/Cargo.toml").is_file() {
            bail!("{name} ({what}) has no lab/cli: its laboratory lies elsewhere; name a later commit");
        }
        build(&source, &place.join("build"), &place.join("build.log"), placement)
            .with_context(|| format!("{name} ({what}) cannot be built"))?;
        keep(&place.join("build").join(profile(&source)), &kept)?;
        // Half a gigabyte that is not needed again.
        std::fs::remove_dir_all(place.join("build")).context("cannot remove what the build left")?;
    }
    Ok(Version::new(name, what, program.canonicalize().context("cannot find what was built")?))
}

/// Returns the compiler of both versions: the working tree's.
pub(crate) fn compiler() -> Result<String> {
    let all = cmd("rustc --version").text()?;
    Ok(all.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// Returns short name and first line.
fn described(named: &str) -> Result<(String, String)> {
    let exact = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{named}^{{commit}}")]);
    let exact = exact.ok().filter(|exact| !exact.is_empty()).with_context(|| {
        format!("git knows no commit `{named}` here: `git log --oneline` shows some, `git fetch` brings more")
    })?;
    Ok((git(&["rev-parse", "--short=12", &exact])?, git(&["log", "-1", "--format=%s", &exact])?))
}

/// Unpacks the files of a commit.
fn unpack(name: &str, source: &Path) -> Result<()> {
    let _ = std::fs::remove_dir_all(source); // there may be none
    std::fs::create_dir_all(source).with_context(|| format!("cannot make {}", source.display()))?;
    let line = "git archive \"$1\" | tar -x -C \"$2\"";
    let unpacked = cmd("sh -c").args([line, "sh", name]).arg(source).succeeds()?;
    ensure!(unpacked, "{name} cannot be unpacked to {}", source.display());
    Ok(())
}

/// Builds the program in a workspace.
fn build(workspace: &Path, target: &Path, log: &Path, placement: Placement) -> Result<()> {
    let target = std::path::absolute(target)?;
    eprintln!("building {}{} (minutes; log: {})", workspace.display(), placement.words(), log.display());
    write(log, "")?;
    let mut command =
        cargo(&format!("build --profile {} --locked --package turnwise-cli --package {LAB}", profile(workspace)));
    placement.apply(&mut command, Path::new(FOLDER))?;
    command.current_dir(workspace).arg("--target-dir").arg(target);
    if !outputs_to(&mut command, File::create(log)?)?.succeeds()? {
        let said = text_of(&std::fs::read(log)?);
        bail!("the last lines of {}:\n{}", log.display(), last_lines(&said));
    }
    Ok(())
}

/// Returns the profile in which a workspace measures: what was `release` before the tool had to be built soon.
fn profile(workspace: &Path) -> &'static str {
    let manifest = std::fs::read_to_string(workspace.join("Cargo.toml")).unwrap_or_default();
    if manifest.contains("[profile.dist]") { "dist" } else { "release" }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| format!("  {line}\n")).collect()
}

/// Copies the program to where it stays; it is there entirely or not at all.
fn keep(built: &Path, place: &Path) -> Result<PathBuf> {
    // The one that is looked for last: where it is, the other one is.
    for name in [LAB, PROGRAM] {
        let new = place.join(name).with_extension("new");
        copy(built.join(name), &new)?;
        std::fs::rename(&new, place.join(name)).context("cannot copy what was built")?;
    }
    place.join(PROGRAM).canonicalize().context("cannot find what was copied")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_any_of_its_names() {
        let (name, _) = described("HEAD").unwrap();
        assert_eq!(name.len(), 12, "{name}");
        assert_eq!(described(&name).unwrap().0, name);
        for unknown in ["no-such-commit", "--all", "", "HEAD:xtask"] {
            let error = format!("{:#}", described(unknown).unwrap_err());
            assert!(error.contains(&format!("`{unknown}`")) && error.contains("git log"), "{error}");
        }
    }

    #[test]
    fn a_build_that_fails_shows_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let error = format!("{:#}", build(folder.path(), folder.path(), &log, Placement(None)).unwrap_err());
        assert!(error.contains("could not find `Cargo.toml`") && error.contains("log:"), "{error}");
        let many: String = (0..100).map(|number| format!("line {number}\n")).collect();
        assert_eq!(last_lines(&many).lines().count(), LAST_LINES);
        assert!(last_lines(&many).ends_with("  line 99\n"));
    }

    #[test]
    fn a_program_that_was_there_must_be_there() {
        let error = format!("{:#}", given(Path::new("/no/such/turnwise")).unwrap_err());
        assert!(error.contains("/no/such/turnwise"), "{error}");
    }
}
