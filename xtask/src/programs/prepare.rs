//! Before a program runs: its packages, our own programs' compilation, its folder, its set-up.

use super::table::Program;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A program that can be run.
pub(crate) struct Ready {
    /// With all placeholders replaced.
    pub(crate) command: Vec<String>,
    /// Its files; removed when dropped.
    _folder: TempDir,
}

/// Installs the packages of all programs.
pub(super) fn install(programs: &[Program]) -> Result<()> {
    let mut packages: Vec<&str> = programs.iter().flat_map(|p| &p.packages).map(String::as_str).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "--no-install-recommends"]).args(packages).stdout(Stdio::null());
    let status = apt.env("DEBIAN_FRONTEND", "noninteractive").status().context("cannot run apt-get")?;
    if !status.success() {
        bail!("apt-get install failed ({status}); run it by hand, or leave out --install to skip what is missing");
    }
    Ok(())
}

/// Makes a program ready; `Err` within: why it cannot run here.
pub(crate) fn prepare(program: &Program, here: &Path) -> Result<Result<Ready, String>> {
    let missing = |what: &str| format!("no {what}: apt-get install {}", program.packages.join(" "));
    if let Some(need) = program.needs.iter().find(|need| !in_path(need)) {
        return Ok(Err(missing(need)));
    }
    // In memory, where there is such a file system: the disk shall not be measured.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = TempDir::with_prefix_in("turnwise-programs-", place).context("cannot make a folder")?;
    let own = match &program.source {
        Some(source) => match compile(program, &here.join(source), folder.path())? {
            Some(path) => path,
            None => return Ok(Err(missing(&program.libraries.join(", ")))),
        },
        None => PathBuf::new(),
    };
    let fill = |word: &String| {
        let word = word.replace("{program}", &own.to_string_lossy()).replace("{here}", &here.to_string_lossy());
        word.replace("{dir}", &folder.path().to_string_lossy())
    };
    let command = program.command.iter().map(fill).collect();
    let setup: Vec<String> = program.setup.iter().map(fill).collect();
    set_up(&setup)?;
    Ok(Ok(Ready { command, _folder: folder }))
}

fn in_path(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(command).is_file())
}

/// Compiles one of our programs; `None`: a library is not there.
fn compile(program: &Program, source: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    let compiler = if source.extension().is_some_and(|e| e == "c") { "gcc" } else { "g++" };
    let libraries: Vec<String> = program.libraries.iter().map(|library| format!("-l{library}")).collect();
    let path = folder.join("program");
    let mut build = Command::new(compiler);
    build.args(["-O2", "-Wall", "-pthread", "-o"]).arg(&path).arg(source).args(libraries);
    let output = build.output().with_context(|| format!("cannot run {compiler}"))?;
    if output.status.success() {
        return Ok(Some(path));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("No such file") || said.contains("cannot find -l") {
        return Ok(None);
    }
    bail!("{compiler} cannot compile {}:\n{said}", source.display())
}

fn set_up(command: &[String]) -> Result<()> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let output = Command::new(program).args(arguments).output().with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("its set-up failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
