//! A report as tables, for a terminal or in Markdown.

use crate::report::{FIGURES, Figure, LockReport, Report, ScenarioReport, against_best};
use crate::stats::Spread;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write;

/// How to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// For a terminal.
    Plain,
    /// For a file.
    Markdown,
}

/// What each number is; printed with every report.
const LEGEND: &str = "\
per op: interval / operations of all threads, median of the samples. CPU per op: getrusage of the process, likewise.
speed: the reference's time per op / this lock's, paired by round: median [least .. most]; above 1 is faster.
fairness: operations of the least busy / busiest thread in a sample, median of the samples; 1 is fair.
waits: from asking to having the lock, every acquisition of a second pass (which costs two clock readings each).
sleeps, preempted per op: voluntary and involuntary context switches of the process / operations, median.
against the best peer: this lock's figure / that of the sleeping peer that is best at it; ours should be low, but
high for fairness.
";

/// The whole report.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let mut out = heading(report, style);
    for scenario in &report.scenarios {
        out += &render_scenario(scenario, style);
    }
    out + "\n" + &LEGEND.lines().map(|line| bullet(line, style)).collect::<String>()
}

fn bullet(line: &str, style: Style) -> String {
    match style {
        Style::Plain => format!("{line}\n"),
        Style::Markdown => format!("{line}  \n"),
    }
}

fn heading(report: &Report, style: Style) -> String {
    let machine = &report.machine;
    let unknown = || "unknown".to_owned();
    let lines = [
        format!("machine: {} CPUs, {}", machine.cpus, machine.cpu.clone().unwrap_or_else(|| machine.arch.clone())),
        format!(
            "kernel {}, governor {}, on_cpu layer {}, load average {} at the start",
            machine.kernel.clone().unwrap_or_else(unknown),
            machine.governor.as_deref().unwrap_or("none"),
            machine.on_cpu_layer,
            machine.load_average.map_or_else(unknown, |load| format!("{load:.2}")),
        ),
        format!("commit {}; command: {}", report.commit.clone().unwrap_or_else(unknown), report.command),
        format!(
            "{} samples of {} ms (and {} with every wait timed), locks interleaved in every round, seed {}",
            report.method.samples, report.method.sample_ms, report.method.timed_samples, report.method.seed
        ),
    ];
    lines.iter().map(|line| bullet(line, style)).collect()
}

fn table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(match style {
        Style::Plain => presets::UTF8_HORIZONTAL_ONLY,
        Style::Markdown => presets::ASCII_MARKDOWN,
    });
    table
}

fn align(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// One scenario: a table of all locks, and ours against the best peer.
#[must_use]
pub fn render_scenario(scenario: &ScenarioReport, style: Style) -> String {
    let title = format!("{}: {}", scenario.name, scenario.help);
    let mut out = match style {
        Style::Plain => format!("\n{title}\n"),
        Style::Markdown => format!("\n## {title}\n\n"),
    };
    let shown: Vec<&Figure> = FIGURES.iter().filter(|f| scenario.locks.iter().any(|l| (f.get)(l).is_some())).collect();
    let mut rows = table(style);
    let speed = scenario.reference.as_ref().map(|name| format!("speed / {name}"));
    rows.set_header(
        ["lock"].into_iter().map(str::to_owned).chain(shown.iter().map(|f| f.name.to_owned())).chain(speed),
    );
    for lock in &scenario.locks {
        rows.add_row(row(lock, &shown, scenario.reference.is_some()));
    }
    align(&mut rows);
    let _ = writeln!(out, "{rows}");
    out += &ratios(scenario, &shown, style);
    for lock in &scenario.locks {
        if let Some(why) = &lock.gave_up {
            let _ = writeln!(out, "{}: {why}", lock.name);
        }
    }
    out
}

fn row(lock: &LockReport, figures: &[&Figure], with_speed: bool) -> Vec<String> {
    let dash = || "-".to_owned();
    let cells = figures.iter().map(|f| (f.get)(lock).map_or_else(dash, f.show));
    let speed = with_speed.then(|| lock.speed.map_or_else(dash, spread));
    [lock.name.clone()].into_iter().chain(cells).chain(speed).collect()
}

fn spread(s: Spread) -> String {
    format!("{:.3} [{:.3} .. {:.3}]", s.median, s.min, s.max)
}

/// Ours against the best peer, figure by figure.
fn ratios(scenario: &ScenarioReport, figures: &[&Figure], style: Style) -> String {
    let mut rows = table(style);
    rows.set_header(["against the best peer"].into_iter().chain(figures.iter().map(|f| f.name)));
    let mut any = false;
    for lock in scenario.locks.iter().filter(|l| l.ours) {
        let best: Vec<_> = figures.iter().map(|f| against_best(scenario, lock, f)).collect();
        any |= best.iter().any(Option::is_some);
        let cell = |b: Option<(String, f64, f64)>| b.map_or("-".to_owned(), |(name, _, ratio)| times(ratio, &name));
        rows.add_row([lock.name.clone()].into_iter().chain(best.into_iter().map(cell)));
    }
    align(&mut rows);
    if any { format!("{}{rows}\n", if style == Style::Markdown { "\n" } else { "" }) } else { String::new() }
}

fn times(ratio: f64, name: &str) -> String {
    if ratio >= 100.0 { format!("{ratio:.0} {name}") } else { format!("{ratio:.2} {name}") }
}
