//! A report as text. If names leave no room for all in 80 columns, extremes are left out.

use super::report::Report;
use super::runs::{Row, complete_rounds};
use super::verdict::figure;
use crate::metric::{Better, Metric, Unit, title};
use std::fmt::Write;
use turnwise_present::ending::columns;
use turnwise_present::figures::scaled;
use turnwise_present::table::{self, Cell, CellAlignment, ColumnConstraint};

/// Returns the whole report, for people.
pub(crate) fn text(report: &Report) -> String {
    let rounds = complete_rounds(&report.runs, report.settings.policies.len()).len();
    let mut text = format!(
        "{}: {rounds} runs each, interleaved, seed {}\n{}\n\n",
        report.command["shown"].as_str().unwrap_or_default(),
        report.settings.seed,
        report.machine
    );
    let _ = writeln!(text, "{}\n", table(&report.metrics, &report.summaries, &report.settings.policies[0]));
    text.extend(report.verdicts.iter().map(|verdict| sentence(&verdict.sentence)));
    for note in &report.notes {
        text += &fitted(&format!("Note: {note}"), columns());
    }
    text
}

/// Returns a sentence with a capital, on as many lines as it needs.
pub(super) fn sentence(sentence: &str) -> String {
    fitted(&capitalised(sentence), columns())
}

/// Wraps a sentence to `columns` columns; leaves it whole if there is no limit: scripts look for it.
fn fitted(sentence: &str, columns: Option<usize>) -> String {
    let lines = |columns| textwrap::fill(sentence, textwrap::Options::new(columns).subsequent_indent("  "));
    columns.map_or_else(|| sentence.to_owned(), lines) + "\n"
}

/// The default width of a terminal.
const WIDTH: usize = 80;

/// Returns the figures of all policies; without extremes, if they do not fit.
pub(super) fn table(metrics: &[Metric], rows: &[Row], baseline: &str) -> String {
    let whole = table_with(metrics, rows, baseline, true);
    let fits = whole.lines().all(|line| line.chars().count() <= WIDTH);
    if fits { whole } else { table_with(metrics, rows, baseline, false) }
}

/// Returns one line for each metric and contender, and above them the metric's name, which may be longer than a column.
fn table_with(metrics: &[Metric], rows: &[Row], baseline: &str, extremes: bool) -> String {
    const EXTREMES: usize = 3;
    let mut table = table::ruled();
    let to_baseline = format!("x {baseline}");
    let headings = ["", "median", "middle half", "min to max", &to_baseline, "95% CI"];
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    table.set_header(headings.map(|heading| right(heading.to_owned())));
    let mut titles = Vec::new();
    for metric in metrics {
        let mut title =
            Some(format!("{} {}", title(&metric.name), if metric.better == Better::Higher { "↑" } else { "↓" }));
        for row in rows.iter().filter(|row| row.metric == metric.name) {
            titles.push(title.take());
            let name = Cell::new(format!("  {}", row.policy));
            table.add_row(std::iter::once(name).chain(cells(metric, row).map(right)));
        }
    }
    let (first, last) = (0, headings.len() - 1);
    if !extremes {
        table.column_mut(EXTREMES).into_iter().for_each(|column| _ = column.set_constraint(ColumnConstraint::Hidden));
    }
    for column in [first, last] {
        let padding = if column == first { (0, 1) } else { (1, 0) };
        table.column_mut(column).into_iter().for_each(|column| _ = column.set_padding(padding));
    }
    with_titles(table.lines(), &titles)
}

/// Returns the lines of a table with a title above each row that has one.
fn with_titles(lines: impl Iterator<Item = String>, titles: &[Option<String>]) -> String {
    const HEADER_LINES: usize = 2;
    let mut all = Vec::new();
    for (number, line) in lines.enumerate() {
        let title = number.checked_sub(HEADER_LINES).and_then(|row| titles.get(row)?.clone());
        all.extend(title);
        all.push(line.trim_end().to_owned());
    }
    all.join("\n")
}

fn cells(metric: &Metric, row: &Row) -> [String; 5] {
    let summary = &row.summary;
    let value = |value| shown(value, metric.unit);
    let (ratio, interval) = match row.to_baseline {
        Some(ratio) => (figure(ratio.ratio), range(&figure(ratio.low), &figure(ratio.high))),
        None => Default::default(),
    };
    let between = |low, high| range(&value(low), &value(high));
    [value(summary.median), between(summary.q1, summary.q3), between(summary.min, summary.max), ratio, interval]
}

/// Formats a range of two values; a common unit is shown once.
fn range(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// Formats a value with its unit, four digits at least.
fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value < 0.001 => format!("{:.1} us", value * 1e6),
        Unit::Seconds if value < 1.0 => format!("{:.1} ms", value * 1e3),
        Unit::Seconds => format!("{value:.3} s"),
        Unit::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
        Unit::Count if value < 1e3 && value.fract() != 0.0 => format!("{value:.1}"),
        Unit::Count | Unit::Printed => scaled(value),
    }
}

/// Returns the sentence with a capital, unless it begins with a file's name or a setting.
fn capitalised(sentence: &str) -> String {
    if sentence.split_whitespace().next().is_some_and(|word| word.contains(['.', '/', '='])) {
        return sentence.to_owned();
    }
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::runs::Run;
    use super::super::settings::Settings;
    use super::*;
    use crate::measure::Usage;
    use crate::metric::charged;
    use crate::target::Target;

    /// Returns a report on two policies, the second of this name, on a program of some seconds.
    fn report(name: &str) -> Report {
        let policies = vec!["libc".to_owned(), name.to_owned()];
        let usage = Usage { wall_s: 2.8, user_s: 12.345, max_rss_bytes: 28 << 20, ..Usage::default() };
        let run = |round, policy: &String| Run {
            policy: policy.clone(),
            round,
            position: 0,
            warmup: false,
            exit_status: 0,
            library_loaded: None,
            locks_used: None,
            locks_contended: None,
            usage: Usage { wall_s: usage.wall_s + f64::from(round), ..usage },
            printed: Default::default(),
            matches: Default::default(),
        };
        let runs = (0..6).flat_map(|round| policies.iter().map(move |policy| run(round, policy))).collect();
        let (looks, confidence, unit) = (vec![6], 0.95, "runs");
        let settings =
            Settings { policies, runs: 6, looks, confidence, margin: 0.05, seed: 1, unit, ..Settings::default() };
        let target = Target::find(&["true".into()]).unwrap();
        Report::without_runs(&settings, &target, &charged()).with(&charged(), runs, false)
    }

    #[test]
    fn a_table_without_room_has_no_extremes() {
        let of = |name: &str| {
            let report = report(name);
            table(&report.metrics, &report.summaries, "libc")
        };
        let width = |table: &str| table.lines().map(|line| line.chars().count()).max();
        let (with, without) = (of("adaptive"), of("adaptive (finding 2)"));
        assert!(width(&with) <= Some(80) && with.contains("min to max") && with.contains("2.800–7.800 s"), "{with}");
        assert!(width(&without) <= Some(80) && !without.contains("min to max"), "{without}");
        assert!(without.contains("middle half") && !without.contains("2.800–7.800 s"), "{without}");
    }

    #[test]
    fn sentences_fit_the_terminal_and_are_whole_elsewhere() {
        let sentence = "word ".repeat(30).trim_end().to_owned();
        assert_eq!(fitted(&sentence, None), sentence.clone() + "\n");
        assert!(fitted(&sentence, Some(60)).lines().all(|line| line.len() <= 60));
    }

    #[test]
    fn ranges_carry_a_common_unit_once() {
        assert_eq!(range("661.0 k", "665.4 k"), "661.0–665.4 k");
        assert_eq!(range("950.0 ms", "1.002 s"), "950.0 ms–1.002 s");
        assert_eq!(range("3", "4.5"), "3–4.5");
    }

    #[test]
    fn values_carry_their_unit() {
        assert_eq!(shown(1.5, Unit::Seconds), "1.500 s");
        assert_eq!(shown(0.7001, Unit::Seconds), "700.1 ms");
        assert_eq!(shown(0.0000015, Unit::Seconds), "1.5 us");
        assert_eq!(shown(3_145_728.0, Unit::Bytes), "3.0 MiB");
        assert_eq!(shown(0.0, Unit::Count), "0");
        assert_eq!(shown(3.5, Unit::Count), "3.5");
        assert_eq!(shown(38_894.5, Unit::Count), "38894");
        assert_eq!(shown(1_153_000.0, Unit::Printed), "1.153 M");
        assert_eq!(shown(0.0123, Unit::Printed), "0.0123");
    }
}
