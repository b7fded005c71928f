//! Before a program runs: our own programs' compilation, its folder, its set-up.

use super::table::Program;
use crate::command::{Run, cmd, in_memory, need_all, of_words, skip, text_of};
use anyhow::{Result, bail, ensure};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A program that can be run.
pub(crate) struct Ready {
    /// With all placeholders replaced.
    pub(crate) command: Vec<String>,
    /// Its files; removed when dropped.
    _folder: TempDir,
}

/// Makes a program ready.
///
/// # Errors
/// It fails, or why it cannot run here.
pub(crate) fn prepare(program: &Program, here: &Path) -> Result<Ready> {
    need_all(&program.needs, &std::env::var_os("PATH").unwrap_or_default(), &program.packages)?;
    let folder = in_memory("turnwise-programs-")?;
    let own = match &program.source {
        Some(source) => compile(program, &here.join(source), folder.path())?,
        None => PathBuf::new(),
    };
    let fill = |word: &String| {
        let word = word.replace("{program}", &own.to_string_lossy()).replace("{here}", &here.to_string_lossy());
        word.replace("{dir}", &folder.path().to_string_lossy())
    };
    let setup: Vec<String> = program.setup.iter().map(fill).collect();
    if !setup.is_empty() {
        let out = of_words(setup).printed()?;
        ensure!(out.status.success(), "its set-up failed ({}): {}", out.status, text_of(&out.stderr).trim());
    }
    Ok(Ready { command: program.command.iter().map(fill).collect(), _folder: folder })
}

/// Compiles one of our programs.
fn compile(program: &Program, source: &Path, folder: &Path) -> Result<PathBuf> {
    let compiler = if source.extension().is_some_and(|e| e == "c") { "gcc" } else { "g++" };
    let path = folder.join("program");
    let mut build = cmd(&format!("{compiler} -O2 -Wall -pthread -o"));
    build.arg(&path).arg(source).args(program.libraries.iter().map(|library| format!("-l{library}")));
    let output = build.printed()?;
    let said = text_of(&output.stderr);
    match output.status.success() {
        true => Ok(path),
        false if said.contains("No such file") || said.contains("cannot find -l") => {
            let (libraries, packages) = (program.libraries.join(", "), program.packages.join(" "));
            Err(skip(format!("no {libraries} here: `apt-get install {packages}`")))
        }
        false => bail!("{compiler} cannot compile {}:\n{said}", source.display()),
    }
}
