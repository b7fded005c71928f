//! Finds the file's folder: one in which only the user can have put files. Stale files in it are removed.

use super::sys::{self, At, Descriptor};
use crate::place::{FOLDER, RUNTIME, STALE_FILES, STALE_SECONDS, TEMPORARY, parse_name};
use core::ffi::CStr;
use libc::{O_DIRECTORY, O_RDONLY};
use turnwise_interpose::Text;

/// A path of ours, relative to a folder or absolute.
pub(super) type Path = Text<80>;

/// Opens the folder of this user's files; creates it if there is none.
pub(super) fn open(runtime: Option<&CStr>) -> Option<Descriptor> {
    let user = sys::user();
    let session = Path::of(format_args!("{RUNTIME}/{user}"));
    let folder = Path::of(format_args!("{FOLDER}"));
    let inside = |parent: &CStr| {
        // In another user's folder, or one that others may write to, ours could be replaced.
        let parent = own(Descriptor::open(At::ROOT, parent, O_RDONLY | O_DIRECTORY, 0)?, user, 0o022)?;
        make_and_open(parent.at(), folder.text(), user)
    };
    let temporary = || make_and_open(At::ROOT, Path::of(format_args!("{TEMPORARY}{user}")).text(), user);
    runtime.and_then(inside).or_else(|| inside(session.text())).or_else(temporary)
}

fn make_and_open(at: At, path: &CStr, user: u32) -> Option<Descriptor> {
    sys::make_folder(at, path, 0o700);
    own(Descriptor::open(at, path, O_RDONLY | O_DIRECTORY, 0)?, user, 0o077)
}

/// Returns the folder if it is the user's and its mode grants nothing in `denied`.
fn own(folder: Descriptor, user: u32, denied: u32) -> Option<Descriptor> {
    let status = folder.status()?;
    (status.st_uid == user && status.st_mode & denied == 0).then_some(folder)
}

/// Removes files of ended processes, if there are many files: the old ones, and all but some of the others. A thread of
/// the program waits, so usually it only reads the names.
pub(super) fn remove_stale(folder: &Descriptor) {
    let mut files = 0;
    each_name(folder, |name| files += usize::from(parse_name(name.to_bytes()).is_some()));
    if files < 2 * STALE_FILES {
        return;
    }
    folder.rewind();
    let (now, mut kept) = (sys::nanoseconds(libc::CLOCK_REALTIME) / 1_000_000_000, 0);
    each_name(folder, |name| {
        let Some((process, _)) = parse_name(name.to_bytes()) else { return };
        if !sys::is_process_gone(process) {
            return;
        }
        let written = Descriptor::open(folder.at(), name, O_RDONLY | libc::O_NONBLOCK, 0)
            .and_then(|file| file.status())
            .map_or(0, |status| status.st_mtime.max(0) as u64);
        if kept >= STALE_FILES || now.saturating_sub(written) >= STALE_SECONDS {
            sys::remove(folder.at(), name);
        } else {
            kept += 1;
        }
    });
}

/// Calls `act` with the names in a folder; but not with more than some hundreds, since a thread of the program waits.
fn each_name(folder: &Descriptor, mut act: impl FnMut(&CStr)) {
    const READINGS: usize = 16;
    /// The offsets of a record's length and of its name.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut bytes = [0_u8; 1024];
    for _ in 0..READINGS {
        let Some(mut records) = folder.read_folder(&mut bytes).filter(|read| !read.is_empty()) else { return };
        while let Some(length) = records.get(LENGTH..LENGTH + 2) {
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let Some(name) = records.get(NAME..length) else { return };
            if let Ok(name) = CStr::from_bytes_until_nul(name) {
                act(name);
            }
            records = &records[length..];
        }
    }
}
