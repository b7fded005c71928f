//! The result of a replay of a recorded program: `record.jinja` as text, and as a page with a picture for each machine.

use super::record::{Point, RecordReport};
use crate::document::{self, Style};
use crate::picture::chart;
use serde::Serialize;
use turnwise_reproduce::report::{Plot, Series};

/// What the template shows.
#[derive(Serialize)]
struct Values<'a> {
    report: &'a RecordReport,
    acquisitions: u64,
    machines: Vec<&'a str>,
}

/// Renders the whole report, for people.
pub(super) fn text(report: &RecordReport) -> String {
    document::shown(&written(report), Style::Plain)
}

/// Returns the report as a page. It has no script and loads nothing.
pub(super) fn page(report: &RecordReport) -> String {
    let pictures: Vec<String> = machines(report).into_iter().map(|machine| picture(machine, report)).collect();
    document::page(&format!("{}, replayed", report.recorded.command.join(" ")), &written(report), &pictures)
}

fn written(report: &RecordReport) -> String {
    let acquisitions = report.recorded.acquisitions.round() as u64;
    let values = Values { report, acquisitions, machines: machines(report) };
    document::filled("sim/record.jinja", include_str!("record.jinja"), values)
}

fn machines(report: &RecordReport) -> Vec<&str> {
    let mut machines: Vec<&str> = report.points.iter().map(|point| point.machine.as_str()).collect();
    machines.dedup();
    machines
}

/// Draws the curves of a machine: a line for each lock, and the recorded rate across.
fn picture(machine: &str, report: &RecordReport) -> String {
    let points = || report.points.iter().filter(|point| point.machine == machine);
    let mut locks: Vec<&str> = Vec::new();
    points().for_each(|point| locks.extend((!locks.contains(&&*point.lock)).then_some(&*point.lock)));
    let x = |point: &Point| f64::from(point.cpus);
    let ends = [f64::min, f64::max].map(|end| points().map(x).reduce(end));
    let recorded = ends.into_iter().flatten().map(|x| (x, report.recorded.acquisitions_per_s)).collect();
    let curve = |lock: &&str| {
        let own = points().filter(|point| point.lock == **lock);
        let mut own: Vec<(f64, f64)> = own.map(|point| (x(point), point.acquisitions_per_s)).collect();
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: (*lock).to_owned(), published: false, points: own }
    };
    let recorded = Series { name: "the program".to_owned(), published: true, points: recorded };
    let plot = Plot {
        title: machine.to_owned(),
        x: "CPUs".to_owned(),
        y: "acquisitions per second".to_owned(),
        series: [recorded].into_iter().chain(locks.iter().map(curve)).collect(),
    };
    chart::figure(&plot, ["recorded", "replayed"])
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn the_error_is_said_with_its_sign_and_a_large_one_leaves_no_verdict() {
        let mut report = recorded::report();
        let words = |report: &RecordReport| text(report).split_whitespace().collect::<Vec<_>>().join(" ");
        let said = text(&report);
        assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
        let said = words(&report);
        for part in ["an error of +10.0%.", "./server --port 80", "condition variables", "The threads are the recorded"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        for (times, verdict) in [(1.2, true), (1.21, false), (0.8, true), (0.5, false)] {
            report.check.as_mut().unwrap().times_recorded = times;
            let said = words(&report);
            assert_eq!([said.contains(" 1.10 "), !said.contains("No verdict")], [verdict; 2], "{times}: {said}");
        }
        report.check = None;
        assert!(words(&report).contains("Not checked"));
    }

    #[test]
    fn the_page_shows_every_point_and_asks_for_nothing() {
        let mut report = recorded::report();
        report.recorded.command = vec!["<script>".to_owned()];
        let page = page(&report);
        assert!(!page.contains("<script") && page.contains("default-src 'none'"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2, "a picture for each machine");
        assert_eq!(
            page.matches("<title>").count(),
            1 + report.points.len() + 2 * 2,
            "with the ends of what was recorded"
        );
        assert_eq!(page.matches("<polyline").count(), 6, "a line for each lock and machine, and what was recorded");
        for request in ["src=", "href=", "url(", "@import"] {
            assert!(!page.contains(request), "{request}");
        }
    }

    #[test]
    fn a_run_without_an_acquisition_is_drawn() {
        let mut report = recorded::report();
        report.recorded.acquisitions_per_s = 0.0;
        report.points.iter_mut().for_each(|point| point.acquisitions_per_s = 0.0);
        assert!(!page(&report).contains("NaN"));
    }
}
