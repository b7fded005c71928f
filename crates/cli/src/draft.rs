//! A file that the user asked for: refused at once if it cannot be written, and in its place only when it is complete.
//! Of symbolic links it is what they lead to. What is no regular file (a device, a pipe) stays, and is written to.

use anyhow::{Context, Result, bail};
use std::fs::{File, Permissions};
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
        if file == Path::new("-") {
            bail!("{}: name a file, or /dev/stdout (./- is a file of this name)", complaint());
        }
        let file = target(file).with_context(complaint)?;
        if !is_special(&file) {
            // It goes away at once: whoever is interrupted meanwhile leaves nothing behind.
            beside(&file).with_context(complaint)?;
        }
        Ok(Draft { file })
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// As the system has it.
    pub(crate) fn write(self, content: &[u8]) -> Result<()> {
        let complaint = || format!("cannot write {}", self.file.display());
        if is_special(&self.file) {
            let mut file = File::options().write(true).open(&self.file).with_context(complaint)?;
            return file.write_all(content).with_context(complaint);
        }
        let mut draft = beside(&self.file).with_context(complaint)?;
        draft.write_all(content).with_context(complaint)?;
        draft.persist(&self.file).map_err(|error| error.error).with_context(complaint)?;
        Ok(())
    }
}

/// Where a path leads in the end: links are followed, also one to a file that is not there yet.
fn target(file: &Path) -> std::io::Result<PathBuf> {
    /// As many as the system follows.
    const LINKS: u32 = 40;
    let mut file = file.to_path_buf();
    for _ in 0..LINKS {
        let Ok(link) = file.read_link() else { return Ok(file) };
        if is_special(&file) {
            return Ok(file); // what /proc shows of a pipe is no path
        }
        file = file.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(std::io::Error::other("too many links"))
}

/// Whether something is there that is no regular file.
fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| !found.is_file())
}

/// A file with a name of its own in the same folder.
fn beside(file: &Path) -> std::io::Result<NamedTempFile> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = Permissions::from_mode(0o666); // less the umask
    tempfile::Builder::new().permissions(mode).tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn write(file: &Path, content: &str) {
        Draft::open("--json", file).unwrap().write(content.as_bytes()).unwrap();
    }

    #[test]
    fn links_stay_and_what_they_lead_to_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("old"), "before").unwrap();
        for (link, to) in [("link", "old"), ("dangling", "new")] {
            symlink(to, at(link)).unwrap();
            write(&at(link), "after");
            assert!(at(link).is_symlink());
            assert_eq!(std::fs::read_to_string(at(to)).unwrap(), "after");
        }
        symlink("circle", at("circle")).unwrap();
        assert!(Draft::open("--json", &at("circle")).is_err());
    }

    #[test]
    fn a_pipe_stays_and_its_reader_gets_all() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, "all of it");
        assert_eq!(reader.join().unwrap(), "all of it");
        assert!(pipe.metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_dash_is_refused() {
        let error = Draft::open("--json", Path::new("-")).unwrap_err();
        assert!(error.to_string().contains("/dev/stdout"), "{error}");
    }
}
