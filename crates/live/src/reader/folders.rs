//! Finds the files of live views.

use super::error::{Error, Fault};
use super::process::user;
use crate::place::{FOLDER, RUNTIME, RUNTIME_VARIABLE, TEMPORARY, parse_name};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A file by its name.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) pid: u32,
    pub(crate) start: u64,
}

/// Returns the files of the calling user; of all users for root.
pub(crate) fn files() -> Vec<Found> {
    let mut folders = own_folders(user());
    if user() == 0 {
        folders.extend(names_in(Path::new(RUNTIME)).map(|folder| folder.join(FOLDER)));
        let (parent, beginning) = TEMPORARY.rsplit_once('/').unwrap_or_default();
        let is_one = |path: &PathBuf| path.file_name().is_some_and(|n| n.as_bytes().starts_with(beginning.as_bytes()));
        folders.extend(names_in(Path::new(parent)).filter(is_one));
    }
    folders.sort();
    folders.dedup();
    let mut found: Vec<Found> =
        folders.iter().filter(|folder| check_folder(folder).is_ok()).flat_map(|folder| files_in(folder)).collect();
    found.sort_by_key(|file| (file.pid, file.start));
    found
}

fn own_folders(user: u32) -> Vec<PathBuf> {
    let runtime = env::var_os(RUNTIME_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = runtime.map(|folder| folder.join(FOLDER)).into_iter().collect();
    folders.push(Path::new(RUNTIME).join(format!("{user}")).join(FOLDER));
    folders.push(PathBuf::from(format!("{TEMPORARY}{user}")));
    folders
}

fn names_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn files_in(folder: &Path) -> impl Iterator<Item = Found> {
    names_in(folder).filter_map(|path| {
        let (pid, start) = parse_name(path.file_name()?.as_bytes())?;
        Some(Found { path, pid, start })
    })
}

/// Finds the file of a process among its mappings, wherever it is.
pub(crate) fn file_of(pid: u32) -> Option<PathBuf> {
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    let path = maps.split(|byte| *byte == b'\n').find_map(|line| {
        let path = &line[line.iter().position(|byte| *byte == b'/')?..];
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        (parse_name(name)?.0 == pid).then_some(path)
    })?;
    let path = PathBuf::from(OsStr::from_bytes(path));
    // The process may have another root.
    let inside = Path::new("/proc").join(format!("{pid}/root")).join(path.strip_prefix("/").unwrap_or(&path));
    [path, inside].into_iter().find(|path| path.symlink_metadata().is_ok())
}

/// Checks that only its owner can have put files into the folder; returns the owner.
pub(crate) fn check_folder(folder: &Path) -> Result<u32, Error> {
    let found = folder.symlink_metadata().map_err(|error| Error::io(folder, error))?;
    if !found.is_dir() {
        return Err(Error::new(folder, Fault::NoFile));
    }
    if found.mode() & 0o022 != 0 {
        return Err(Error::new(folder, Fault::Damaged("others may write into the folder")));
    }
    check_user(folder, found.uid())?;
    Ok(found.uid())
}

fn check_user(path: &Path, owner: u32) -> Result<(), Error> {
    if user() == 0 || owner == user() { Ok(()) } else { Err(Error::new(path, Fault::Owner(owner))) }
}

/// Opens a file that belongs to its folder's owner and is not a link.
pub(crate) fn open(path: &Path) -> Result<fs::File, Error> {
    open_to(path, fs::OpenOptions::new().read(true))
}

/// Opens such a file for reading and writing.
pub(crate) fn open_to_write(path: &Path) -> Result<fs::File, Error> {
    open_to(path, fs::OpenOptions::new().read(true).write(true))
}

fn open_to(path: &Path, how: &mut fs::OpenOptions) -> Result<fs::File, Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let owner = check_folder(folder)?;
    // This does not wait for the other end of a pipe.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let opened = how.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::LOOP) => Error::new(path, Fault::NoFile),
        _ => Error::io(path, error),
    })?;
    let found = file.metadata().map_err(|error| Error::io(path, error))?;
    if !found.is_file() {
        return Err(Error::new(path, Fault::NoFile));
    }
    check_user(path, found.uid())?;
    if found.uid() != owner {
        return Err(Error::new(path, Fault::Owner(found.uid())));
    }
    Ok(file)
}

/// Returns whether two open files are the same.
pub(crate) fn is_same(one: &fs::File, other: &fs::File) -> io::Result<bool> {
    let [one, other] = [one.metadata()?, other.metadata()?];
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Returns whether a file still has a name: a program that replaces another by `exec` makes a new one of that name.
pub(crate) fn has_name(file: &fs::File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 0)
}
