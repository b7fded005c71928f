//! An output file that the user requested: it is refused immediately if it cannot be written, and put in place only
//! when it is complete. For symbolic links, it is their target. A non-regular file (a device, a pipe) stays, and is
//! written to. So is one that is already open (`/dev/stdout`), after its existing contents.

use crate::ending::print_bytes;
use crate::printable;
use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The file name that stands for standard output.
const STDOUT: &str = "-";

/// A future file, in a folder that can be written to.
#[derive(Debug)]
pub struct OutputFile {
    file: PathBuf,
    /// A second descriptor of a file named by descriptor.
    open: Option<OwnedFd>,
}

impl OutputFile {
    /// Prepares the file that this flag (`--json`) names; fails if its directory cannot be written to.
    pub fn open(flag: &str, file: &Path) -> Result<OutputFile> {
        let complaint = || format!("cannot write {flag}={}", file.display());
        if file.is_dir() {
            bail!("{}: it is a directory; name a file", complaint());
        }
        if file == Path::new(STDOUT) {
            return Ok(OutputFile { file: file.to_owned(), open: None });
        }
        let file = target(file).with_context(complaint)?;
        let open = descriptor(&file).map(second).transpose().with_context(complaint)?;
        if open.is_none() && !is_special(&file) {
            // It is removed immediately: an interrupted program leaves no file behind.
            beside(&file).with_context(complaint)?;
        }
        Ok(OutputFile { file, open })
    }

    /// Prepares the file, if the flag names one.
    pub fn asked(flag: &str, file: Option<&Path>) -> Result<Option<OutputFile>> {
        file.map(|file| OutputFile::open(flag, file)).transpose()
    }

    /// Returns whether `-` was named: it goes to standard output.
    pub fn is_stdout(&self) -> bool {
        self.file == Path::new(STDOUT)
    }

    /// Returns whether it would replace the output at `other`, or vice versa. A device or a pipe takes both; so does a
    /// file by two descriptors.
    pub fn is_same(&self, other: &Path) -> bool {
        if self.is_stdout() || other == Path::new(STDOUT) {
            return self.file == other;
        }
        let Ok(other) = target(other) else { return false };
        if is_special(&self.file) {
            return false;
        }
        match (self.open.is_some(), descriptor(&other).is_some()) {
            (true, true) => false,
            (false, false) => placed(&self.file) == placed(&other),
            _ => inode(&self.file).is_some_and(|this| Some(this) == inode(&other)),
        }
    }

    /// Puts the file in place, and reports it on standard error.
    pub fn write(self, content: &[u8]) -> Result<()> {
        if self.is_stdout() {
            return print_bytes(content);
        }
        let complaint = || format!("cannot write {}", self.file.display());
        if let Some(open) = self.open {
            return File::from(open).write_all(content).with_context(complaint);
        }
        if is_special(&self.file) {
            let mut file = File::options().write(true).open(&self.file).with_context(complaint)?;
            return file.write_all(content).with_context(complaint);
        }
        let mut output_file = beside(&self.file).with_context(complaint)?;
        output_file.as_file_mut().write_all(content).with_context(complaint)?;
        output_file.persist(&self.file).map_err(|error| error.error).with_context(complaint)?;
        // Standard error may be closed, and the file is in place.
        let _ = writeln!(std::io::stderr(), "wrote {}", printable(&self.file.display().to_string()));
        Ok(())
    }
}

/// Returns the final target of a path: links are followed, even one to a file that does not exist yet.
fn target(file: &Path) -> std::io::Result<PathBuf> {
    /// The number of links that the system follows.
    const LINKS: u32 = 40;
    let mut file = file.to_path_buf();
    for _ in 0..LINKS {
        let Ok(link) = file.read_link() else { return Ok(file) };
        if descriptor(&file).is_some() || is_special(&file) {
            return Ok(file); // what /proc shows for a pipe is not a path
        }
        file = file.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(std::io::Error::other("too many links"))
}

/// Returns the number that `/dev/stdout`'s `/proc/self/fd/1` and the like end in.
fn descriptor(file: &Path) -> Option<RawFd> {
    let own = Path::new("/proc/self/fd").canonicalize().ok()?;
    let is_own = folder(file).canonicalize().is_ok_and(|folder| folder == own);
    file.file_name().filter(|_| is_own)?.to_str()?.parse().ok().filter(|number| *number >= 0)
}

/// Returns a second descriptor of the same open file: writes continue at the other's position.
fn second(descriptor: RawFd) -> std::io::Result<OwnedFd> {
    // SAFETY: the caller of this process keeps it open. If it is not open, the system reports so without harm.
    let first = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let second = first.try_clone_to_owned()?;
    if rustix::fs::fcntl_getfl(&second)?.intersection(OFlags::RWMODE) == OFlags::RDONLY {
        return Err(std::io::Error::other("it is open only for reading"));
    }
    Ok(second)
}

/// Returns the identity of a file, whatever its names.
fn inode(file: &Path) -> Option<(u64, u64)> {
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Returns a file's name in its folder, however that folder was named.
fn placed(file: &Path) -> Option<PathBuf> {
    Some(folder(file).canonicalize().ok()?.join(file.file_name()?))
}

fn folder(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| !found.is_file())
}

/// Creates a temporary file in the same folder. Its name means nothing to the user, and is in no error.
fn beside(file: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new().make_in(folder(file), |path| File::options().write(true).create_new(true).open(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn write(file: &Path, content: &str) {
        OutputFile::open("--json", file).unwrap().write(content.as_bytes()).unwrap();
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
        assert!(OutputFile::open("--json", &at("circle")).is_err());
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
    fn a_missing_folder_is_named_and_no_file_of_ours() {
        let folder = tempfile::Builder::new().prefix("drafts").tempdir().unwrap();
        let error = OutputFile::open("--json", &folder.path().join("no/file")).unwrap_err();
        let shown = format!("{error:#}");
        assert!(shown.contains("/no/file: No such file or directory"), "{shown}");
        assert!(!shown.contains(".tmp"), "{shown}");
    }

    #[test]
    fn one_file_has_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("file", at("link")).unwrap();
        symlink(".", at("here")).unwrap();
        let output_file = OutputFile::open("--json", &at("file")).unwrap();
        assert!([at("file"), at("link"), at("here/file"), at("./file")].iter().all(|same| output_file.is_same(same)));
        assert!(!output_file.is_same(&at("other")) && !output_file.is_same(&at("none/file")));
        assert!(!OutputFile::open("--json", Path::new("/dev/stdout")).unwrap().is_same(Path::new("/dev/stdout")));
    }

    #[test]
    fn a_file_by_name_and_by_descriptor_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let open = File::create(&path).unwrap();
        let descriptor = Path::new("/dev/fd").join(open.as_raw_fd().to_string());
        assert!(OutputFile::open("--json", &descriptor).unwrap().is_same(&path));
        assert!(OutputFile::open("--json", &path).unwrap().is_same(&descriptor));
        assert!(!OutputFile::open("--json", &descriptor).unwrap().is_same(&descriptor), "both are written, one by one");
        assert!(!OutputFile::open("--json", &descriptor).unwrap().is_same(&folder.path().join("other")));
    }

    #[test]
    fn what_is_open_for_reading_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("input"), "").unwrap();
        let open = File::open(folder.path().join("input")).unwrap();
        let refused = OutputFile::open("--json", &Path::new("/dev/fd").join(open.as_raw_fd().to_string()));
        assert!(format!("{:#}", refused.unwrap_err()).ends_with("it is open only for reading"));
    }

    #[test]
    fn what_is_open_is_written_where_it_has_come_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let mut open = File::create(&path).unwrap();
        open.write_all(b"report\n").unwrap();
        for place in ["/proc/self/fd", "/dev/fd"] {
            write(&Path::new(place).join(open.as_raw_fd().to_string()), "document\n");
        }
        open.write_all(b"end\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "report\ndocument\ndocument\nend\n");
        for closed in ["999", "-1", "4294967295"] {
            assert!(OutputFile::open("--json", &Path::new("/dev/fd").join(closed)).is_err());
        }
    }

    #[test]
    fn a_dash_is_standard_output() {
        let output_file = OutputFile::open("--json", Path::new("-")).unwrap();
        assert!(output_file.is_stdout() && output_file.is_same(Path::new("-")));
        let file = tempfile::tempdir().unwrap().path().join("file");
        assert!(!output_file.is_same(&file));
        let named = OutputFile::open("--json", Path::new("./-")).unwrap();
        assert!(!named.is_stdout() && !named.is_same(Path::new("-")), "a file of this name");
    }
}
