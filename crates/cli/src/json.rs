//! The report as a JSON document.

use crate::report::Report;
use anyhow::{Context, Result, bail};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where the document goes; opened before anything is measured.
pub(crate) enum Destination {
    Stdout,
    /// A draft beside the file, which takes its place when it is complete.
    File(NamedTempFile, PathBuf),
}

impl Destination {
    /// Standard output unless a file is named.
    ///
    /// # Errors
    /// The file's directory cannot be written to.
    pub(crate) fn open(file: Option<&Path>) -> Result<Destination> {
        let Some(file) = file else { return Ok(Destination::Stdout) };
        let complaint = || format!("cannot write --json={}", file.display());
        if file.is_dir() {
            bail!("{}: it is a directory; name a file", complaint());
        }
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode = Permissions::from_mode(0o666); // less the umask
        let draft = tempfile::Builder::new().permissions(mode).tempfile_in(directory).with_context(complaint)?;
        Ok(Destination::File(draft, file.to_path_buf()))
    }

    /// Writes the document.
    ///
    /// # Errors
    /// As the system has it.
    pub(crate) fn write(self, report: &Report) -> Result<()> {
        let text = serde_json::to_string_pretty(report)? + "\n";
        match self {
            Destination::Stdout => crate::print(&text),
            Destination::File(mut draft, file) => {
                draft.write_all(text.as_bytes())?;
                draft.persist(&file).with_context(|| format!("cannot write {}", file.display()))?;
                Ok(())
            }
        }
    }
}
