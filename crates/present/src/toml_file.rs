//! Reports errors in a user's TOML file: file, line, key, and what to do.

use crate::names::suggestion;
use crate::{input_file, printable};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error or an oddity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Whether the file cannot be used.
    pub is_error: bool,
    /// The description of the problem.
    pub what: String,
    /// The place, in bytes of the text. Only the first line of them is shown.
    pub place: Range<usize>,
    /// The advice.
    pub remedy: String,
}

impl Problem {
    /// Returns a problem because of which the file cannot be used.
    pub fn error(place: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem { is_error: true, what: what.into(), place, remedy: remedy.into() }
    }

    /// Returns a problem in spite of which the file can be used.
    pub fn warning(place: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem { is_error: false, ..Problem::error(place, what, remedy) }
    }

    /// Formats description, file, line, column, the line itself, and advice.
    pub fn shown(&self, origin: &str, text: &str) -> String {
        let level = if self.is_error { Level::ERROR } else { Level::WARNING };
        let start = self.place.start.min(text.len());
        let place = &text[start..self.place.end.clamp(start, text.len())];
        let end = start + place.find('\n').unwrap_or(place.len());
        let snippet = Snippet::source(text).path(origin).annotation(AnnotationKind::Primary.span(start..end));
        let report = [level.primary_title(&self.what).element(snippet).element(Level::HELP.message(&self.remedy))];
        let shown = Renderer::plain().render(&report);
        // The file may be untrusted: its text must not control the terminal.
        shown.lines().map(printable).collect::<Vec<_>>().join("\n")
    }
}

/// Formats all of them, with an empty line between two.
pub fn shown(problems: &[Problem], origin: &str, text: &str) -> String {
    let shown: Vec<String> = problems.iter().map(|problem| problem.shown(origin, text)).collect();
    shown.join("\n\n")
}

/// Formats the message that a file cannot be used, and why. `sort` is the name of such files.
pub fn unusable(sort: &str, problems: &[Problem], origin: &str, text: &str) -> String {
    format!("the {sort} {origin} cannot be used\n{}", shown(problems, origin, text))
}

/// Reads the text of a file; `sort` is the name of such files.
///
/// # Errors
/// The reason that it cannot be read, or the line that is not UTF-8.
pub fn read(sort: &str, path: &Path) -> Result<String, String> {
    let shown = path.display();
    let bytes = input_file::read(path).map_err(|error| format!("cannot read the {sort} {shown}: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("{shown}: line {line} is not valid UTF-8")
    })
}

/// Returns the line of this byte of a text, counted from 1.
pub fn line_at(text: &[u8], place: usize) -> usize {
    text.iter().take(place).filter(|&&byte| byte == b'\n').count() + 1
}

/// The advice about mistakes that the TOML reader finds in one sort of file.
pub struct Advice {
    /// For a value of another kind than its key needs.
    pub wrong_kind: &'static str,
    /// For a missing key of this name.
    pub missing: fn(&str) -> &'static str,
}

/// Explains an error of the TOML reader; the key that it is about comes with it in full, as `system.idle_exit[1].ns`.
pub fn explain(error: &toml::de::Error, text: &str, advice: &Advice) -> (String, Problem) {
    let (place, message) = (error.span().unwrap_or(0..0), error.message());
    let Ok(root) = DeTable::parse(text) else {
        let remedy = "fix the TOML here: `key = value` lines below `[table]` or `[[table]]` lines";
        return (String::new(), Problem::error(place, format!("not TOML: {message}"), remedy));
    };
    let key = search_table(root.get_ref(), "", &place).unwrap_or_default();
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (what, remedy) = match names.split_first() {
        Some((given, known)) if message.starts_with("unknown field") => {
            (format!("no such key: `{given}`"), suggestion(given, known))
        }
        Some((given, known)) if message.starts_with("unknown variant") => {
            (format!("`{key}`: no such value: {given:?}"), suggestion(given, known))
        }
        Some((name, _)) if message.starts_with("missing field") => {
            let full = if key.is_empty() { (*name).to_owned() } else { format!("{key}.{name}") };
            let problem = Problem::error(place, format!("`{full}`: missing"), (advice.missing)(name));
            return (full, problem);
        }
        _ => (format!("`{key}`: {message}"), advice.wrong_kind.to_owned()),
    };
    (key, Problem::error(place, what, remedy))
}

/// Returns the key whose name or value is at this place of the text: an error points at a name or a value as a whole,
/// and at the table (or the whole text) in which something is missing.
fn search_table(table: &DeTable<'_>, path: &str, place: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let key = if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) };
        if name.span() == *place { Some(key) } else { search_value(value, key, place) }
    })
}

fn search_value(value: &Spanned<DeValue<'_>>, key: String, place: &Range<usize>) -> Option<String> {
    let within = match value.get_ref() {
        DeValue::Table(table) => search_table(table, &key, place),
        DeValue::Array(array) => {
            let mut items = array.iter().enumerate();
            items.find_map(|(index, item)| search_value(item, format!("{key}[{index}]"), place))
        }
        _ => None,
    };
    within.or_else(|| (value.span() == *place).then_some(key))
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

    #[test]
    fn a_file_of_anothers_is_shown_and_not_obeyed() {
        let text = "default = \"\u{1b}[2J\u{202e}\" \u{7}\n";
        let shown = Problem::error(10..20, "no policy: \u{1b}]0;title\u{7}", "\u{1b}c").shown("a.toml", text);
        assert!(shown.lines().count() > 3, "it still has lines: {shown}");
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n') && !shown.contains('\u{202e}'), "{shown:?}");
    }
}
