//! The names of the libraries' files. `turnwise` installs each under its stem, the hash of its content and `.so`; cargo
//! builds it under the stem and `.so`; packages have the preload library under its shared-object name.

/// The prefix of all the names.
pub const OURS: &str = "libturnwise_";
/// The stem of the preload library's name.
pub const PRELOAD: &str = "libturnwise_preload";
/// The shared-object name of the preload library: its number grows when programs would have to be started otherwise.
pub const SHARED: &str = "libturnwise_preload.so.0";
/// The stem of the recorder's name.
pub const RECORDER: &str = "libturnwise_recorder";

/// Returns whether the name of the file at `path` begins with a stem.
pub fn is_library(path: &[u8], stem: &str) -> bool {
    crate::glob::file_name(path).starts_with(stem.as_bytes())
}

/// Returns the path of the loaded library of a stem, by the lines of `/proc/PID/maps`. Compilers, debuggers and
/// `turnwise` itself map one only to read it; that does not count.
///
/// ```
/// use turnwise_preload_abi::libraries::{PRELOAD, RECORDER, loaded};
///
/// let maps = |rights| format!("7f00-7f10 {rights} 0 08:01 5    /a b/libturnwise_preload-1.so\n");
/// assert_eq!(loaded(maps("r-xp").as_bytes(), PRELOAD), Some(&b"/a b/libturnwise_preload-1.so"[..]));
/// assert_eq!(loaded(maps("r--p").as_bytes(), PRELOAD), None);
/// assert_eq!(loaded(maps("r-xp").as_bytes(), RECORDER), None);
/// ```
pub fn loaded<'a>(maps: &'a [u8], stem: &str) -> Option<&'a [u8]> {
    let is_code = |line: &&[u8]| line.windows(3).any(|part| part == b"xp ");
    let path = |line: &'a [u8]| line.iter().position(|byte| *byte == b'/').map(|start| &line[start..]);
    maps.split(|byte| *byte == b'\n').filter(is_code).filter_map(path).find(|path| is_library(path, stem))
}
