//! Names of things, for people.

use crate::model::{Frame, Profile, Site};

/// Longer names are cut in the middle where they would be repeated for every event: templates reach thousands.
const LONGEST: usize = 240;

/// `function (file.cc:12)`; without debug information the function alone.
pub(crate) fn frame(frame: &Frame) -> String {
    let function = cut(&frame.function);
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", base(file)),
        (Some(file), None) => format!("{function} ({})", base(file)),
        _ => function,
    }
}

/// A call site by its innermost frame.
pub(crate) fn site(profile: &Profile, site: &Site) -> String {
    let innermost = site
        .frames
        .first()
        .map_or_else(|| "unknown call site".to_owned(), |&first| frame(&profile.frames[first as usize]));
    match (site.reader, site.after_wait) {
        (true, _) => format!("{innermost}, reading"),
        (_, true) => format!("{innermost}, after a condition variable's wait"),
        _ => innermost,
    }
}

/// The last part of a path.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().filter(|base| !base.is_empty()).unwrap_or(path)
}

/// Keeps both ends, where names differ.
pub(crate) fn cut(name: &str) -> String {
    let length = name.chars().count();
    if length <= LONGEST {
        return name.to_owned();
    }
    let start: String = name.chars().take(LONGEST / 2).collect();
    let end: String = name.chars().skip(length - LONGEST / 2 + 1).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("begin<{}>::end", "x".repeat(5000));
        let short = cut(&name);
        assert!(short.starts_with("begin<x") && short.ends_with("x>::end"), "{short}");
        assert_eq!(short.chars().count(), LONGEST);
        assert_eq!(cut("é"), "é");
    }

    #[test]
    fn frames_are_named_by_file_and_line() {
        let mut one = Frame { function: "get".to_owned(), ..Frame::default() };
        assert_eq!(frame(&one), "get");
        (one.file, one.line) = (Some("/a/b.cc".to_owned()), Some(7));
        assert_eq!(frame(&one), "get (b.cc:7)");
    }
}
