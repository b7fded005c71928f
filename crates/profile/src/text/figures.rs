//! Formats figures for people, in few columns.

use turnwise_present::figures::{percent, short};

/// Formats a duration.
pub(super) fn time(ns: u64) -> String {
    if ns == 0 { "0".to_owned() } else { crate::figures::time(ns) }
}

/// Formats a number of items.
pub(super) fn count(value: u64) -> String {
    if value < 10_000 { value.to_string() } else { short(value as f64) }
}

/// Formats a part of a whole in percent.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let share = crate::figures::share(part, whole);
    if share > 0.0 && share < 0.001 { "<0.1%".to_owned() } else { percent(share) }
}

/// Formats a number with its noun.
pub(super) fn plural(value: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(
            [0, 999, 1500, 12_345_678, 999_600_000, 9_999_999_999].map(time),
            ["0", "999 ns", "1.50 us", "12.3 ms", "1.00 s", "10.0 s"]
        );
        assert_eq!([7, 9999, 10_000, 999_700, 1_234_567].map(count), ["7", "9999", "10.0 k", "1.00 M", "1.23 M"]);
        assert_eq!([(0, 5), (1, 3000), (1, 100), (1, 2)].map(|(a, b)| share(a, b)), ["0%", "<0.1%", "1.0%", "50%"]);
        assert_eq!([1, 2].map(|waits| plural(waits, "wait", "waits")), ["1 wait", "2 waits"]);
    }
}
