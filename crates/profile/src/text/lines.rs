//! Lines of a terminal's report: figures and fixed words are kept whole, the program's names are shortened.

use textwrap::Options;
use textwrap::core::display_width as width;
use turnwise_preload_abi::terminal::is_obeyed;

/// The number of columns of a report.
const COLUMNS: usize = 100;
/// The shortest useful name.
const LEAST: usize = 10;

/// Shortens `name` to at most `columns` columns: modules are removed first, then its middle, as names differ at both
/// ends. Control characters are replaced.
pub fn shortened(name: &str, columns: usize) -> String {
    let name = plain(name);
    if width(&name) <= columns {
        return name;
    }
    let name = without_modules(&name);
    if width(&name) <= columns {
        return name;
    }
    without_middle(&name, columns)
}

/// Cuts a name that is longer than `columns` columns in its middle.
pub(crate) fn without_middle(name: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1);
    let end: Vec<char> = beginning(name.chars().rev(), room / 2);
    let start = beginning(name.chars(), room - room / 2);
    start.into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
}

/// Returns text without characters that end lines or that terminals interpret.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect()
}

/// Returns a name without separate parts in brackets that are not a line of a file: `f (libc.so.6)` becomes `f`.
fn without_modules(name: &str) -> String {
    let is_module = |word: &str| word.starts_with('(') && word.ends_with(')') && word.len() > 2 && !word.contains(':');
    let words = name.split(' ').enumerate().filter(|(place, word)| *place == 0 || !is_module(word));
    words.map(|(_, word)| word).collect::<Vec<_>>().join(" ")
}

/// Returns as many first characters as fit.
fn beginning(characters: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    let fits = |c: &char| {
        used += width(c.encode_utf8(&mut [0; 4]));
        used <= columns
    };
    characters.take_while(fits).collect()
}

/// Returns a line of names, each after its fixed words, and the text after the last: names share the remaining room.
pub(crate) fn fitted(parts: &[(&str, &str)], after: &str) -> String {
    let fixed = parts.iter().map(|(before, _)| width(before)).sum::<usize>() + width(after);
    let wanted: Vec<usize> = parts.iter().map(|(_, name)| width(&plain(name))).collect();
    let rooms = shared(&wanted, COLUMNS.saturating_sub(fixed));
    let named = parts.iter().zip(rooms).map(|((before, name), room)| (*before).to_owned() + &shortened(name, room));
    named.collect::<String>() + after
}

/// Returns the room for each name: those that need less than an equal part leave the rest to the longer ones.
pub fn shared(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&name| wanted[name]);
    let (mut rooms, mut left) = (vec![0; wanted.len()], room);
    for (place, &name) in order.iter().enumerate() {
        rooms[name] = wanted[name].min((left / (wanted.len() - place)).max(LEAST));
        left = left.saturating_sub(rooms[name]);
    }
    rooms
}

/// Wraps `text` to lines, the second and further ones after `indent`.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    textwrap::fill(&plain(text), Options::new(COLUMNS).subsequent_indent(indent))
}

/// Returns a line that is shortened if it is too long.
pub(crate) fn line(indent: usize, text: &str) -> String {
    " ".repeat(indent) + &shortened(text, COLUMNS.saturating_sub(indent))
}

/// Returns whether one line has room for a text.
pub(crate) fn fits(text: &str) -> bool {
    width(&plain(text)) <= COLUMNS
}

/// Returns both on one line if there is room, otherwise on two.
pub(crate) fn joined(indent: &str, first: &str, second: &str) -> String {
    let line = format!("{indent}{first}, {second}");
    if fits(&line) { line } else { format!("{indent}{first}\n{indent}{second}") }
}

/// Returns a report whose lines have at most the allowed width: long lines are continued on the next line, not cut.
pub(super) fn within(report: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end();
        if width(line) <= COLUMNS {
            return plain(line) + "\n";
        }
        let indent = line.chars().take_while(|c| *c == ' ').count() + 2;
        wrapped(line, &" ".repeat(indent)) + "\n"
    };
    report.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle_to_columns() {
        assert_eq!(shortened("abcdefgh", 5), "ab…gh");
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("锁锁锁锁锁锁", 8), "锁锁…锁", "each takes two columns");
        assert_eq!(shortened("a\u{1b}[2J\nb", 20), "a [2J b");
        assert_eq!(shortened("abc", 0), "…");
        assert_eq!(shortened("get (libkv.so) by lock (libkv.so)", 20), "get by lock");
        assert_eq!(shortened("operator() (a.cc:7)", 12), "operat…cc:7)");
    }

    #[test]
    fn long_names_share_the_room_that_short_ones_leave() {
        assert_eq!(shared(&[5, 90, 90], 65), [5, 30, 30]);
        assert_eq!(shared(&[90, 20], 100), [80, 20]);
        assert_eq!(shared(&[90, 90], 0), [LEAST, LEAST]);
        let line = fitted(&[("held by ", &"x".repeat(200)), (" while ", "wait")], " waited (1 ms)");
        assert_eq!(width(line.trim_end()), COLUMNS);
        assert!(line.ends_with("x while wait waited (1 ms)"), "{line}");
    }

    #[test]
    fn what_is_fixed_is_wrapped_and_never_cut() {
        let words = "word ".repeat(50);
        let text = within(&format!("  {words}"));
        assert_eq!(text.split_whitespace().count(), 50);
        assert!(text.lines().all(|line| width(line) <= COLUMNS), "{text}");
        assert_eq!(joined(" ", "a", "b"), " a, b");
        assert_eq!(joined(" ", &"a".repeat(98), "b").lines().count(), 2);
    }
}
