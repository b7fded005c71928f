//! The table of programs: `xtask/programs/programs.toml`, where each key is explained.

use crate::command::{Run, in_memory, named, need_all, of_words, rows_in, text_of};
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::path::Path;
use tempfile::TempDir;

/// A program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub(crate) name: String,
    #[serde(default)]
    needs: Vec<String>,
    pub(super) packages: Vec<String>,
    #[serde(default)]
    setup: Vec<String>,
    pub(super) command: Vec<String>,
    /// None: a test of the program by itself.
    pub(crate) metric: Option<String>,
    #[serde(default)]
    pub(crate) lower: bool,
    pub(super) equal: Option<String>,
    #[serde(default)]
    pub(super) bound: bool,
}

/// A program that can be run.
pub(crate) struct Ready {
    /// With all placeholders replaced.
    pub(crate) command: Vec<String>,
    /// Its files; removed when dropped.
    _folder: TempDir,
}

impl Program {
    /// Makes it ready: its folder, and its set-up, which compiles those of ours.
    ///
    /// # Errors
    /// It fails, or why it cannot run here.
    pub(crate) fn prepare(&self, here: &Path) -> Result<Ready> {
        need_all(&self.needs, &std::env::var_os("PATH").unwrap_or_default(), &self.packages)?;
        let folder = in_memory("turnwise-programs-")?;
        let fill = |word: &String| {
            word.replace("{here}", &here.to_string_lossy()).replace("{dir}", &folder.path().to_string_lossy())
        };
        let setup: Vec<String> = self.setup.iter().map(fill).collect();
        if !setup.is_empty() {
            let out = of_words(setup).printed()?;
            ensure!(out.status.success(), "its set-up failed ({}): {}", out.status, text_of(&out.stderr).trim());
        }
        Ok(Ready { command: self.command.iter().map(fill).collect(), _folder: folder })
    }
}

/// Reads the list in the folder `here`; returns the programs whose names contain any of these, or all.
pub(crate) fn chosen(here: &Path, names: &[impl AsRef<str>]) -> Result<Vec<Program>> {
    named(rows_in(here.join("programs.toml"))?, names, |program| &program.name, ["program", "programs --list"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_its_patterns_compile() {
        let programs = chosen(Path::new("programs"), &[""; 0]).unwrap();
        for program in &programs {
            if let Some(metric) = &program.metric {
                let metric = regex::Regex::new(metric).unwrap();
                assert_eq!(metric.captures_len(), 2, "{}: one group is the figure", program.name);
            } else {
                assert!(program.equal.is_some() && !program.bound, "{}: only its results count", program.name);
            }
            assert!(program.equal.as_deref().is_none_or(|equal| regex::Regex::new(equal).is_ok()), "{}", program.name);
            assert!(!program.needs.is_empty(), "{} is not a command", program.name);
        }
        let names: std::collections::HashSet<_> = programs.iter().map(|program| &program.name).collect();
        assert_eq!(names.len(), programs.len(), "two programs have one name");
    }
}
