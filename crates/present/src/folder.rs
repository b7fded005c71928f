//! A user's folders that a program creates when it first has a file to put there.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Creates a folder and those above it, for their owner only; but not the user's home, nor a folder outside of it whose
/// parent does not exist: an account without a home (`/nonexistent` on Debian) is not to get one.
///
/// # Errors
/// The home, or the folder above, does not exist; or the folder cannot be created.
pub fn make(folder: &Path) -> io::Result<()> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    make_below(folder, home.as_deref())
}

fn make_below(folder: &Path, home: Option<&Path>) -> io::Result<()> {
    let above = home.filter(|home| folder.starts_with(home)).or(folder.parent()).unwrap_or(folder);
    if !folder.is_dir() && !above.is_dir() {
        let why = format!("{} is not there", above.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::make_below;

    #[test]
    fn folders_are_made_below_a_home_and_no_home() {
        let there = tempfile::tempdir().unwrap();
        let at = |path: &str| there.path().join(path);
        make_below(&at("cache/turnwise/deep"), Some(there.path())).unwrap();
        make_below(&at("cache/turnwise/deep"), None).unwrap();
        make_below(&at("beside"), None).unwrap();
        assert!(at("cache/turnwise/deep").is_dir() && at("beside").is_dir());
        let refused = make_below(&at("none/.cache"), Some(&at("none"))).unwrap_err();
        assert_eq!(refused.to_string(), format!("{} is not there", at("none").display()));
        make_below(&at("other/cache"), Some(&at("none"))).unwrap_err();
        assert!(!at("none").exists() && !at("other").exists());
    }
}
