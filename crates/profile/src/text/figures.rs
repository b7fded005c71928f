//! Figures as people read them, in few columns.

/// A length of time.
pub(super) fn time(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0 => "0".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", three(value / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", three(value / 1e6)),
        _ => format!("{} s", three(value / 1e9)),
    }
}

/// A number of things.
pub(super) fn count(value: u64) -> String {
    let exact = value as f64;
    match value {
        0..10_000 => value.to_string(),
        10_000..1_000_000 => format!("{} k", three(exact / 1e3)),
        1_000_000..1_000_000_000 => format!("{} M", three(exact / 1e6)),
        _ => format!("{} G", three(exact / 1e9)),
    }
}

/// A part of a whole in percent.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        _ if part == 0 => "0%".to_owned(),
        ..0.1 => "<0.1%".to_owned(),
        0.1..10.0 => format!("{percent:.1}%"),
        _ => format!("{percent:.0}%"),
    }
}

/// One thing, several things.
pub(super) fn plural(value: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { more })
}

fn three(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// `text` in at most `columns`, its end cut off if need be.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(
            [0, 999, 1500, 12_345_678, 9_999_999_999].map(time),
            ["0", "999 ns", "1.50 us", "12.3 ms", "10.0 s"]
        );
        assert_eq!([7, 9999, 10_000, 1_234_567].map(count), ["7", "9999", "10.0 k", "1.23 M"]);
        assert_eq!([(0, 5), (1, 3000), (1, 100), (1, 2)].map(|(a, b)| share(a, b)), ["0%", "<0.1%", "1.0%", "50%"]);
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
