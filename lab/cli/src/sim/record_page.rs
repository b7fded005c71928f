//! The result of a replay of a recorded program, as a page: a picture for each machine, and the text's table. It has no
//! script and loads nothing.

use super::record::{Point, RecordReport};
use super::record_text::{TITLES, cells, checked, notes, recorded};
use crate::{still, svg};
use serde_json::{Value, json};
use std::fmt::Write;
use turnwise_present::figures::short;
use turnwise_profile::output::page::escaped;

const STYLE: &str = include_str!("page/record.css");
/// Lines across a picture.
const LINES: u32 = 4;

/// Returns the page.
pub(super) fn page(report: &RecordReport) -> String {
    let title = format!("{}, replayed", report.recorded.command.join(" "));
    let mut page = format!("<h1>{}</h1>\n", escaped(&title));
    for line in recorded(report).into_iter().chain([checked(report)]) {
        let _ = writeln!(page, "<p>{}</p>", escaped(&line));
    }
    let mut machines: Vec<&str> = report.points.iter().map(|point| point.machine.as_str()).collect();
    machines.dedup();
    for machine in machines {
        page += &picture(machine, report);
    }
    page += &table(report);
    for note in notes(report) {
        let _ = writeln!(page, "<p class=\"hint\">{}</p>", escaped(&note));
    }
    still::styled(&title, STYLE, &page)
}

fn table(report: &RecordReport) -> String {
    let row = |tag: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = row("th", &TITLES.map(str::to_owned));
    let body: String = report.points.iter().map(|point| row("td", &cells(point))).collect();
    format!("<h2>All predictions</h2>\n<table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n")
}

/// The axes of a picture.
struct Scale {
    first: f64,
    last: f64,
    most: f64,
}

impl Scale {
    fn x(&self, cpus: u32) -> f64 {
        let (from, to) = (self.first.log2(), self.last.log2());
        if to > from { (f64::from(cpus).log2() - from) / (to - from) } else { 0.5 }
    }

    fn y(&self, per_s: f64) -> f64 {
        per_s / self.most.max(f64::MIN_POSITIVE)
    }
}

/// Returns the curves of a machine: a line for each lock, and the recorded rate across.
fn picture(machine: &str, report: &RecordReport) -> String {
    let points: Vec<&Point> = report.points.iter().filter(|point| point.machine == machine).collect();
    let mut counts: Vec<u32> = points.iter().map(|point| point.cpus).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut locks: Vec<&str> = Vec::new();
    points
        .iter()
        .for_each(|point| locks.extend((!locks.contains(&point.lock.as_str())).then_some(point.lock.as_str())));
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return String::new() };
    let recorded = report.recorded.acquisitions_per_s;
    let most = points.iter().map(|point| point.acquisitions_per_s).fold(recorded, f64::max) * 1.05;
    let scale = Scale { first: f64::from(*first), last: f64::from(*last), most };
    let lock = |name: &str| {
        let mut own: Vec<&&Point> = points.iter().filter(|point| point.lock == name).collect();
        own.sort_by_key(|point| point.cpus);
        let dot = |point: &&Point| {
            let (x, y, said) =
                (scale.x(point.cpus), scale.y(point.acquisitions_per_s), short(point.acquisitions_per_s));
            json!({ "x": x, "y": y, "cpus": point.cpus, "said": said })
        };
        json!({ "name": name, "points": own.into_iter().map(dot).collect::<Vec<Value>>() })
    };
    let line = |line: u32| {
        let value = scale.most / f64::from(LINES) * f64::from(line);
        json!({ "at": scale.y(value), "said": short(value.round()) })
    };
    let picture = json!({
        "machine": machine,
        "xs": counts.iter().map(|cpus| json!({ "at": scale.x(*cpus), "cpus": cpus })).collect::<Vec<Value>>(),
        "ys": (0..=LINES).map(line).collect::<Vec<Value>>(),
        "recorded": scale.y(recorded),
        "locks": locks.into_iter().map(lock).collect::<Vec<Value>>(),
    });
    svg::drawn(include_str!("../svg/replay.jinja"), picture)
}

#[cfg(test)]
mod tests {
    use super::super::record::fixture;
    use super::*;

    #[test]
    fn the_page_shows_every_point_and_asks_for_nothing() {
        let mut report = fixture();
        report.recorded.command = vec!["<script>".to_owned()];
        let page = page(&report);
        assert!(!page.contains("<script") && page.contains("default-src 'none'"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2, "a picture for each machine");
        assert_eq!(page.matches("<circle").count(), report.points.len());
        assert_eq!(page.matches("<polyline").count(), 4, "a line for each lock and machine");
        for request in ["src=", "href=", "url(", "@import"] {
            assert!(!page.contains(request), "{request}");
        }
    }

    #[test]
    fn what_is_faster_is_higher_and_more_cpus_are_farther_right() {
        let scale = Scale { first: 1.0, last: 64.0, most: 100.0 };
        assert!(scale.y(90.0) > scale.y(10.0) && scale.x(8) > scale.x(4));
        assert!((scale.x(8) - (scale.x(1) + scale.x(64)) / 2.0).abs() < 1e-9);
        assert!(scale.y(0.0).abs() < 1e-9 && (scale.y(100.0) - 1.0).abs() < 1e-9);
        assert!((Scale { first: 2.0, last: 2.0, most: 1.0 }).x(2).is_finite());
    }
}
