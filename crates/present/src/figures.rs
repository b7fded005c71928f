//! Numbers as people read them.

/// A number with its thousands as a letter.
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn numbers_keep_four_digits() {
        let numbers = [0.0, 0.0123, 3.5, 38_894.5, 115_300.0, 1_153_000.0, 2e9];
        assert_eq!(numbers.map(scaled), ["0", "0.0123", "3.500", "38894", "115.3 k", "1.153 M", "2.000 G"]);
    }
}
