//! A report as tables: for a terminal, in Markdown, or as pieces of a page.

use super::verdict;
use crate::still::{self, prose};
use turnwise_bench::figure::{self, FIGURES, Figure, against_best, rate};
use turnwise_bench::papers::{PaperRow, Side};
use turnwise_bench::report::{LeftOut, LockReport, Report, ScenarioReport};
use turnwise_bench::subject::Subject;
use turnwise_present::figures::{plain, time};
use turnwise_present::stats::{Spread, quantile};
use turnwise_present::table::{self, CellAlignment};

/// How to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// For a terminal.
    Plain,
    /// For a file.
    Markdown,
    /// For a browser.
    Html,
}

/// The meaning of each number; printed with every report.
const LEGEND: &[&str] = &[
    "per op: interval / operations of all threads, median of the samples. CPU per op: getrusage of the process, same.",
    "per read, per write: interval / operations of that kind of all threads, likewise.",
    "speed: time per op of the reference / of this lock, paired by round: median [least .. most]; above 1 is faster.",
    "operations / those in another scenario: how the lock scales, paired by round, the rounds of both interleaved.",
    "fairness: operations of the least busy / of the busiest thread in a sample, among threads with the same role, \
     median of the samples; 1 is fair.",
    "energy per op: what the processors of the whole machine used (RAPL) / operations, median.",
    "served: where requests arrive at times of their own, those served over those that arrive; there waits count from \
     the time of arrival, unserved requests included, and speed is that of their 99th percentile.",
    "throttled: under a CPU quota, the share of the kernel's periods of 100 ms in which it was used up.",
    "waits: from asking for the lock to having it (or the copy, where a read only copies), one clock reading included; \
     every acquisition of a second pass, all its samples together.",
    "sleeps, preempted per op: voluntary and involuntary context switches of the process / operations, median.",
    "against the best peer: our figure / that of the peer that is best at it. Ours should be low, but high for \
     fairness. Peers that only spin do not count against locks that sleep: they are no substitute on a busy machine.",
    "verdict: geometric mean of the medians of speed over the cells, and the worst cell; the best peer: that which is \
     fastest in each cell. Least fair: the share of the thread that got least, 1 is fair.",
];

/// The note below the table of papers.
const PAPERS: &str = "here: median of the rounds; after / before paired by round. As published: other workloads on \
     other machines (published.toml has the sources), so the direction can be compared, seldom the size.";

/// The parts of a report as text, each empty if there is none.
pub(super) struct Parts {
    pub(super) heading: String,
    pub(super) scenarios: Vec<String>,
    pub(super) left_out: String,
    pub(super) summary: String,
    pub(super) verdict: String,
    pub(super) documents: String,
    pub(super) legend: String,
}

/// Renders the whole report, in pieces.
pub(super) fn parts(report: &Report, style: Style) -> Parts {
    let figures = figures(&report.subject);
    Parts {
        heading: heading(report, style),
        scenarios: report.scenarios.iter().map(|s| render_scenario(s, &figures, style)).collect(),
        left_out: left_out(report, style),
        summary: summary(report, style),
        verdict: verdict::render(report, style),
        documents: documents(report, style),
        legend: LEGEND.iter().map(|line| item(line, style)).collect(),
    }
}

/// Renders the whole report.
pub(crate) fn render(report: &Report, style: Style) -> String {
    let Parts { heading, scenarios, left_out, summary, verdict, documents, legend } = parts(report, style);
    [heading, scenarios.concat(), left_out, summary, verdict, documents, "\n".to_owned(), legend].concat()
}

/// Returns those that tables of this subject show.
fn figures(subject: &str) -> Vec<&'static Figure> {
    match Subject::find(subject) {
        Some(subject) => subject.figures.iter().filter_map(|name| figure::find(name)).collect(),
        None => FIGURES.iter().collect(),
    }
}

pub(super) fn item(line: &str, style: Style) -> String {
    match style {
        Style::Plain => format!("{line}\n"),
        Style::Markdown => format!("- {line}\n"),
        Style::Html => format!("<p class=\"hint\">{}</p>\n", prose(line)),
    }
}

pub(super) fn title(text: &str, style: Style) -> String {
    match style {
        Style::Plain => format!("\n{text}\n"),
        Style::Markdown => format!("\n## {text}\n\n"),
        Style::Html => format!("<h2>{}</h2>\n", prose(text)),
    }
}

fn heading(report: &Report, style: Style) -> String {
    let machine = &report.machine;
    let unknown = || "unknown".to_owned();
    let lines = [
        format!("machine: {} CPUs, {}", machine.cpus, machine.cpu_name()),
        format!(
            "kernel {}, governor {}, on_cpu layer {}, load average {} at the start",
            machine.kernel.clone().unwrap_or_else(unknown),
            machine.governor.as_deref().unwrap_or("none"),
            machine.on_cpu_layer,
            machine.load_average.map_or_else(unknown, |load| format!("{load:.2}")),
        ),
        format!("commit {}; command: {}", report.commit.clone().unwrap_or_else(unknown), report.command),
        format!(
            "{} samples of {} ms and {} with every wait timed, locks interleaved in every round, seed {}",
            report.method.samples, report.method.sample_ms, report.method.timed_samples, report.method.seed
        ),
    ];
    let energy = report.no_energy.as_ref().map(|why| format!("energy is left out: {why}"));
    let transfers = transfers(&report.lines_ns());
    lines.iter().chain(&transfers).chain(&energy).map(|line| item(line, style)).collect()
}

/// Returns what a cache line cost around the samples, and whether it did so throughout; without a tenth at each end.
fn transfers(sorted_ns: &[f64]) -> Option<String> {
    /// No disturbance doubles what most samples see; other CPUs do.
    const OTHER_CPUS: f64 = 2.0;
    if sorted_ns.is_empty() {
        return None;
    }
    let [low, middle, high] = [0.1, 0.5, 0.9].map(|share| quantile(sorted_ns, share));
    let cost = format!("a cache line from another CPU: {} [{} .. {}]", time(middle), time(low), time(high));
    Some(match high < OTHER_CPUS * low {
        true => cost,
        false => format!("{cost}; this machine moved between CPUs that are nearer to each other and farther apart"),
    })
}

/// Draws a table with text in the first columns and numbers in the others.
pub(super) fn draw(head: Vec<String>, rows: Vec<Vec<String>>, texts: usize, style: Style) -> String {
    let mut table = match style {
        Style::Plain => table::framed(),
        Style::Markdown => table::markdown(),
        Style::Html => {
            return still::table(&head[0], &head, &rows, |column, _| if column < texts { "name" } else { "" });
        }
    };
    table.set_header(head).add_rows(rows);
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// Renders one scenario: a table of all locks, and ours against the best peer.
fn render_scenario(scenario: &ScenarioReport, figures: &[&'static Figure], style: Style) -> String {
    let known = |f: &&&Figure| scenario.locks.iter().any(|l| (f.get)(l).is_some());
    let shown: Vec<&Figure> = figures.iter().filter(known).copied().collect();
    let head = ["lock".to_owned()].into_iter().chain(shown.iter().map(|f| f.name.to_owned()));
    let speed = scenario.reference.as_ref().map(|name| format!("speed / {name}"));
    let scales = scenario.scales_from.as_ref().map(|name| format!("operations / {name}"));
    let extra = (speed.is_some(), scales.is_some());
    let rows = scenario.locks.iter().map(|lock| row(lock, &shown, extra)).collect();
    let drawn = draw(head.chain(speed).chain(scales).collect(), rows, 1, style);
    let kinds = scenario.reference.iter().flat_map(|name| scenario.locks.iter().filter_map(|l| kinds(name, l)));
    let ratios = scenario.locks.iter().filter(|l| l.ours).filter_map(|l| ratios(scenario, l, &shown));
    let notes = scenario.locks.iter().flat_map(|l| l.notes.iter().map(move |note| format!("{}: {note}", l.name)));
    let below: String = kinds.chain(ratios).chain(notes).map(|line| item(&line, style)).collect();
    let gap = if style == Style::Markdown && !below.is_empty() { "\n" } else { "" };
    title(&format!("{}: {}", scenario.name, scenario.help), style) + &drawn + gap + &below
}

pub(super) fn dash() -> String {
    "-".to_owned()
}

fn row(lock: &LockReport, figures: &[&Figure], (with_speed, with_scaling): (bool, bool)) -> Vec<String> {
    let cells = figures.iter().map(|f| (f.get)(lock).map_or_else(dash, f.show));
    let speed = with_speed.then(|| lock.speed.map_or_else(dash, spread));
    let scaling = with_scaling.then(|| lock.scaling.map_or_else(dash, spread));
    [lock.name.clone()].into_iter().chain(cells).chain(speed).chain(scaling).collect()
}

pub(super) fn spread(s: Spread) -> String {
    format!("{} [{} .. {}]", times(s.median), times(s.min), times(s.max))
}

/// Formats a ratio, with three places near 1.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        r if (0.01..10.0).contains(&r) => format!("{r:.3}"),
        r if (10.0..1000.0).contains(&r) => format!("{r:.1}"),
        r => rate(r),
    }
}

/// Returns how fast reads and writes are compared with those of the reference.
fn kinds(reference: &str, lock: &LockReport) -> Option<String> {
    let (reads, writes) = (lock.reads.as_ref()?.speed?, lock.writes.as_ref()?.speed?);
    let line = format!("reads {}, writes {}", spread(reads), spread(writes));
    (lock.name != reference).then(|| format!("{} / {reference}: {line}", lock.name))
}

/// Compares one of ours with the best peer, figure by figure, in a line.
fn ratios(scenario: &ScenarioReport, lock: &LockReport, figures: &[&Figure]) -> Option<String> {
    let one = |f: &&Figure| {
        against_best(scenario, lock, f).map(|best| format!("{} {} ({})", f.name, times(best.ratio), best.peer))
    };
    let all: Vec<String> = figures.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| format!("{} against the best peer: {}", lock.name, all.join(", ")))
}

/// Renders one line for each of ours in each scenario.
fn summary(report: &Report, style: Style) -> String {
    let head = ["scenario", "lock", "per op", "reference", "its per op", "speed", "fairness", "longest wait"];
    let mut rows = Vec::new();
    for scenario in &report.scenarios {
        let Some(reference) = scenario.reference_lock() else { continue };
        let compared = scenario.locks.iter().filter(|l| l.ours && l.name != reference.name);
        rows.extend(compared.map(|lock| summary_row(scenario, lock, reference)));
    }
    if rows.is_empty() {
        return String::new();
    }
    title("ours against the reference", style) + &draw(head.map(str::to_owned).to_vec(), rows, 1, style)
}

/// Scenarios that cannot run here, and why.
fn left_out(report: &Report, style: Style) -> String {
    let one = |left: &LeftOut| title(&format!("{}: left out", left.scenario), style) + &item(&left.why, style);
    report.left_out.iter().map(one).collect()
}

/// Renders what papers published, next to what was measured.
fn documents(report: &Report, style: Style) -> String {
    if report.documents.is_empty() {
        return String::new();
    }
    let head = [
        "document",
        "scenario",
        "before -> after",
        "unit",
        "before",
        "after",
        "after / before",
        "published",
        "before",
        "after",
        "after / before",
    ];
    let rows = report.documents.iter().map(paper_row).collect();
    let drawn = draw(head.map(str::to_owned).to_vec(), rows, 4, style);
    let gap = if style == Style::Markdown { "\n" } else { "" };
    title("the papers, here and as published", style) + &drawn + gap + &item(PAPERS, style)
}

fn paper_row(row: &PaperRow) -> Vec<String> {
    let value = |side: &Side| side.value.map_or_else(dash, |v| plain(v.median));
    let published = match &row.published {
        Some(p) => [format!("{}, {}", p.what, p.unit), p.before.to_string(), p.after.to_string(), times(p.ratio())],
        None => [dash(), dash(), dash(), dash()],
    };
    let measured = [
        row.document.clone(),
        row.scenario.clone(),
        format!("{} -> {}", row.before.lock, row.after.lock),
        row.unit.clone(),
        value(&row.before),
        value(&row.after),
        row.ratio.map_or_else(dash, spread),
    ];
    measured.into_iter().chain(published).collect()
}

fn summary_row(scenario: &ScenarioReport, lock: &LockReport, reference: &LockReport) -> Vec<String> {
    let per_op = |l: &LockReport| l.op_ns.map_or_else(dash, |s| time(s.median));
    vec![
        scenario.name.clone(),
        lock.name.clone(),
        per_op(lock),
        reference.name.clone(),
        per_op(reference),
        lock.speed.map_or_else(dash, spread),
        lock.fairness.map_or_else(dash, |s| format!("{:.2}", s.median)),
        lock.wait.map_or_else(dash, |w| time(w.max_ns as f64)),
    ]
}
