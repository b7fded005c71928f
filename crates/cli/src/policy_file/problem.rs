//! Errors and warnings of a policy file, with the line that they are about.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;

/// Something wrong, or odd.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// Whether the file cannot be used.
    pub(crate) is_error: bool,
    /// What is wrong.
    pub(crate) what: String,
    /// Where: bytes of the text.
    pub(crate) place: Range<usize>,
    /// What to do.
    pub(crate) remedy: String,
}

impl Problem {
    pub(crate) fn error(place: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem { is_error: true, what: what.into(), place, remedy: remedy.into() }
    }

    pub(crate) fn warning(place: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem { is_error: false, ..Problem::error(place, what, remedy) }
    }

    /// For people: what, file, line, column, the line itself, what to do.
    pub(crate) fn shown(&self, origin: &str, text: &str) -> String {
        let level = if self.is_error { Level::ERROR } else { Level::WARNING };
        let place = self.place.start.min(text.len())..self.place.end.min(text.len());
        let snippet = Snippet::source(text).path(origin).annotation(AnnotationKind::Primary.span(place));
        let report = [level.primary_title(&self.what).element(snippet).element(Level::HELP.message(&self.remedy))];
        Renderer::plain().render(&report)
    }
}

/// All of them, for people, with an empty line between two.
pub(crate) fn shown(problems: &[Problem], origin: &str, text: &str) -> String {
    let shown: Vec<String> = problems.iter().map(|problem| problem.shown(origin, text)).collect();
    shown.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_file_line_column_and_remedy() {
        let text = "default = \"libc\"\nlok = 1\n";
        let shown = Problem::error(17..20, "no such key: `lok`", "did you mean `lock`?").shown("a.toml", text);
        assert!(shown.contains("error: no such key: `lok`"), "{shown}");
        assert!(shown.contains("a.toml:2:1"), "{shown}");
        assert!(shown.contains("lok = 1") && shown.contains("^^^"), "{shown}");
        assert!(shown.contains("did you mean `lock`?"), "{shown}");
    }
}
