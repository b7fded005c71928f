//! A file that the user asked for: refused at once if it cannot be written, and in its place only when it is complete.

use anyhow::{Context, Result, bail};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A draft beside the file, which takes its place when it is complete.
#[derive(Debug)]
pub(crate) struct Draft {
    draft: NamedTempFile,
    file: PathBuf,
}

impl Draft {
    /// For the file that this flag (`--json`) names.
    ///
    /// # Errors
    /// The file's directory cannot be written to.
    pub(crate) fn open(flag: &str, file: &Path) -> Result<Draft> {
        let complaint = || format!("cannot write {flag}={}", file.display());
        if file.is_dir() {
            bail!("{}: it is a directory; name a file", complaint());
        }
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode = Permissions::from_mode(0o666); // less the umask
        let draft = tempfile::Builder::new().permissions(mode).tempfile_in(directory).with_context(complaint)?;
        Ok(Draft { draft, file: file.to_path_buf() })
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// As the system has it.
    pub(crate) fn write(mut self, content: &[u8]) -> Result<()> {
        let complaint = || format!("cannot write {}", self.file.display());
        self.draft.write_all(content).with_context(complaint)?;
        self.draft.persist(&self.file).with_context(complaint)?;
        Ok(())
    }
}
