//! Determines whether a file is the one that was mapped into the program.
//!
//! Programs are replaced while they run, and rebuilt before their recording is read. A name from another build is worse
//! than none: if a file cannot be verified to be the right one, its names are left out.

use super::Module;
use flate2::Crc;
use object::Object;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, ReadCache};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use turnwise_present::printable;

/// The identity of a module's file among others of the same path.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Its build id.
    BuildId(Vec<u8>),
    /// The checksum of its bytes (`checksum`).
    Checksum(u32),
    /// The file system's data about it.
    Stamp(Stamp),
    /// It was last changed before this time, ns since 1970.
    UnchangedSince(u64),
    /// It is this file, whatever is at the path.
    Open(Arc<File>),
    /// Unknown identity.
    Unknown,
}

/// The file system's data about a file: no other file has the same number while this one is open or mapped, and every
/// change of it is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The file's number.
    pub inode: u64,
    /// The file's size.
    pub bytes: u64,
    /// When it was last changed, in whatever way, ns since 1970.
    pub changed_ns: u64,
}

impl Stamp {
    /// Returns the stamp of an open file.
    pub fn of(file: &File) -> io::Result<Stamp> {
        file.metadata().map(|found| Stamp::read(&found))
    }

    fn read(found: &Metadata) -> Stamp {
        let changed_ns = found.ctime().cast_unsigned().saturating_mul(1_000_000_000);
        let changed_ns = changed_ns.saturating_add(found.ctime_nsec().cast_unsigned());
        Stamp { inode: found.ino(), bytes: found.len(), changed_ns }
    }
}

impl Identity {
    /// Returns the identity of a file that is currently the right one.
    pub fn of(file: &File) -> Identity {
        match build_id(file) {
            Some(id) => Identity::BuildId(id),
            None => Stamp::of(file).map_or(Identity::Unknown, Identity::Stamp),
        }
    }

    pub(super) fn fits(&self, file: &File) -> bool {
        match self {
            Identity::BuildId(id) => build_id(file).as_ref() == Some(id),
            Identity::Checksum(sum) => checksum(file).is_ok_and(|found| found == *sum),
            Identity::Stamp(stamp) => Stamp::of(file).is_ok_and(|found| found == *stamp),
            Identity::UnchangedSince(time) => Stamp::of(file).is_ok_and(|found| found.changed_ns <= *time),
            Identity::Open(_) => true,
            Identity::Unknown => false,
        }
    }
}

impl Module {
    /// Opens the module's file, if that is the one that was mapped; the error is a sentence.
    pub fn open(&self) -> Result<Arc<File>, String> {
        let shown = self.path.to_string_lossy();
        let shown = printable(&shown);
        if let Identity::Open(file) = &self.identity {
            return Ok(Arc::clone(file));
        }
        // This is how Linux shows a file without a name: it can be read only while it is mapped.
        let advice = if shown.ends_with(" (deleted)") { "; --json keeps names with the profile" } else { "" };
        let file = open(&self.path).map_err(|error| format!("cannot read names from {shown}: {error}{advice}"))?;
        if !self.identity.fits(&file) {
            return Err(format!(
                "{shown} is not the file that ran, as far as is known: it has been replaced since; its names are \
                 left out"
            ));
        }
        Ok(Arc::new(file))
    }

    /// Returns the checksum of its file, if that is the one that was mapped and only its bytes can identify it later.
    pub fn checksum(&self) -> Option<u32> {
        match self.identity {
            Identity::Stamp(_) | Identity::UnchangedSince(_) => checksum(&*self.open().ok()?).ok(),
            _ => None,
        }
    }
}

/// Opens a regular file. A pipe would block forever, a device may do anything.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let refuse = |found: Metadata| match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a file")),
    };
    refuse(path.metadata()?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    refuse(file.metadata()?)?;
    Ok(file)
}

/// Returns a program's or shared object's build id.
pub(super) fn build_id(file: &File) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    let file = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).ok()?;
    file.build_id().ok()?.filter(|id| !id.is_empty()).map(<[u8]>::to_vec)
}

/// Returns the checksum of a file's bytes that debug links also use: CRC-32.
pub(super) fn checksum(mut file: &File) -> io::Result<u32> {
    /// A file with holes may have any length.
    const MOST_BYTES: u64 = 8 << 30;
    if file.metadata()?.len() > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    io::Seek::rewind(&mut file)?;
    let (mut sum, mut bytes) = (Crc::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(sum.sum()),
            read => sum.update(&bytes[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_debug_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "123456789").unwrap();
        assert_eq!(checksum(&File::open(path).unwrap()).unwrap(), 0xcbf4_3926);
    }

    #[test]
    fn of_a_file_in_memory_alone_the_way_to_keep_names_is_said() {
        let path = "/memfd:hidden (deleted)".into();
        let complaint = Module { range: 0..9, base: 0, path, identity: Identity::Unknown }.open().unwrap_err();
        assert!(complaint.ends_with("--json keeps names with the profile"), "{complaint}");
    }

    #[test]
    fn a_file_that_was_written_anew_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let module = |identity| Module { range: 0..9, base: 0, path: path.clone(), identity };
        let held = Arc::new(File::open(&path).unwrap());
        let (stamp, sum) = (Stamp::of(&held).unwrap(), checksum(&held).unwrap());
        let identities = [
            Identity::Stamp(stamp),
            Identity::Checksum(sum),
            Identity::UnchangedSince(stamp.changed_ns),
            Identity::Open(held),
            Identity::Unknown,
        ];
        let opens = || identities.clone().map(|identity| module(identity).open().is_ok());
        assert_eq!(opens(), [true, true, true, true, false]);
        // The old one is still open: the new one has another number.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "two").unwrap();
        let changed = Stamp::of(&File::open(&path).unwrap()).unwrap().changed_ns > stamp.changed_ns;
        assert_eq!(opens(), [false, false, !changed, true, false]);
    }
}
