//! Text of others on a terminal: names of programs and of what is in them, files that somebody else wrote.

use std::borrow::Cow;
use turnwise_preload_abi::terminal::is_obeyed;

/// Returns the text without what a terminal would obey, or would show in another order than it is in.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed) { text.replace(is_obeyed, "\u{fffd}").into() } else { text.into() }
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
}
