//! Input files named by a user. A file without an end, or without a writer, is refused immediately.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The maximum size of a text: 256 MiB. The longest reports have some tens.
const MOST_BYTES: u64 = 256 << 20;

/// Opens a regular file. A pipe would wait for a writer, a device has no end.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let refuse = |found: Metadata| match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file; name one")),
    };
    refuse(path.metadata()?)?;
    // Some of the kernel's own files look regular, but block.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    refuse(file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file.
///
/// # Errors
/// As [`open`]; or it is longer than such files may be.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let too_long = || {
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {} MB; name another", MOST_BYTES >> 20))
    };
    if file.metadata()?.len() > MOST_BYTES {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES { Err(too_long()) } else { Ok(bytes) }
}

/// Reads a regular file as text.
///
/// # Errors
/// As [`read`]; or it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8");
    String::from_utf8(read(path)?).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_or_has_no_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().expect("coreutils").success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for path in [at("pipe"), at("socket"), folder.path().to_owned(), "/dev/zero".into(), "/dev/tty".into()] {
            let refused = read(&path).unwrap_err();
            assert_eq!(refused.to_string(), "it is not a regular file; name one", "{}", path.display());
        }
        File::create(at("long")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(read(&at("long")).unwrap_err().to_string(), "it has more than 256 MB; name another");
        std::fs::write(at("text"), "text").unwrap();
        assert_eq!(read_to_string(&at("text")).unwrap(), "text");
    }
}
