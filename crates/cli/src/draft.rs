//! A file that the user asked for: refused at once if it cannot be written, and in its place only when it is complete.

use anyhow::{Context, Result, bail};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file to be, in a folder that can be written to.
#[derive(Debug)]
pub(crate) struct Draft {
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
        // It goes away at once: whoever is interrupted meanwhile leaves nothing behind.
        beside(file).with_context(complaint)?;
        Ok(Draft { file: file.to_path_buf() })
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// As the system has it.
    pub(crate) fn write(self, content: &[u8]) -> Result<()> {
        let complaint = || format!("cannot write {}", self.file.display());
        let mut draft = beside(&self.file).with_context(complaint)?;
        draft.write_all(content).with_context(complaint)?;
        draft.persist(&self.file).with_context(complaint)?;
        Ok(())
    }
}

/// A file with a name of its own in the same folder.
fn beside(file: &Path) -> std::io::Result<NamedTempFile> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = Permissions::from_mode(0o666); // less the umask
    tempfile::Builder::new().permissions(mode).tempfile_in(directory)
}
