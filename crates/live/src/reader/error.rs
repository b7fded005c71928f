//! The reasons that a file is not a readable view.

use super::absent::why_no_view;
use super::process::start_of;
use crate::layout::{LAYOUT, VERSION};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A file that cannot be read as a live view, and why.
#[derive(Debug)]
pub struct Error {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a file.
#[derive(Debug)]
pub enum Fault {
    /// The system refuses access.
    Io(io::Error),
    /// It is not a file, but a link, a folder, a pipe or a device.
    NoFile,
    /// It belongs to the user of this number, not to the calling user or to its folder's owner.
    Owner(u32),
    /// It does not begin like a view.
    Foreign,
    /// The program is about to create it.
    Unfinished,
    /// Another version of turnwise made it: version and layout.
    Version(u32, u32),
    /// It ends too early: the bytes that it has, and those that it should have.
    Truncated(u64, u64),
    /// Its description of itself is impossible.
    Damaged(&'static str),
    /// No such process has a live view.
    NoView(u32),
    /// It cannot be written to, so that no recorder can be switched on.
    NotOurs(io::Error),
    /// This process is already recording the waits.
    Recorded(u64),
    /// Another file has its name now: the process runs another program.
    Replaced,
    /// The process has ended.
    Gone(u32),
    /// It has no room for the first number of rules, but for the second.
    TooManyRules(usize, usize),
}

impl Error {
    pub(crate) fn new(path: &Path, fault: Fault) -> Error {
        Error { path: path.to_owned(), fault }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Error {
        Error::new(path, Fault::Io(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.fault {
            Fault::Io(error) => write!(f, "{path}: cannot read the live view: {error}"),
            Fault::NoFile => write!(f, "{path}: not a file, so not a live view (links are not followed)"),
            Fault::Owner(user) => {
                write!(f, "{path}: belongs to user {user}; only that user and root may read or tune it")
            }
            Fault::Foreign => write!(f, "{path}: not a live view (bad magic number)"),
            Fault::Unfinished => write!(f, "{path}: the program is about to make it; try again"),
            Fault::Version(version, _) if *version != VERSION => write!(
                f,
                "{path}: layout {version}, but this turnwise reads layout {VERSION}; use the one that runs the program"
            ),
            Fault::Version(_, layout) => write!(
                f,
                "{path}: another build of turnwise runs the program (layout {layout}, not {LAYOUT}); use that one"
            ),
            Fault::Truncated(has, needs) => write!(f, "{path}: truncated: {has} of {needs} bytes"),
            Fault::Damaged(what) => write!(f, "{path}: damaged: {what}"),
            Fault::NotOurs(error) => write!(
                f,
                "{path}: cannot switch the recorder on, which takes the right to write to this file, as its owner and \
                 root have: {error}"
            ),
            Fault::Recorded(profiler) => write!(
                f,
                "{path}: process {profiler} has the waits of this program recorded already; wait for its end, or end it"
            ),
            Fault::Replaced => write!(f, "{path}: the process runs another program by now; try again"),
            Fault::Gone(pid) => write!(f, "process {pid} has ended: nothing can be set any more"),
            Fault::TooManyRules(rules, room) => write!(
                f,
                "{path}: there is room for {room} rules, not {rules}; take some away by --undo, or set all locks by `*`"
            ),
            Fault::NoView(pid) => match why_no_view(*pid) {
                Some(why) => write!(f, "process {pid} has no live view: {why}"),
                None if start_of(*pid).is_none() => write!(f, "process {pid} has no live view: it has ended"),
                None => write!(f, "process {pid} has no live view: none of its threads has waited for a lock yet"),
            },
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Io(error) | Fault::NotOurs(error) => Some(error),
            _ => None,
        }
    }
}
