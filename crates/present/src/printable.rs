//! Untrusted text on a terminal: names of programs and in programs, files from other sources.

use std::borrow::Cow;
use std::ffi::OsString;
use turnwise_preload_abi::terminal::is_obeyed;

/// Returns the text without characters that a terminal would interpret, or that would change its visible order.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed) { text.replace(is_obeyed, "\u{fffd}").into() } else { text.into() }
}

/// Returns a message without characters that a terminal would interpret. Its lines stay; but a word of the command line
/// in it, such as a file name, does not end one.
pub fn printable_message(message: &str, words: impl IntoIterator<Item = OsString>) -> String {
    let mut shown = message.to_owned();
    for word in words {
        let word = word.to_string_lossy();
        let value = word.split_once('=').map_or("", |(_, value)| value);
        for part in [&*word, value].into_iter().filter(|part| part.contains(is_obeyed)) {
            shown = shown.replace(part, &printable(part));
        }
    }
    shown.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        for hostile in ["\u{1b}[2J", "\u{1b}]0;title\u{7}", "a\rb", "a\nb", "\u{9b}31m", "\u{202e}drawkcab", "\u{7f}"] {
            let shown = printable(hostile);
            assert!(shown.contains('\u{fffd}') && !shown.contains(is_obeyed), "{hostile:?}: {shown:?}");
        }
    }

    #[test]
    fn other_text_stays() {
        for name in ["operator<<", "größe", "std::vector<int, A>::push_back", "名前", "a b"] {
            assert!(matches!(printable(name), Cow::Borrowed(same) if same == name));
        }
    }

    #[test]
    fn a_message_has_its_own_lines_and_no_others() {
        let words = ["run", "a\u{1b}[2J\nb", "--json=c\nd"].map(OsString::from);
        let shown = printable_message("cannot read a\u{1b}[2J\nb:\n  c\nd: \u{7}gone", words);
        assert_eq!(shown, "cannot read a\u{fffd}[2J\u{fffd}b:\n  c\u{fffd}d: \u{fffd}gone");
    }
}
