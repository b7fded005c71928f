//! The folders of the files, and their names.

/// The variable that names the folder of a user's files that end with the session; [`FOLDER`] is in it.
pub const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";
/// The folder in which users have such folders by number, if the variable is not set.
pub const RUNTIME: &str = "/run/user";
/// The folder in either.
pub const FOLDER: &str = "turnwise";
/// The prefix of the folder of a user that has neither; the user's number follows.
pub const TEMPORARY: &str = "/tmp/turnwise-";
/// The suffix of the files' names, preceded by the process and its start, separated by `-`.
pub const ENDING: &str = ".live";

/// The time for which files of ended processes are kept.
pub const STALE_SECONDS: u64 = 24 * 60 * 60;
/// The number of files of ended processes that are kept.
pub const STALE_FILES: usize = 64;

/// Parses the process and its start from a file's name.
#[must_use]
pub fn parse_name(name: &[u8]) -> Option<(u32, u64)> {
    let (process, start) = core::str::from_utf8(name).ok()?.strip_suffix(ENDING)?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(process) || !is_number(start) {
        return None;
    }
    Some((process.parse().ok()?, start.parse().ok()?))
}

/// Parses the state, the number of threads and the start of a process from its `/proc/PID/stat`.
#[must_use]
pub fn parse_stat(stat: &[u8]) -> Option<(u8, u64, u64)> {
    // The program's name precedes them, in parentheses, and may contain any character.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(end + 1..)?.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let mut number = |skip: usize| core::str::from_utf8(fields.nth(skip)?).ok()?.parse::<u64>().ok();
    // Fields 20 and 22; the state is field 3.
    let threads = number(16)?;
    Some((state, threads, number(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers_and_nothing_else() {
        assert_eq!(parse_name(b"123-4567.live"), Some((123, 4567)));
        for other in ["", ".live", "-.live", "1-.live", "-1.live", "1-2.liv", "+1-2.live", "1-2-3.live", "1 -2.live"] {
            assert_eq!(parse_name(other.as_bytes()), None, "{other}");
        }
        assert_eq!(parse_name(b"99999999999-2.live"), None);
        assert_eq!(parse_name(b"\xff-2.live"), None);
    }

    #[test]
    fn a_programs_name_may_look_like_the_rest() {
        let stat = b"42 (a) S 1 2) R 1 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 7 0 123456 1 2";
        assert_eq!(parse_stat(stat), Some((b'R', 7, 123_456)));
        assert_eq!(parse_stat(b"42 (a"), None);
        assert_eq!(parse_stat(b"42 (a) R 1 2"), None);
    }
}
