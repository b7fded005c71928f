//! A terminal's reaction to the characters of a name from an untrusted source.

/// Returns whether it is a control character, ends a line, or sets the direction of writing: no name is shown with it.
#[must_use]
pub fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
