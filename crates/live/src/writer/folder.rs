//! Finds the file's folder: one in which only the user can have put files. Stale files in it are removed.

use super::sys::{self, File};
use crate::place::{FOLDER, RUNTIME, STALE_FILES, STALE_SECONDS, TEMPORARY, parse_name};
use core::ffi::CStr;
use core::mem::MaybeUninit;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, SeekFrom, fstat, mkdirat, seek, unlinkat};
use turnwise_interpose::Text;

/// A path of ours, relative to a folder or absolute.
pub(super) type Path = Text<80>;

/// Opens the folder of this user's files; creates it if there is none.
pub(super) fn open(runtime: Option<&CStr>) -> Option<File> {
    let user = rustix::process::geteuid().as_raw();
    let session = Path::of(format_args!("{RUNTIME}/{user}"));
    let folder = Path::of(format_args!("{FOLDER}"));
    let inside = |parent: &CStr| {
        // In another user's folder, or one that others may write to, ours could be replaced.
        let parent = own(sys::open(CWD, parent, OFlags::DIRECTORY, 0)?, user, 0o022)?;
        make_and_open(&parent, folder.text(), user)
    };
    let temporary = || make_and_open(CWD, Path::of(format_args!("{TEMPORARY}{user}")).text(), user);
    runtime.and_then(inside).or_else(|| inside(session.text())).or_else(temporary)
}

fn make_and_open(at: impl AsFd, path: &CStr, user: u32) -> Option<File> {
    let _ = mkdirat(&at, path, Mode::RWXU);
    own(sys::open(at, path, OFlags::DIRECTORY, 0)?, user, 0o077)
}

/// Returns the folder if it is the user's and its mode grants nothing in `denied`.
fn own(folder: File, user: u32, denied: u32) -> Option<File> {
    let status = fstat(&folder).ok()?;
    (status.st_uid == user && status.st_mode & denied == 0).then_some(folder)
}

/// Removes files of ended processes, if there are many files: the old ones, and all but some of the others. A thread of
/// the program waits, so usually it only reads the names.
pub(super) fn remove_stale(folder: &File) {
    let mut files = 0;
    each_name(folder, |name| files += usize::from(parse_name(name.to_bytes()).is_some()));
    if files < 2 * STALE_FILES {
        return;
    }
    let _ = seek(folder, SeekFrom::Start(0));
    let (now, mut kept) = (sys::nanoseconds(libc::CLOCK_REALTIME) / 1_000_000_000, 0);
    each_name(folder, |name| {
        let Some((process, _)) = parse_name(name.to_bytes()) else { return };
        if !sys::is_process_gone(process) {
            return;
        }
        let file = sys::open(folder, name, OFlags::NONBLOCK, 0).and_then(|file| fstat(file).ok());
        let written = file.map_or(0, |status| status.st_mtime.max(0) as u64);
        if kept >= STALE_FILES || now.saturating_sub(written) >= STALE_SECONDS {
            let _ = unlinkat(folder, name, AtFlags::empty());
        } else {
            kept += 1;
        }
    });
}

/// Calls `act` with the names in a folder; but not with more than some hundreds, since a thread of the program waits.
fn each_name(folder: &File, mut act: impl FnMut(&CStr)) {
    const MOST: usize = 512;
    let (mut bytes, mut read) = ([MaybeUninit::uninit(); 1024], 0);
    let mut names = RawDir::new(folder, &mut bytes);
    while let Some(Ok(entry)) = names.next().filter(|_| read < MOST) {
        act(entry.file_name());
        read += 1;
    }
}
