//! The `// ORDERING name:` comments in the lock sources, which the style requires next to each ordering.

use crate::lab::UseSite;
use crate::sources::{Source, Sources};

/// One comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// Source file, from the workspace's root.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The name of the pairing.
    pub name: String,
}

/// The number of lines below a comment within which the operation that it covers starts.
const REACH: u32 = 8;

impl Tag {
    /// Returns whether the comment covers this place.
    pub fn covers(&self, place: &UseSite) -> bool {
        place.file == self.file && (self.line + 1..=self.line + REACH).contains(&place.line)
    }
}

/// Returns all comments in the sources of a lock.
pub fn of(sources: &Sources) -> Vec<Tag> {
    sources.iter().flat_map(tags).collect()
}

fn tags(source: &Source) -> impl Iterator<Item = Tag> {
    source.lines().filter_map(|(line, number)| {
        let (_, rest) = line.split_once("// ORDERING ")?;
        let (name, _) = rest.split_once(':')?;
        Some(Tag { file: source.file.clone(), line: number, name: name.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names_and_lines() {
        let text = "x\n    // ORDERING a.b: why\ny\n// ORDERING: unnamed\n";
        let tags: Vec<_> = tags(&Source::new("f.rs", text)).collect();
        assert_eq!(tags, [Tag { file: "f.rs".to_owned(), line: 2, name: "a.b".to_owned() }]);
        let at = |line| UseSite { file: "f.rs", line, column: 1 };
        assert!(tags[0].covers(&at(3)) && !tags[0].covers(&at(2)) && !tags[0].covers(&at(99)));
    }
}
