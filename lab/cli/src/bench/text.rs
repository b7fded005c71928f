//! A report as a document, `report.jinja`, with its pictures on a page.

use crate::document::{self, Style};
use serde::Serialize;
use serde_json::json;
use turnwise_bench::figure::{self, FIGURES, Figure};
use turnwise_bench::report::{LockReport, Report, ScenarioReport};
use turnwise_bench::subject::Subject;
use turnwise_present::chart::Axis;
use turnwise_present::stats::{Spread, quantile};

/// What the template shows.
#[derive(Serialize)]
struct Values<'a> {
    report: &'a Report,
    cpu: String,
    html: bool,
    /// What a cache line cost around the samples: without a tenth at each end, and in the middle.
    lines_ns: Option<[f64; 3]>,
    scenarios: Vec<Shown<'a>>,
    /// Scenario, one of our locks and the reference there.
    compared: Vec<(&'a str, &'a LockReport, &'a LockReport)>,
}

/// A scenario: the figures that any of its locks has, and each lock's.
#[derive(Serialize)]
struct Shown<'a> {
    report: &'a ScenarioReport,
    figures: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// A figure of a lock, as a dot on an axis, with its range.
#[derive(Serialize)]
struct Dot {
    label: String,
    figure: Spread,
    /// Whether it is one of ours.
    ours: bool,
}

/// Renders the whole report for a terminal or for a file.
pub(crate) fn render(report: &Report, style: Style) -> String {
    document::shown(&written(report, false), style)
}

/// Renders the whole report as a page without a script.
pub(crate) fn page(report: &Report) -> String {
    let subject = Subject::find(&report.subject).map_or(report.subject.as_str(), |subject| subject.help);
    let pictures: Vec<String> = [speeds(report)].into_iter().chain(report.scenarios.iter().map(costs)).collect();
    document::page(&format!("Locks on this machine, compared: {subject}"), &written(report, true), &pictures)
}

fn written(report: &Report, html: bool) -> String {
    let figures: Vec<&Figure> = match Subject::find(&report.subject) {
        Some(subject) => subject.figures.iter().filter_map(|name| figure::find(name)).collect(),
        None => FIGURES.iter().collect(),
    };
    let lines = report.lines_ns();
    let values = Values {
        report,
        cpu: report.machine.cpu_name().to_owned(),
        html,
        lines_ns: (!lines.is_empty()).then(|| [0.1, 0.5, 0.9].map(|share| quantile(&lines, share))),
        scenarios: report.scenarios.iter().map(|scenario| Shown::of(scenario, &figures)).collect(),
        compared: report.scenarios.iter().flat_map(compared).collect(),
    };
    document::filled("bench/report.jinja", include_str!("report.jinja"), values)
}

fn compared(scenario: &ScenarioReport) -> impl Iterator<Item = (&str, &LockReport, &LockReport)> {
    let reference = scenario.reference_lock();
    let ours = scenario.locks.iter().filter(|lock| lock.ours);
    let pairs = ours.filter_map(move |lock| Some((scenario.name.as_str(), lock, reference?)));
    pairs.filter(|(_, lock, reference)| lock.name != reference.name)
}

impl<'a> Shown<'a> {
    fn of(report: &'a ScenarioReport, figures: &[&'static Figure]) -> Shown<'a> {
        let locks = || report.locks.iter();
        let shown: Vec<&Figure> =
            figures.iter().filter(|f| locks().any(|lock| (f.get)(lock).is_some())).copied().collect();
        let row = |lock: &LockReport| {
            shown.iter().map(|f| (f.get)(lock).map_or_else(|| "-".to_owned(), f.show)).collect::<Vec<_>>()
        };
        Shown { report, figures: shown.iter().map(|f| f.name).collect(), rows: locks().map(row).collect() }
    }
}

/// Draws the picture, with its legend if it is of ratios: `mark` is the one with a line of its own. Others are times.
fn dots(title: &str, dots: &[Dot], mark: Option<f64>) -> String {
    let axis = Axis::of(dots.iter().flat_map(|dot| [dot.figure.min, dot.figure.median, dot.figure.max]).chain(mark));
    let picture = json!({ "title": title, "axis": axis, "mark": mark, "dots": dots });
    document::filled("spreads.jinja", include_str!("../picture/spreads.jinja"), picture)
}

/// Draws what each lock's operations cost.
fn costs(scenario: &ScenarioReport) -> String {
    let late = scenario.locks.iter().any(|lock| lock.late.is_some());
    let title = if late { "99th percentile of the waits" } else { "time per operation" };
    let dot = |lock: &LockReport| Some(Dot { label: lock.name.clone(), figure: lock.cost()?, ours: lock.ours });
    dots(title, &scenario.locks.iter().filter_map(dot).collect::<Vec<_>>(), None)
}

/// Draws, for every cell, how fast ours are compared with the reference.
fn speeds(report: &Report) -> String {
    let dot = |(scenario, lock, reference): (&str, &LockReport, &LockReport)| {
        let label = format!("{scenario}: {} / {}", lock.name, reference.name);
        Some(Dot { label, figure: lock.speed?, ours: true })
    };
    let all: Vec<Dot> = report.scenarios.iter().flat_map(compared).filter_map(dot).collect();
    dots("speed; right of the line ours is faster", &all, Some(1.0))
}
