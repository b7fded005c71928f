//! The names of the libraries' files. `turnwise` installs each under its stem, the hash of its content and `.so`; cargo
//! builds it under the stem and `.so`.

/// The prefix of all the names.
pub const OURS: &str = "libturnwise_";
/// The stem of the preload library's name.
pub const PRELOAD: &str = "libturnwise_preload";
/// The stem of the recorder's name.
pub const RECORDER: &str = "libturnwise_recorder";

/// Returns whether the name of the file at `path` begins with a stem.
pub fn is_library(path: &[u8], stem: &str) -> bool {
    crate::glob::file_name(path).starts_with(stem.as_bytes())
}
