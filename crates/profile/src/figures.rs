//! Figures in sentences.

/// Three digits and a unit: `1.23 ms`.
pub(crate) fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
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
        let times = [0, 999, 1_234, 56_789, 123_456_789, 2_000_000_000].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.23 us", "56.8 us", "123 ms", "2.00 s"]);
        assert_eq!(
            [percent(1, 3), percent(1, 30), percent(1, 99_999), percent(0, 5)],
            ["33%", "3.3%", "under 0.1%", "0%"]
        );
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
