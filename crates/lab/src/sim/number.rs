//! Numbers as people read them, three digits at least.

/// `12.3 M`, `4.56 k`, `789`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        size if size == 0.0 || size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    if unit.is_empty() && value.fract() == 0.0 { format!("{value}") } else { format!("{scaled:.digits$}{unit}") }
}

/// `1234`, `12.3`, `4.56`: without a unit of its own.
pub(crate) fn plain(value: f64) -> String {
    if value < 100.0 { short(value) } else { format!("{value:.0}") }
}

/// A length of time: `850 ns`, `12.3 us`, `4.56 ms`.
pub(crate) fn time(ns: f64) -> String {
    let (scaled, unit) = match ns {
        _ if ns >= 1e9 => (ns / 1e9, "s"),
        _ if ns >= 1e6 => (ns / 1e6, "ms"),
        _ if ns >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let text = short(scaled);
    format!("{text} {unit}")
}

/// A length of time as `--duration` takes it, exactly.
pub(crate) fn duration(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(unit, _)| ns > 0 && ns.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

/// `12%`, `0.3%`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 9.95 { format!("{percent:.0}%") } else { format!("{percent:.1}%") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let values = [0.0, 7.0, 0.5, 12.34, 999.0, 1234.0, 56_789.0, 123_456.0, 2e6, 1.5e10];
        let shown: Vec<String> = values.into_iter().map(short).collect();
        assert_eq!(shown, ["0", "7", "0.50", "12.3", "999", "1.23 k", "56.8 k", "123 k", "2.00 M", "15.0 G"]);
    }

    #[test]
    fn times_and_shares() {
        assert_eq!([plain(4.567), plain(45.67), plain(1234.5), plain(0.0)], ["4.57", "45.7", "1234", "0"]);
        assert_eq!([time(850.0), time(12_345.0), time(2e6), time(3.5e9)], ["850 ns", "12.3 us", "2 ms", "3.50 s"]);
        assert_eq!(
            [duration(20_000_000), duration(2_500_000), duration(1_001), duration(0), duration(1_000_000_000)],
            ["20ms", "2500us", "1001ns", "0ns", "1s"]
        );
        assert_eq!([percent(0.0), percent(0.123), percent(0.0042), percent(1.0)], ["0%", "12%", "0.4%", "100%"]);
    }
}
