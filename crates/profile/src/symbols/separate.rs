//! Separate debug files of programs and shared objects.

use super::identity::{build_id, checksum, open};
use object::Object;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use turnwise_present::printable;

/// The folder in which distributions put them.
const ROOT: &str = "/usr/lib/debug";

/// The separate file found for a program or shared object.
#[derive(Default)]
pub struct Separate {
    /// The file that was made together with it, and its path.
    pub file: Option<(File, PathBuf)>,
    /// The message about a file in its place that was not.
    pub trouble: Option<String>,
}

/// Looks for the debug file of the file at this path, where debuggers do.
pub fn separate_file<'data>(path: &Path, file: &impl Object<'data>) -> Separate {
    let id = file.build_id().ok().flatten().unwrap_or_default();
    let link = file.gnu_debuglink().ok().flatten();
    let own = path.metadata().ok().map(|own| (own.dev(), own.ino()));
    let mut found = Separate::default();
    for place in by_build_id(id).into_iter().chain(link.map_or_else(Vec::new, |(name, _)| by_name(path, name))) {
        let Ok(candidate) = open(&place) else { continue };
        if candidate.metadata().ok().map(|other| (other.dev(), other.ino())) == own {
            continue;
        }
        if is_of(&candidate, id, link.map(|(_, sum)| sum)) {
            return Separate { file: Some((candidate, place)), trouble: None };
        }
        let shown = [place.to_string_lossy(), path.to_string_lossy()];
        let [shown, of] = shown.each_ref().map(|path| printable(path));
        found.trouble = Some(format!("{shown} was made with another build than {of}: its names are left out"));
    }
    found
}

/// Returns whether a debug file was made with a program of this build id, or has the checksum that the program states.
fn is_of(candidate: &File, id: &[u8], sum: Option<u32>) -> bool {
    match build_id(candidate) {
        Some(own) if !id.is_empty() => own == id,
        _ => sum.is_some_and(|sum| checksum(candidate).is_ok_and(|own| own == sum)),
    }
}

/// Returns the path for a build id; `None` without an id.
fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let [first, rest @ ..] = id else { return None };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(PathBuf::from(format!("{ROOT}/.build-id/{first:02x}/{rest}.debug")))
}

fn by_name(path: &Path, name: &[u8]) -> Vec<PathBuf> {
    let name = OsStr::from_bytes(name);
    let named = path.parent().map(Path::to_owned);
    // The file's name may be a link to its location.
    let real = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    let folders = real.filter(|real| Some(real) != named.as_ref()).into_iter().chain(named);
    let in_root = |folder: &Path| Path::new(ROOT).join(folder.strip_prefix("/").unwrap_or(folder)).join(name);
    folders.flat_map(|folder| [folder.join(name), folder.join(".debug").join(name), in_root(&folder)]).collect()
}

/// Returns the file with the common parts of several debug files (`dwz -m`), if the one at this path refers to one.
pub(super) fn common_file<'data>(path: &Path, file: &impl Object<'data>) -> Option<File> {
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let named = path.parent()?.join(OsStr::from_bytes(name));
    let mut candidates = [Some(named), by_build_id(id)].into_iter().flatten().filter_map(|path| open(&path).ok());
    candidates.find(|file| build_id(file).as_deref() == Some(id))
}
