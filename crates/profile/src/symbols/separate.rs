//! Files with what was taken out of programs and shared objects for debuggers.

use object::Object;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where distributions put them.
const ROOT: &str = "/usr/lib/debug";

/// Where debuggers look for what was taken out of the file of this path. Most of the places are empty.
pub fn separate_files<'data>(path: &Path, file: &impl Object<'data>) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Ok(Some([first, rest @ ..])) = file.build_id() {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        places.push(PathBuf::from(format!("{ROOT}/.build-id/{first:02x}/{rest}.debug")));
    }
    if let (Ok(Some((name, _))), Some(folder)) = (file.gnu_debuglink(), path.parent()) {
        let name = OsStr::from_bytes(name);
        places.push(folder.join(".debug").join(name));
        places.push(Path::new(ROOT).join(folder.strip_prefix("/").unwrap_or(folder)).join(name));
    }
    places
}
