//! Before a program runs: its folder, and its set-up, which compiles those of ours.

use super::table::Program;
use crate::command::{Run, in_memory, need_all, of_words, text_of};
use anyhow::{Result, ensure};
use std::path::Path;
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
    let fill = |word: &String| {
        word.replace("{here}", &here.to_string_lossy()).replace("{dir}", &folder.path().to_string_lossy())
    };
    let setup: Vec<String> = program.setup.iter().map(fill).collect();
    if !setup.is_empty() {
        let out = of_words(setup).printed()?;
        ensure!(out.status.success(), "its set-up failed ({}): {}", out.status, text_of(&out.stderr).trim());
    }
    Ok(Ready { command: program.command.iter().map(fill).collect(), _folder: folder })
}
