//! A report as text, at most 100 columns wide.

use super::curves::{Axis, Curves, Series, across_nodes};
use super::plot;
use std::fmt::Write;
use turnwise_present::figures::{duration, percent, plain, short, time};
use turnwise_present::table::{self, CellAlignment, Table};
use turnwise_simbench::report::{Cell, Figures, ProfileRow, SimReport};

const WIDTH: u16 = 100;
/// A table's titles, and the line under them.
const HEADER_LINES: usize = 2;
/// Functions of a profile that are shown.
const TOP_FUNCTIONS: usize = 6;
/// Shares below this are not worth a line.
const SMALL_SHARE: f64 = 0.005;

/// Renders the whole report, for people.
pub(crate) fn text(report: &SimReport) -> String {
    let curves = Curves::of(report);
    let mut text = failures(report);
    if !text.is_empty() {
        text += "\n";
    }
    text += &header(report);
    let _ = writeln!(text, "\nOperations per simulated second\n\n{}", speeds(report, &curves));
    if let Some(plot) = plot::draw(report, &curves) {
        let _ = writeln!(text, "{plot}");
    }
    let _ = writeln!(text, "Details of each cell (waits from asking to having the lock)\n\n{}\n", details(report));
    text += &notes(report);
    text + &profiles(report, &curves)
}

fn header(report: &SimReport) -> String {
    let SimReport { machine, seed, workload, .. } = report;
    let mut text = format!("Simulated: {} ({} CPUs, {} nodes)\n", machine.name, machine.cpus, machine.nodes);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    text += &wrapped("machine: ", &words(&machine.title), " ");
    let (duration, warm_up) = (duration(report.duration_ns), duration(report.warm_up_ns));
    let _ = writeln!(text, "workload: {workload}, {duration} after a warm-up of {warm_up}, seed {seed}");
    let (k, n) = report.part;
    if n > 1 {
        let _ = writeln!(text, "part {k} of {n}: {} of {} cells", report.cells.len(), report.cells_in_all);
    }
    if !machine.provisional.is_empty() {
        text += &wrapped("provisional: ", &machine.provisional, ", ");
    }
    text + &wrapped("repeat: ", &words(&report.command), " ")
}

/// Returns words after a title, on as many lines as they need.
fn wrapped(title: &str, words: &[String], between: &str) -> String {
    let mut lines = vec![title.to_owned()];
    for (place, word) in words.iter().enumerate() {
        let comma = if place + 1 < words.len() { between } else { "" };
        let line = lines.last_mut().expect("there is always a line");
        if line.len() + word.len() + 1 > usize::from(WIDTH) && line.len() > title.len() {
            lines.push(format!("{:1$}{word}{comma}", "", title.len()));
        } else {
            *line += &format!("{word}{comma}");
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn table<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = table::ruled();
    table.set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2)).set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Renders throughput of each curve (a column) at each x (a row), and how far it falls from its peak. It takes enough
/// tables for the columns to fit.
fn speeds(report: &SimReport, curves: &Curves) -> String {
    let mut tables: Vec<Vec<&Series>> = Vec::new();
    let mut free = 0;
    for line in &curves.series {
        let width = line.name.len().max(7) + 2;
        if width > free {
            tables.push(Vec::new());
            free = usize::from(WIDTH) - 11;
        }
        free = free.saturating_sub(width);
        tables.last_mut().expect("just pushed").push(line);
    }
    let texts = tables.iter().map(|lines| format!("{}\n", trimmed(&speed_table(report, curves, lines))));
    texts.collect::<Vec<_>>().join("\n")
}

fn speed_table(report: &SimReport, curves: &Curves, lines: &[&Series]) -> Table {
    let axis = curves.axis;
    let mut table = table(std::iter::once(axis.title()).chain(lines.iter().map(|line| line.name.as_str())));
    for x in curves.xs(report) {
        let speed = |line: &&Series| match line.at(report, axis, x).map(|cell| &cell.result) {
            None => String::new(),
            Some(Err(_)) => "stuck".to_owned(),
            Some(Ok(figures)) => short(figures.ops_per_s),
        };
        table.add_row(std::iter::once(x.to_string()).chain(lines.iter().map(speed)));
    }
    if curves.xs(report).len() > 1 {
        add_peaks(&mut table, report, axis, lines);
    }
    table
}

/// Adds where each curve is highest, and what is left of that at its end.
fn add_peaks(table: &mut Table, report: &SimReport, axis: Axis, lines: &[&Series]) {
    let peaks: Vec<Option<Peak>> = lines.iter().map(|line| Peak::of(report, axis, line)).collect();
    let row = |title: &str, value: &dyn Fn(&Peak) -> String| {
        let values = peaks.iter().map(|peak| peak.as_ref().map(value).unwrap_or_default());
        std::iter::once(title.to_owned()).chain(values).collect::<Vec<_>>()
    };
    table.add_row(row("peak at", &|peak| peak.x.to_string()));
    table.add_row(row("last/peak", &|peak| format!("{:.2}", peak.last / peak.ops_per_s)));
    let nodes = |line: &&Series| line.cells.iter().map(|&place| report.cells[place].nodes).collect::<Vec<_>>();
    if lines.iter().any(|line| nodes(line).contains(&1) && nodes(line).iter().any(|&nodes| nodes > 1)) {
        let shares = lines.iter().map(|line| beyond_a_node(report, line).map_or(String::new(), |s| format!("{s:.2}")));
        table.add_row(std::iter::once("last/1 node".to_owned()).chain(shares));
    }
}

/// Returns a curve's end over its last point within one node: below 1, it fell beyond that.
fn beyond_a_node(report: &SimReport, line: &Series) -> Option<f64> {
    let cells = || line.cells.iter().map(|&place| &report.cells[place]);
    let within = cells().rev().find(|cell| cell.nodes == 1)?.result.as_ref().ok()?.ops_per_s;
    let last = cells().next_back().filter(|cell| cell.nodes > 1)?.result.as_ref().ok()?.ops_per_s;
    (within > 0.0).then_some(last / within)
}

/// Where a curve is highest, and where it ends.
struct Peak {
    x: u32,
    ops_per_s: f64,
    last: f64,
}

impl Peak {
    fn of(report: &SimReport, axis: Axis, line: &Series) -> Option<Peak> {
        let points = line.points(report, axis);
        let (x, peak) = points.iter().max_by(|a, b| a.1.ops_per_s.total_cmp(&b.1.ops_per_s))?;
        let last = points.last()?.1.ops_per_s;
        (peak.ops_per_s > 0.0).then_some(Peak { x: *x, ops_per_s: peak.ops_per_s, last })
    }
}

/// Renders one table, in which a line with the lock's name goes before its rows.
fn details(report: &SimReport) -> String {
    let mut table =
        table(["CPUs", "threads", "ns/op", "p50", "p99", "max wait", "fair", "x-node", "lines/op", "vol.", "invol."]);
    for cell in &report.cells {
        let names = [cell.cpus.to_string(), cell.threads.to_string()];
        match &cell.result {
            Ok(figures) => table.add_row(names.into_iter().chain(detail(figures))),
            Err(_) => table.add_row(names.into_iter().chain(["stuck".to_owned()])),
        };
    }
    let text = trimmed(&table);
    let mut lines: Vec<&str> = text.lines().take(HEADER_LINES).collect();
    for (place, row) in text.lines().skip(HEADER_LINES).enumerate() {
        let lock = &report.cells[place].lock;
        if place == 0 || report.cells[place - 1].lock != *lock {
            lines.push(lock);
        }
        lines.push(row);
    }
    format!(
        "{}\nfair: operations of the least busy thread over the busiest's; x-node: acquisitions from another\n\
         node; lines/op: cache lines moved per operation; vol., invol.: context switches",
        lines.join("\n")
    )
}

fn detail(figures: &Figures) -> [String; 9] {
    let wait = |ns: fn(&turnwise_bench::report::Waits) -> u64| {
        figures.wait.as_ref().map_or_else(|| "-".to_owned(), |waits| time(ns(waits) as f64))
    };
    [
        if figures.op_ns < 1e6 { plain(figures.op_ns) } else { short(figures.op_ns) },
        wait(|waits| waits.p50_ns),
        wait(|waits| waits.p99_ns),
        wait(|waits| waits.max_ns),
        format!("{:.2}", figures.fairness),
        across_nodes(figures).map_or_else(|| "-".to_owned(), percent),
        format!("{:.2}", figures.transfers_per_op),
        short(figures.voluntary as f64),
        short(figures.involuntary as f64),
    ]
}

/// Returns the notes on the figures of single cells.
fn notes(report: &SimReport) -> String {
    let mut text = String::new();
    for cell in &report.cells {
        for note in cell.result.iter().flat_map(|figures| &figures.notes) {
            let place = format!("{} on {} CPUs, {} threads: ", cell.lock, cell.cpus, cell.threads);
            let words: Vec<String> = note.split(' ').map(str::to_owned).collect();
            text += &wrapped(&place, &words, " ");
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// Returns where the time went, in the largest cell of each curve.
fn profiles(report: &SimReport, curves: &Curves) -> String {
    let mut text = String::new();
    for line in &curves.series {
        let Some((x, figures)) = line.points(report, curves.axis).pop() else { continue };
        let _ = writeln!(text, "{} at {x} {}: where the CPUs' time went", line.name, curves.axis.title());
        let rows = figures.profile.iter().take_while(|row| row.share >= SMALL_SHARE).take(TOP_FUNCTIONS);
        for row in rows {
            let _ = writeln!(text, "{}", profile_line(row));
        }
        text += "\n";
    }
    text
}

fn profile_line(row: &ProfileRow) -> String {
    let place = row.place.as_deref().map(|place| format!(" ({place})")).unwrap_or_default();
    let line = format!("  {:>5.1}%  {:<8} {}{place}", row.share * 100.0, row.kind, row.function);
    // A generic function's full name can be very long; its end is the least informative.
    let cut = line.chars().count() > usize::from(WIDTH);
    if cut { line.chars().take(usize::from(WIDTH) - 1).chain(['…']).collect() } else { line }
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

fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
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
        let speeds = speeds(&report, &Curves::of(&report));
        let words: Vec<Vec<&str>> = speeds.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            words[3..],
            [vec!["2", "4.00", "M"], vec!["4", "1.00", "M"], vec!["peak", "at", "2"], vec!["last/peak", "0.25"]]
        );
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
        assert!(line.ends_with('…') && line.chars().count() == 100, "{line}");
    }
}
