//! Finds functions and source lines in a module, from its debug information, including code that was inlined elsewhere.
//!
//! `addr2line` finds what is at an address; here the addresses are sought, so it is asked about all of them.

use super::file::SymbolFile;
use super::identity::open;
use super::{Identity, Module};
use addr2line::Loader;
use addr2line::fallible_iterator::FallibleIterator;
use indexmap::{IndexMap, IndexSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The functions and lines of a module.
#[derive(Default)]
pub struct Code {
    /// The functions by their linker names.
    functions: IndexMap<String, Vec<Range<u64>>>,
    lines: Vec<Line>,
    files: IndexSet<String>,
    /// Whether there is any information.
    pub is_there: bool,
}

/// The code of a source line, or of an inlined call on it.
struct Line {
    file: usize,
    line: u64,
    range: Range<u64>,
}

impl Code {
    /// Reads all of the file at a path, or of its debug file; damaged parts are left out.
    pub fn read(path: &Path) -> Code {
        let mut code = Code::default();
        let Ok(file) = open(path) else { return code };
        let identity = Identity::Open(Arc::new(file));
        let file = SymbolFile::open(&Module { range: 0..u64::MAX, base: 0, path: path.to_owned(), identity });
        for loader in &file.loaders {
            if !code.is_there {
                code.add(loader);
            }
        }
        code
    }

    /// Adds each piece of code to its line and function, and to those into which it is inlined.
    fn add(&mut self, loader: &Loader) {
        let Ok(mut rows) = loader.find_location_range(0, u64::MAX) else { return };
        // An error ends a unit; the others may be sound.
        while let Some(row) = FallibleIterator::next(&mut rows).transpose() {
            let Ok((start, bytes, _)) = row else { continue };
            self.is_there = true;
            let (range, frames) = (start..start.saturating_add(bytes), loader.find_frames(start));
            let Ok(mut frames) = frames else { continue };
            while let Ok(Some(frame)) = frames.next() {
                if let Some(name) = frame.function.as_ref().and_then(|name| name.raw_name().ok()) {
                    match self.functions.get_mut(&*name) {
                        Some(ranges) => extend(ranges, &range),
                        None => drop(self.functions.insert(name.into_owned(), vec![range.clone()])),
                    }
                }
                let place = frame.location.as_ref().and_then(|place| Some((place.file?, place.line?)));
                if let Some((file, line)) = place {
                    let known = self.files.get_index_of(file);
                    let file = known.unwrap_or_else(|| self.files.insert_full(file.to_owned()).0);
                    self.lines.push(Line { file, line: line.into(), range: range.clone() });
                }
            }
        }
    }

    /// Returns the code of functions whose linker name is wanted.
    pub fn functions(&self, mut wanted: impl FnMut(&str) -> bool) -> Vec<(&str, &[Range<u64>])> {
        let all = self.functions.iter().filter(|(name, _)| wanted(name));
        all.map(|(name, ranges)| (name.as_str(), ranges.as_slice())).collect()
    }

    /// Returns the code of these lines of a file; `file` is the end of its path.
    pub fn lines(&self, file: &str, first: u64, last: u64) -> Vec<Range<u64>> {
        let wanted: Vec<bool> = self.files.iter().map(|path| is_end_of_path(file, path)).collect();
        let all = self.lines.iter().filter(|line| wanted[line.file] && (first..=last).contains(&line.line));
        all.map(|line| line.range.clone()).collect()
    }

    /// Lists the paths of the source files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }
}

/// Returns whether `end` is `path`, or its last parts.
pub fn is_end_of_path(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/') || end.starts_with('/'))
}

/// Adds a range to those of a function, whose pieces come in order.
fn extend(ranges: &mut Vec<Range<u64>>, range: &Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_paths() {
        assert!(is_end_of_path("cache.c", "/src/cache.c") && is_end_of_path("src/cache.c", "/a/src/cache.c"));
        assert!(is_end_of_path("/src/cache.c", "/src/cache.c") && is_end_of_path("cache.c", "cache.c"));
        assert!(!is_end_of_path("ache.c", "/src/cache.c") && !is_end_of_path("cache.c", "cache.cc"));
    }

    const SOURCE: &str = "\
        int sink;
        static inline int inner(int x) { return x * x + sink; }
        __attribute__((noinline)) int outer(int x) {
            sink++;
            return inner(x) / 3;
        }
        int main(void) { return outer(sink); }
";

    #[test]
    fn finds_functions_and_lines() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("small.c"), folder.path().join("small"));
        std::fs::write(&source, SOURCE).unwrap();
        let compiled = std::process::Command::new("gcc").args(["-O2", "-g", "-o"]).arg(&program).arg(&source).status();
        assert!(compiled.expect("gcc").success());
        let debug = Code::read(&program);
        assert!(debug.is_there && debug.files().any(|path| is_end_of_path("small.c", path)));
        let code = |name: &str| -> Vec<Range<u64>> {
            debug.functions(|found| found == name).into_iter().flat_map(|(_, ranges)| ranges.to_vec()).collect()
        };
        let (outer, inner) = (code("outer"), code("inner"));
        let is_in_outer = |range: &Range<u64>| outer.iter().any(|outer| outer.contains(&range.start));
        assert!(!inner.is_empty() && inner.iter().all(is_in_outer), "{inner:?} {outer:?}");
        let call = debug.lines("small.c", 5, 5);
        assert!(inner.iter().all(|inner| call.contains(inner)), "an inlined call counts for its line");
        assert!(!debug.lines("small.c", 4, 4).is_empty() && debug.lines("small.c", 4, 4).iter().all(is_in_outer));
        assert!(debug.lines("small.c", 100, 200).is_empty() && debug.lines("other.c", 1, 9).is_empty());
    }
}
