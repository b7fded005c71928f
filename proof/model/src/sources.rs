//! The lock sources as text: which function a place is in, and the text of its line.

use crate::lab::UseSite;
use crate::lock::Lock;
use std::path::Path;
use std::{fs, io};

/// How the tests at the end of a file begin.
const TESTS: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test,"];

/// One source file.
pub struct Source {
    /// From the workspace's root.
    pub file: String,
    text: String,
}

impl Source {
    /// Creates a file with this text.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Source { file: file.into(), text: text.into() }
    }

    /// Returns its lines with their numbers, without the tests at its end.
    pub fn lines(&self) -> impl Iterator<Item = (&str, u32)> {
        self.text.lines().zip(1..).take_while(|(line, _)| !TESTS.iter().any(|tests| line.starts_with(tests)))
    }
}

impl Lock {
    /// Returns whether a place is in them.
    pub fn owns(self, place: &UseSite) -> bool {
        self.sources().iter().any(|source| Path::new(place.file).starts_with(source))
    }
}

/// All sources of a lock.
pub struct Sources(Vec<Source>);

impl Sources {
    /// Reads them.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn of(lock: Lock) -> io::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut all = Vec::new();
        for source in lock.sources() {
            read(&root, Path::new(source), &mut all)?;
        }
        Ok(Sources(all))
    }

    /// Iterates over the files.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Returns the text from a place to the end of its line; empty if it is in none of the files.
    pub fn line(&self, place: &UseSite) -> &str {
        self.upward(place).next().unwrap_or_default()
    }

    /// Returns the name of the function that a place is in.
    pub fn function(&self, place: &UseSite) -> &str {
        self.upward(place).find_map(function_begun).unwrap_or_default()
    }

    fn upward(&self, place: &UseSite) -> impl Iterator<Item = &str> {
        let source = self.0.iter().find(|source| source.file == place.file);
        let lines: Vec<&str> = source.iter().flat_map(|s| s.text.lines()).take(place.line as usize).collect();
        lines.into_iter().rev()
    }
}

/// Returns the name of the function whose head begins on this line.
pub(crate) fn function_begun(line: &str) -> Option<&str> {
    let (before, after) = line.trim_start().split_once("fn ")?;
    let head = before.split_whitespace().all(|word| {
        word.starts_with("pub") || word == "in" || word.ends_with(')') || matches!(word, "const" | "unsafe" | "extern")
    });
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (head && end > 0).then(|| &after[..end])
}

fn read(root: &Path, path: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    let full = root.join(path);
    if full.is_dir() {
        let mut names = fs::read_dir(&full)?.map(|e| e.map(|e| e.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        return names.iter().try_for_each(|name| read(root, &path.join(name), sources));
    }
    sources.push(Source::new(path.to_string_lossy(), fs::read_to_string(&full)?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_in_the_function_that_began_last() {
        let text = "pub(super) fn one<P>(a: u32) {\n    a.swap(1);\n}\n\n    const fn two() {\n        x\n";
        let sources = Sources(vec![Source::new("f.rs", text)]);
        let at = |line| UseSite { file: "f.rs", line, column: 1 };
        assert_eq!([2, 4, 6].map(|line| sources.function(&at(line))), ["one", "one", "two"]);
        assert_eq!(sources.line(&at(2)), "    a.swap(1);");
        assert_eq!(function_begun("    // a fn that"), None);
        assert_eq!(function_begun("    take: fn(&RawRwSem<P>) -> bool,"), None);
    }
}
