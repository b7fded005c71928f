//! Figures in sentences.

/// Three digits and a unit: `1.23 ms`.
pub(crate) fn time(ns: u64) -> String {
    // What would be 1000 of a unit is 1.00 of the next.
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..999_500 => (ns as f64 / 1e3, "us"),
        999_500..999_500_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{} {unit}", three(value))
}

/// Three digits, more only of what is beyond 1000.
pub(crate) fn three(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// One thing, several things: `1 wait`, `1,234 waits`.
pub(crate) fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

/// A part of a whole: `12%`, `0.3%`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * share(part, whole);
    if share > 0.0 && share < 0.1 {
        return "under 0.1%".to_owned();
    }
    format!("{share:.*}%", usize::from(share < 10.0 && share > 0.0))
}

/// The same as a number; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
