//! Figures in sentences.

pub use turnwise_present::figures::count;

/// Formats a duration: `1.23 ms`.
pub fn time(ns: u64) -> String {
    turnwise_present::figures::time(ns as f64)
}

/// Formats a number with its noun: `1 wait`, `1,234 waits`.
pub fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

/// Formats a part of a whole: `12%`, `0.3%`.
pub fn percent(part: u64, whole: u64) -> String {
    let share = share(part, whole);
    if share > 0.0 && share < 0.001 {
        return "under 0.1%".to_owned();
    }
    turnwise_present::figures::percent(share)
}

/// Returns a part of a whole as a number; 0 if the whole is 0.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Scales a part of `known` to `all`, rounded down; 0 if nothing is known.
pub fn scaled(part: u64, known: u64, all: u64) -> u64 {
    (u128::from(part) * u128::from(all)).checked_div(u128::from(known)).map_or(0, |scaled| scaled as u64)
}

/// Joins the first few items, with a sign that there are more.
pub fn listed(items: impl IntoIterator<Item = String>, most: usize, between: &str) -> String {
    let mut items = items.into_iter();
    let shown: Vec<String> = items.by_ref().take(most).collect();
    let more = if items.next().is_some() { format!("{between}…") } else { String::new() };
    shown.join(between) + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        let times = [0, 999, 1_234, 56_789, 9_999, 999_600, 123_456_789, 999_999_999].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.23 us", "56.8 us", "10.0 us", "1.00 ms", "123 ms", "1.00 s"]);
        assert_eq!([1, 1000].map(|waits| plural(waits, "wait", "waits")), ["1 wait", "1,000 waits"]);
        assert_eq!(
            [percent(1, 3), percent(1, 30), percent(1, 99_999), percent(0, 5)],
            ["33%", "3.3%", "under 0.1%", "0%"]
        );
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
