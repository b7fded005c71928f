//! What the preload library tells of a run: a small file beside the library, which all processes of the run map.
//! Whoever finds the one finds the other.

use serde::Serialize;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use tempfile::NamedTempFile;
use turnwise_preload_abi::environment;
use turnwise_preload_abi::signs::{CONTENDED, LOADED, SIGNS, USED};

const WORD: usize = size_of::<u32>();

/// What was seen of the locks in a run; nothing of it can be known if no process found the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Seen {
    /// Whether a program made or took a pthread lock, while the library was there.
    pub(crate) locks_used: bool,
    /// Whether a thread did not get one of our locks at once.
    pub(crate) locks_contended: bool,
}

/// The page; its file goes away with it.
pub(crate) struct Signs {
    page: NamedTempFile,
}

impl Signs {
    /// Beside this library; `None`: there is no room.
    pub(crate) fn new(library: &Path) -> Option<Signs> {
        let page = tempfile::Builder::new().prefix("signs-").tempfile_in(library.parent()?).ok()?;
        page.as_file().set_len((SIGNS * WORD) as u64).ok()?;
        Some(Signs { page })
    }

    /// Lets `command` give signs, from none on.
    pub(crate) fn ask(&self, command: &mut Command) {
        if self.page.as_file().write_all_at(&[0; SIGNS * WORD], 0).is_ok() {
            command.env(environment::SIGNS, self.page.path());
        }
    }

    /// What was seen since then.
    pub(crate) fn seen(&self) -> Option<Seen> {
        let mut bytes = [0; SIGNS * WORD];
        self.page.as_file().read_exact_at(&mut bytes, 0).ok()?;
        let is_set = |number: usize| bytes[number * WORD..][..WORD].iter().any(|byte| *byte != 0);
        is_set(LOADED).then(|| Seen { locks_used: is_set(USED), locks_contended: is_set(CONTENDED) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_unless_the_page_was_found() {
        let library = NamedTempFile::new().unwrap();
        let signs = Signs::new(library.path()).unwrap();
        let mut command = Command::new("true");
        signs.ask(&mut command);
        let path = command.get_envs().find(|(name, _)| *name == environment::SIGNS).and_then(|(_, path)| path).unwrap();
        let page = std::fs::File::options().write(true).open(path).unwrap();
        let set = |number: usize| page.write_all_at(&1_u32.to_ne_bytes(), (number * WORD) as u64).unwrap();
        set(CONTENDED);
        assert_eq!(signs.seen(), None);
        set(LOADED);
        assert_eq!(signs.seen(), Some(Seen { locks_used: false, locks_contended: true }));
        signs.ask(&mut command);
        assert_eq!(signs.seen(), None);
        let path = signs.page.path().to_owned();
        drop(signs);
        assert!(!path.exists());
    }
}
