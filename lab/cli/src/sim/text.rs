//! A report as text, at most 100 columns wide: `report.jinja`.

use super::curves::{Curves, Series};
use crate::document::{self, Style};
use crate::picture::letters::{self, Curve};
use serde::Serialize;
use turnwise_present::figures::short;
use turnwise_profile::text::shortened;
use turnwise_simbench::report::{Cell, Figures, ProfileRow, SimReport};

const WIDTH: usize = 100;
/// Functions of a profile that are shown.
const TOP_FUNCTIONS: usize = 6;
/// Shares below this are not worth a line.
const SMALL_SHARE: f64 = 0.005;

/// What the template shows.
#[derive(Serialize)]
struct Values<'a> {
    report: &'a SimReport,
    axis: &'static str,
    tables: Vec<Speeds<'a>>,
    plot: String,
    /// Of each curve the name, its end, and where the time went there.
    last: Vec<(&'a str, u32, Vec<String>)>,
}

/// Throughput of each curve (a column) at each x (a row), and how far it falls from its peak.
#[derive(Serialize)]
struct Speeds<'a> {
    names: Vec<&'a str>,
    rows: Vec<Vec<String>>,
}

/// Renders the whole report, for people.
pub(crate) fn text(report: &SimReport) -> String {
    let curves = Curves::of(report);
    let end = |line: &'_ Series| line.points(report, curves.axis).pop();
    let last = curves.series.iter().filter_map(|line| {
        let (x, figures) = end(line)?;
        let rows = figures.profile.iter().take_while(|row| row.share >= SMALL_SHARE).take(TOP_FUNCTIONS);
        Some((line.name.as_str(), x, rows.map(profile_line).collect()))
    });
    let values = Values {
        report,
        axis: curves.axis.title(),
        tables: tables(&curves.series).iter().map(|lines| Speeds::of(report, &curves, lines)).collect(),
        plot: plot(report, &curves).join("\n"),
        last: last.collect(),
    };
    let text = document::filled("sim/report.jinja", include_str!("report.jinja"), values);
    let failures = failures(report);
    let gap = if failures.is_empty() { "" } else { "\n" };
    failures + gap + &document::shown(&text, Style::Plain)
}

/// Returns the curves of each table: as many as have room side by side.
fn tables(series: &[Series]) -> Vec<Vec<&Series>> {
    let mut tables: Vec<Vec<&Series>> = Vec::new();
    let mut free = 0;
    for line in series {
        let width = line.name.len().max(7) + 2;
        if width > free {
            tables.push(Vec::new());
            free = WIDTH - 13;
        }
        free = free.saturating_sub(width);
        tables.last_mut().expect("just pushed").push(line);
    }
    tables
}

impl<'a> Speeds<'a> {
    fn of(report: &SimReport, curves: &Curves, lines: &[&'a Series]) -> Speeds<'a> {
        let axis = curves.axis;
        let row = |title: &str, value: &dyn Fn(&Series) -> Option<String>| {
            let values = lines.iter().map(|line| value(line).unwrap_or_default());
            std::iter::once(title.to_owned()).chain(values).collect::<Vec<_>>()
        };
        let speed = |cell: &Cell| match &cell.result {
            Err(_) => "stuck".to_owned(),
            Ok(figures) => short(figures.ops_per_s),
        };
        let xs = curves.xs(report);
        let at = |x: &u32| row(&x.to_string(), &|line| line.at(report, axis, *x).map(speed));
        let mut rows: Vec<Vec<String>> = xs.iter().map(at).collect();
        if xs.len() > 1 {
            let points = |line: &Series| line.points(report, axis);
            let peak = |points: &[(u32, &Figures)]| {
                let (x, figures) = points.iter().max_by(|a, b| a.1.ops_per_s.total_cmp(&b.1.ops_per_s))?;
                (figures.ops_per_s > 0.0).then_some((*x, figures.ops_per_s))
            };
            rows.push(row("peak at", &|line| Some(peak(&points(line))?.0.to_string())));
            rows.push(row("last/peak", &|line| {
                let points = points(line);
                Some(format!("{:.2}", points.last()?.1.ops_per_s / peak(&points)?.1))
            }));
            if lines.iter().any(|line| beyond_a_node(report, line).is_some()) {
                rows.push(row("last/1 node", &|line| Some(format!("{:.2}", beyond_a_node(report, line)?))));
            }
        }
        Speeds { names: lines.iter().map(|line| line.name.as_str()).collect(), rows }
    }
}

/// Returns a curve's end over its last point within one node: below 1, it fell beyond that.
fn beyond_a_node(report: &SimReport, line: &Series) -> Option<f64> {
    let cells = || line.cells.iter().map(|&place| &report.cells[place]);
    let within = cells().rev().find(|cell| cell.nodes == 1)?.result.as_ref().ok()?.ops_per_s;
    let last = cells().next_back().filter(|cell| cell.nodes > 1)?.result.as_ref().ok()?.ops_per_s;
    (within > 0.0).then_some(last / within)
}

/// Draws operations per second over CPUs or threads; nothing if no curve has two points.
fn plot(report: &SimReport, curves: &Curves) -> Vec<String> {
    let drawn = |line: &Series| {
        let points = line.points(report, curves.axis);
        points.into_iter().map(|(x, figures)| (f64::from(x), figures.ops_per_s)).collect::<Vec<_>>()
    };
    let drawn: Vec<Curve<'_>> = curves.series.iter().map(|line| (line.name.as_str(), drawn(line))).collect();
    let moves = drawn.iter().any(|(_, points)| points.len() > 1 && points.iter().any(|point| point.1 > 0.0));
    let title = format!("operations per second, by {}", curves.axis.title());
    if moves { letters::lines(&title, &drawn) } else { Vec::new() }
}

fn profile_line(row: &ProfileRow) -> String {
    let place = row.place.as_deref().map(|place| format!(" ({place})")).unwrap_or_default();
    shortened(&format!("  {:>5.1}%  {:<8} {}{place}", row.share * 100.0, row.kind, row.function), WIDTH)
}

/// Returns what got stuck, with seed and command; empty if nothing did.
pub(crate) fn failures(report: &SimReport) -> String {
    report.cells.iter().filter_map(failure).collect()
}

fn failure(cell: &Cell) -> Option<String> {
    let stuck = cell.result.as_ref().err()?;
    let who: String = stuck.who.lines().map(|line| format!("    {line}\n")).collect();
    let Cell { lock, cpus, threads, seed, .. } = cell;
    Some(format!(
        "stuck: {}; {lock} on {cpus} CPUs, {threads} threads\n  seed {seed}, replay: {}\n{who}",
        stuck.what, stuck.replay
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    const SHAPES: [(u32, u32); 5] = [(1, 1), (10, 10), (20, 20), (40, 40), (80, 80)];
    const LOCKS: [&str; 6] = ["mutex", "linux-mutex-baseline", "linux-mutex-patch1-and-2", "ttas", "ticket", "mcs"];

    #[test]
    fn everything_is_said_within_a_hundred_columns() {
        let mut report = fixture::report(&LOCKS, &SHAPES);
        report.command = format!("turnwise-lab sim {}", "--lock a-lock,another ".repeat(12));
        report.cells[3].result.as_mut().unwrap().notes = vec!["something to know ".repeat(9).trim_end().to_owned()];
        report.machine.provisional = vec!["coherence.load_modified".to_owned(); 9];
        let text = text(&report);
        for part in [
            "Simulated: m (80 CPUs, 8 nodes)",
            "machine: Made up",
            "seed 1",
            "workload: 100/4000",
            "20ms after a warm-up of 2ms",
            "provisional: coherence.load_modified, coherence",
            "linux-mutex-baseline",
            "last/peak",
            "last/1 node",
            "peak at",
            "x-node",
            "wait_for_owner",
            "mcs at 80 CPUs",
            "spin.rs:210",
            "25%",
            "repeat: turnwise-lab sim --lock",
            "mutex on 40 CPUs, 40 threads: something to know",
        ] {
            assert!(text.contains(part), "no {part}\n{text}");
        }
        let long = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "\n{text}");
        assert!(!text.contains("stuck"), "{text}");
    }

    #[test]
    fn what_lies_beyond_a_node_is_compared_with_the_last_point_within() {
        let mut report = fixture::report(&["a"], &[(1, 1), (10, 10), (20, 20), (80, 80)]);
        for (cell, (speed, nodes)) in report.cells.iter_mut().zip([(9e6, 1), (4e6, 1), (3e6, 2), (1e6, 8)]) {
            cell.nodes = nodes;
            cell.result.as_mut().unwrap().ops_per_s = speed;
        }
        let curves = Curves::of(&report);
        assert_eq!(beyond_a_node(&report, &curves.series[0]), Some(0.25));
        report.cells.truncate(2);
        assert_eq!(beyond_a_node(&report, &Curves::of(&report).series[0]), None, "it never left its node");
    }

    #[test]
    fn the_ratio_is_of_the_last_to_the_peak() {
        let mut report = fixture::report(&["a"], &[(1, 1), (2, 2), (4, 4)]);
        for (cell, speed) in report.cells.iter_mut().zip([1e6, 4e6, 1e6]) {
            cell.result.as_mut().unwrap().ops_per_s = speed;
        }
        let curves = Curves::of(&report);
        let lines: Vec<_> = curves.series.iter().collect();
        let rows = Speeds::of(&report, &curves, &lines).rows;
        assert_eq!(rows[1..], [["2", "4.00 M"], ["4", "1.00 M"], ["peak at", "2"], ["last/peak", "0.25"]]);
    }

    #[test]
    fn every_curve_is_drawn_and_a_point_is_none() {
        let report = fixture::report(&["a", "bb", "c"], &[(1, 1), (10, 10), (20, 20), (40, 40), (80, 80)]);
        let drawn = plot(&report, &Curves::of(&report)).join("\n");
        for part in ["a a, b bb, c c", " 80", " 40 ", "·", "operations per second, by CPUs"] {
            assert!(drawn.contains(part), "{part}\n{drawn}");
        }
        let report = fixture::report(&["a"], &[(4, 4)]);
        assert!(plot(&report, &Curves::of(&report)).is_empty());
    }

    #[test]
    fn the_stuck_are_named_with_what_repeats_them() {
        let mut report = fixture::report(&["a", "b"], &[(2, 2), (4, 4)]);
        report.cells[1].result = Err(fixture::stuck());
        let failures = failures(&report);
        for part in
            ["deadlock at 1.5 ms; a on 4 CPUs, 4 threads", "seed 2, replay: turnwise-lab sim", "    thread 2 waits"]
        {
            assert!(failures.contains(part), "{failures}");
        }
        let text = text(&report);
        assert!(text.starts_with(&failures), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("4 ")).unwrap();
        assert!(row.contains("stuck") && row.contains(" M"), "{row}");
    }

    #[test]
    fn a_long_name_is_cut_and_the_line_says_so() {
        let row = ProfileRow { function: "é".repeat(200), place: None, kind: "spin".to_owned(), share: 0.5 };
        let line = profile_line(&row);
        assert!(line.contains('…') && line.chars().count() == 100, "{line}");
    }
}
