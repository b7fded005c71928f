//! A report as text.

use crate::metric::{Better, Unit};
use crate::report::{MetricInfo, Report, Row, complete_rounds};
use crate::verdict::figure;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, presets};
use std::fmt::Write;

/// The whole report, for people.
pub(crate) fn text(report: &Report) -> String {
    let rounds = complete_rounds(&report.runs, report.settings.policies.len()).len();
    let machine = &report.machine;
    let mut text = format!(
        "{}: {rounds} runs each, interleaved, seed {}\n{} x {}, Linux {}, {}\n\n",
        report.command.shown, report.settings.seed, machine.cpus, machine.cpu_model, machine.kernel, machine.libc
    );
    let _ = writeln!(text, "{}\n", table(report));
    for verdict in &report.verdicts {
        let _ = writeln!(text, "{}", capitalised(&verdict.sentence));
    }
    for note in &report.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    text
}

fn table(report: &Report) -> Table {
    let mut table = Table::new();
    let to_baseline = format!("x {}", report.settings.policies[0]);
    table.load_style(presets::NOTHING.header_separator(LineStyle::none().fill('─')));
    table.set_header(["metric", "locks", "median", "middle half", "min to max", &to_baseline, "95% CI"]);
    for metric in &report.metrics {
        let mut title = format!("{} {}", metric.name, if metric.better == Better::Higher { "↑" } else { "↓" });
        for row in report.summaries.iter().filter(|row| row.metric == metric.name) {
            let cells = cells(metric, row).map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
            let names = [std::mem::take(&mut title), row.policy.clone()].map(Cell::new);
            table.add_row(names.into_iter().chain(cells));
        }
    }
    table
}

fn cells(metric: &MetricInfo, row: &Row) -> [String; 5] {
    let summary = &row.summary;
    let value = |value| shown(value, metric.unit);
    let (ratio, range) = match row.to_baseline {
        Some(ratio) => (figure(ratio.ratio), format!("{} to {}", figure(ratio.low), figure(ratio.high))),
        None => Default::default(),
    };
    let between = |low, high| format!("{} to {}", value(low), value(high));
    [value(summary.median), between(summary.q1, summary.q3), between(summary.min, summary.max), ratio, range]
}

/// A value with its unit, four digits at least.
fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value < 0.001 => format!("{:.1} us", value * 1e6),
        Unit::Seconds if value < 1.0 => format!("{:.1} ms", value * 1e3),
        Unit::Seconds => format!("{value:.3} s"),
        Unit::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
        Unit::Count if value < 1e5 && value.fract() != 0.0 => format!("{value:.1}"),
        Unit::Count | Unit::Printed => scaled(value),
    }
}

/// A number with its thousands as a letter.
pub(crate) fn scaled(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.3} G", value / 1e9),
        size if size >= 1e6 => format!("{:.3} M", value / 1e6),
        size if size >= 1e5 => format!("{:.1} k", value / 1e3),
        size if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// The sentence with a capital, unless it begins with a file's name.
fn capitalised(sentence: &str) -> String {
    if sentence.split_whitespace().next().is_some_and(|word| word.contains(['.', '/'])) {
        return sentence.to_owned();
    }
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_unit() {
        assert_eq!(shown(1.5, Unit::Seconds), "1.500 s");
        assert_eq!(shown(0.7001, Unit::Seconds), "700.1 ms");
        assert_eq!(shown(0.0000015, Unit::Seconds), "1.5 us");
        assert_eq!(shown(3_145_728.0, Unit::Bytes), "3.0 MiB");
        assert_eq!(shown(0.0, Unit::Count), "0");
        assert_eq!(shown(3.5, Unit::Count), "3.5");
        assert_eq!(shown(1_153_000.0, Unit::Printed), "1.153 M");
        assert_eq!(shown(0.0123, Unit::Printed), "0.0123");
    }
}
