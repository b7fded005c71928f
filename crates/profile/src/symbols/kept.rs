//! Files that are kept open while a program runs: when its names are looked up, they may have been deleted. A program
//! may exist only in memory, and shared objects may be replaced by newer ones.

use super::Module;
use super::identity::open;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of kept files: each is an open file of this process.
const MOST_FILES: usize = 256;

/// Files of running or ended programs.
#[derive(Default)]
pub struct Kept {
    files: Vec<(Module, Arc<File>)>,
}

impl Kept {
    /// Keeps the file of a module of a process, if it is accessible and is the one that is mapped there.
    pub fn keep(&mut self, pid: u32, module: &Module) {
        if self.files.len() >= MOST_FILES || self.files.iter().any(|(known, _)| is_same(known, module)) {
            return;
        }
        // The kernel's own module has no file.
        let file = module.path.is_absolute().then(|| module.open().ok().or_else(|| of_process(pid, module))).flatten();
        self.files.extend(file.map(|file| (module.clone(), file)));
    }

    /// Returns the file of a module, if it was kept.
    pub fn file(&self, module: &Module) -> Option<Arc<File>> {
        let is_it = |(known, file): &&(Module, Arc<File>)| is_same(known, module) && module.identity.fits(file);
        self.files.iter().find(is_it).map(|(_, file)| Arc::clone(file))
    }
}

fn is_same(one: &Module, other: &Module) -> bool {
    (&one.path, &one.range, one.base) == (&other.path, &other.range, other.base)
}

/// Returns the file from the process, wherever it was: the program, or a mapping (which needs more rights).
fn of_process(pid: u32, module: &Module) -> Option<Arc<File>> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let mapped = || {
        let maps = std::fs::read_to_string(directory.join("maps")).unwrap_or_default();
        let range = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        let start = |range: &str| u64::from_str_radix(range.split('-').next()?, 16).ok();
        let ranges: Vec<String> = maps.lines().map(range).collect();
        ranges.into_iter().find(|range| start(range).is_some_and(|start| module.range.contains(&start)))
    };
    let fitting = |path: &Path| open(path).ok().filter(|file| module.identity.fits(file)).map(Arc::new);
    fitting(&directory.join("exe")).or_else(|| fitting(&directory.join("map_files").join(mapped()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Identity;

    #[test]
    fn a_file_that_is_removed_while_its_program_runs_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sleeps");
        std::fs::copy("/bin/sleep", &path).unwrap();
        let module = |identity| Module { range: 0..9, base: 0, path: path.clone(), identity };
        let right = module(Identity::of(&File::open(&path).unwrap()));
        let mut child = std::process::Command::new(&path).arg("60").spawn().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::copy("/bin/true", &path).unwrap();
        let wrong = module(Identity::BuildId(vec![1, 2, 3]));
        let mut kept = Kept::default();
        kept.keep(child.id(), &wrong);
        assert!(kept.file(&wrong).is_none() && kept.file(&right).is_none());
        kept.keep(child.id(), &right);
        child.kill().unwrap();
        child.wait().unwrap();
        let bytes = |file: &File| file.metadata().unwrap().len();
        let found = kept.file(&right).expect("it was the program");
        assert_eq!(bytes(&found), bytes(&File::open("/bin/sleep").unwrap()));
        assert!(kept.file(&wrong).is_none());
    }
}
