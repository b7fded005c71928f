//! Formats numbers, times and shares for human readers.

/// Formats a number with its thousands as a letter, four digits at least: `1.153 M`, `115.3 k`, `38894`.
pub fn scaled(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.3} G", value / 1e9),
        size if size >= 1e6 => format!("{:.3} M", value / 1e6),
        size if size >= 1e5 => format!("{:.1} k", value / 1e3),
        size if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// Formats a number with its thousands as a letter, three digits: `12.3 M`, `4.56 k`, `789`.
pub fn short(value: f64) -> String {
    // A figure that would round to 1000 of a unit is 1.00 of the next.
    match value.abs() {
        size if size >= 999.5e6 => format!("{} G", three(value / 1e9)),
        size if size >= 999.5e3 => format!("{} M", three(value / 1e6)),
        size if size >= 1e3 => format!("{} k", three(value / 1e3)),
        _ if value.fract() == 0.0 => format!("{value}"),
        _ => three(value),
    }
}

/// Formats a number without a unit, three digits at least: `640595016`, `71.8`, `8`.
pub fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 0.01 => three(value),
        _ => format!("{value:.1e}"),
    }
}

/// Formats with three digits, more only beyond 1000.
pub fn three(value: f64) -> String {
    match value.abs() {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats nanoseconds with three digits, in a suitable unit: `850 ns`, `12.3 us`, `4.56 ms`.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        size if size >= 999.5e6 => format!("{} s", three(ns / 1e9)),
        size if size >= 999.5e3 => format!("{} ms", three(ns / 1e6)),
        size if size >= 999.5 => format!("{} us", three(ns / 1e3)),
        _ if ns.fract() == 0.0 => format!("{ns:.0} ns"),
        _ => format!("{} ns", three(ns)),
    }
}

/// Formats a duration as flags take it, exactly: `20ms`, `1001ns`.
pub fn duration(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(unit, _)| ns > 0 && ns.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

/// Formats a share in percent: `12%`, `0.3%`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 9.95 { format!("{percent:.0}%") } else { format!("{percent:.1}%") }
}

/// Formats a number with commas: `1,234,567`.
pub fn count(number: u64) -> String {
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
    fn numbers_keep_four_digits() {
        let numbers = [0.0, 0.0123, 3.5, 38_894.5, 115_300.0, 1_153_000.0, 2e9];
        assert_eq!(numbers.map(scaled), ["0", "0.0123", "3.500", "38894", "115.3 k", "1.153 M", "2.000 G"]);
    }

    #[test]
    fn numbers_keep_three_digits() {
        let values = [0.0, 7.0, 0.5, 12.34, 999.0, 1234.0, 56_789.0, 123_456.0, 999_700.0, 2e6, 1.5e10];
        let shown = values.map(short);
        let expected = ["0", "7", "0.50", "12.3", "999", "1.23 k", "56.8 k", "123 k", "1.00 M", "2.00 M", "15.0 G"];
        assert_eq!(shown, expected);
        let shown = [3.99, 71.78, 3681.9, 640_595_016.0, 0.26, 8.0, 0.0, 0.0042].map(plain);
        assert_eq!(shown, ["3.99", "71.8", "3682", "640595016", "0.26", "8", "0", "4.2e-3"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [0.5, 9.214, 27.51, 151.2, 999.6, 54_810.0, 5.21e6, 1.58e9].map(time);
        assert_eq!(shown, ["0.50 ns", "9.21 ns", "27.5 ns", "151 ns", "1.00 us", "54.8 us", "5.21 ms", "1.58 s"]);
        let shown = [0.0, 999.0, 9_999.0, 999_600.0, 123_456_789.0, 999_999_999.0].map(time);
        assert_eq!(shown, ["0 ns", "999 ns", "10.0 us", "1.00 ms", "123 ms", "1.00 s"]);
        assert_eq!(
            [duration(20_000_000), duration(2_500_000), duration(1_001), duration(0), duration(1_000_000_000)],
            ["20ms", "2500us", "1001ns", "0ns", "1s"]
        );
        assert_eq!([percent(0.0), percent(0.123), percent(0.0042), percent(1.0)], ["0%", "12%", "0.4%", "100%"]);
    }
}
