//! The result of a replay of a recorded program, as a page: a picture for each machine, and the text's table. It has no
//! script and loads nothing.

use super::record::{Point, RecordReport};
use super::record_text::{TITLES, cells, checked, notes, recorded};
use crate::still;
use std::fmt::Write;
use turnwise_present::figures::short;
use turnwise_profile::output::page::escaped;

const STYLE: &str = include_str!("page/record.css");
/// Of a picture, with room for the axes.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 44.0;
/// Colours of the theme.
const COLOURS: usize = 8;
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

/// The geometry of a picture.
struct Scale {
    first: f64,
    last: f64,
    most: f64,
}

impl Scale {
    fn x(&self, cpus: u32) -> f64 {
        let (from, to) = (self.first.log2(), self.last.log2());
        let share = if to > from { (f64::from(cpus).log2() - from) / (to - from) } else { 0.5 };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, per_s: f64) -> f64 {
        HEIGHT - BOTTOM - per_s / self.most * (HEIGHT - TOP - BOTTOM)
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
    let mut svg = axes(&scale, &counts);
    let (right, y) = (WIDTH - RIGHT, scale.y(recorded));
    let _ = writeln!(svg, "<line class=\"recorded\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    let mut legend = "<span class=\"recorded-key\">recorded</span>".to_owned();
    for (place, lock) in locks.iter().enumerate() {
        let mut own: Vec<&&Point> = points.iter().filter(|point| point.lock == *lock).collect();
        own.sort_by_key(|point| point.cpus);
        let colour = format!("style=\"--own: var(--c{})\"", place % COLOURS);
        let line: String = own
            .iter()
            .map(|point| format!("{:.1},{:.1} ", scale.x(point.cpus), scale.y(point.acquisitions_per_s)))
            .collect();
        let _ = writeln!(svg, "<polyline class=\"curve\" {colour} points=\"{}\"/>", line.trim_end());
        for point in own {
            let (x, y) = (scale.x(point.cpus), scale.y(point.acquisitions_per_s));
            let told = format!("{lock}, {} CPUs: {} per second", point.cpus, short(point.acquisitions_per_s));
            let _ = writeln!(
                svg,
                "<circle class=\"dot\" {colour} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle>",
                escaped(&told)
            );
        }
        let _ = write!(legend, " <span class=\"key\" {colour}>{}</span>", escaped(lock));
    }
    let name = escaped(machine);
    format!(
        "<h2>{name}</h2>\n<p class=\"legend\">{legend}</p>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Acquisitions per second by CPUs of {name}; the table has the figures\">\n{svg}</svg>\n"
    )
}

fn axes(scale: &Scale, counts: &[u32]) -> String {
    let (mut svg, right, bottom) = (String::new(), WIDTH - RIGHT, HEIGHT - BOTTOM);
    for line in 0..=LINES {
        let value = scale.most / f64::from(LINES) * f64::from(line);
        let y = scale.y(value);
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        let (x, y) = (LEFT - 8.0, y + 4.0);
        let _ = writeln!(svg, "<text class=\"left\" x=\"{x}\" y=\"{y:.1}\">{}</text>", short(value.round()));
    }
    for count in counts {
        let (x, y) = (scale.x(*count), bottom + 18.0);
        let _ = writeln!(svg, "<text class=\"below\" x=\"{x:.1}\" y=\"{y}\">{count}</text>");
    }
    let (x, y) = (LEFT + (right - LEFT) / 2.0, HEIGHT - 6.0);
    let _ = writeln!(svg, "<text class=\"below\" x=\"{x}\" y=\"{y}\">CPUs; acquisitions per second upwards</text>");
    svg
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
        assert!(scale.y(90.0) < scale.y(10.0) && scale.x(8) > scale.x(4));
        assert!((scale.x(8) - (scale.x(1) + scale.x(64)) / 2.0).abs() < 1e-9);
        assert!((scale.y(0.0) - (HEIGHT - BOTTOM)).abs() < 1e-9 && (scale.y(100.0) - TOP).abs() < 1e-9);
        assert!((Scale { first: 2.0, last: 2.0, most: 1.0 }).x(2).is_finite());
    }
}
