//! Matches patterns against names of programs, modules, symbols and functions.

/// Returns whether `pattern` matches all of `text`: `*` matches any bytes, including none, `?` one byte; all others
/// match themselves. This takes at most `pattern.len() * text.len()` steps.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // After the last star: where the pattern continues, and where the text after the star's match begins.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                star = Some((p, t));
            }
            Some(byte) if *byte == b'?' || *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after, eaten)) = star else { return false };
                star = Some((after, eaten + 1));
                (p, t) = (after, eaten + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Returns whether `pattern` matches the path of a file: without a slash, it is matched against the file's name only.
pub fn matches_path(pattern: &[u8], path: &[u8]) -> bool {
    matches(pattern, if pattern.contains(&b'/') { path } else { file_name(path) })
}

/// Returns the part after the last slash.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::matches;

    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern:?} on {text:?}");
    }

    #[test]
    fn without_wildcards_only_the_same() {
        check("", "", true);
        check("lock", "lock", true);
        check("lock", "locks", false);
        check("locks", "lock", false);
    }

    #[test]
    fn stars_and_question_marks() {
        check("*", "", true);
        check("?", "", false);
        check("l*k", "lk", true);
        check("l*k", "lock knock", true);
        check("l?ck", "luck", true);
        check("*ab", "aab", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("operator*", "operator*", true);
        check("***", "x", true);
    }
}
