//! The picture of all programs, `docs/results/programs.svg`: drawn from the newest report of each machine.

use super::report::{Entry, Report};
use crate::results::svg::{self, Axis, Scale, escaped};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;

/// Rows: where the first lies, and how far apart they are.
const TOP: f64 = 112.0;
const ROW: f64 = 20.0;
/// How far the machines of one program lie apart.
const APART: f64 = 7.0;
/// The speeds that the axis shows at least, which is logarithmic, and its lines.
const SPEEDS: [f64; 2] = [0.36, 4.6];
const LINES: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 4.0];

/// Draws the report in `folder`, and next to it the newest of another machine. The first orders the rows.
pub(crate) fn picture(folder: &Path) -> Result<String> {
    let runs = folder.parent().context("a folder of reports has no parent")?;
    drawing(&Report::newest(runs, Some(folder))?)
}

fn drawing(reports: &[Report]) -> Result<String> {
    let [first, others @ ..] = reports else { bail!("no report to draw") };
    let mut rows: Vec<(&Entry, [f64; 3])> = speeds(first).collect();
    if rows.is_empty() {
        bail!("the report has no program with a speed");
    }
    rows.sort_by(|(_, a), (_, b)| b[0].total_cmp(&a[0]));
    let ends = || reports.iter().flat_map(speeds).map(|(_, [_, low, high])| (low, high));
    let low = ends().map(|(low, _)| low / 1.05).fold(SPEEDS[0], f64::min);
    let high = ends().map(|(_, high)| high * 1.05).fold(SPEEDS[1], f64::max);
    let axis = Axis { left: 210.0, right: 815.0, scale: Scale { low, high, log: true }, lines: LINES.to_vec() };
    let mut drawn = String::new();
    head(&mut drawn, reports, &axis, rows.len())?;
    for (number, (entry, speed)) in rows.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let bound = if entry.bound { " class=\"bound\"" } else { "" };
        writeln!(drawn, "<text x=\"200\" y=\"{y}\" text-anchor=\"end\"{bound}>{}</text>", escaped(&entry.name))?;
        let elsewhere = others.iter().map(|report| speeds(report).find(|(other, _)| other.name == entry.name));
        let all = std::iter::once(Some(*speed)).chain(elsewhere.map(|found| Some(found?.1)));
        for (machine, speed) in all.enumerate() {
            let Some(speed) = speed else { continue };
            let y = y - 4.0 + APART * (machine as f64 - others.len() as f64 / 2.0);
            drawn += &axis.dot(speed, &format!("m{machine}"), y);
        }
    }
    drawn.push_str("</svg>\n");
    Ok(drawn)
}

pub(super) fn speeds(report: &Report) -> impl Iterator<Item = (&Entry, [f64; 3])> {
    report.programs.iter().filter_map(|entry| Some((entry, entry.measured()?.speed)))
}

/// Draws title, legend and axis.
fn head(drawn: &mut String, reports: &[Report], axis: &Axis, rows: usize) -> Result<()> {
    let (top, bottom) = (TOP - 15.0, TOP - 15.0 + ROW * rows as f64);
    let title = format!("Speed of {rows} programs on Turnwise's locks against the C library's");
    let heading = "Speed on Turnwise's locks against the C library's, programs not rebuilt";
    *drawn += &svg::head(&title, heading, bottom + 45.0);
    for (number, report) in reports.iter().enumerate() {
        let y = 46 + 18 * number;
        writeln!(drawn, "<circle class=\"m{number}\" cx=\"22\" cy=\"{}\" r=\"4\"/>", y - 4)?;
        writeln!(drawn, "<text x=\"34\" y=\"{y}\">{}</text>", escaped(&origin(report)))?;
    }
    *drawn += &axis.draw(top, bottom);
    let one = axis.at(1.0);
    writeln!(
        drawn,
        "<text class=\"small\" x=\"{:.1}\" y=\"{}\" text-anchor=\"end\">slower</text><text class=\"small\" \
         x=\"{:.1}\" y=\"{1}\">faster</text>",
        one - 6.0,
        top - 4.0,
        one + 6.0
    )?;
    writeln!(
        drawn,
        "<text class=\"small\" x=\"16\" y=\"{}\">Bars: 95% intervals. Bold: the lock-bound programs. \
         Redraw with: cargo xtask programs --picture</text>",
        bottom + 34.0
    )?;
    Ok(())
}

/// Returns "2 x Intel Xeon, 2026-11-22, commit fc7c033, 6 interleaved runs each"
pub(super) fn origin(report: &Report) -> String {
    let machine = report.programs.iter().find_map(Entry::measured).map(|measured| &measured.machine);
    let machine = machine.map_or_else(String::new, |machine| {
        let cpu = machine.cpu_name().replace("(R)", "").replace(" Processor", "");
        format!("{} x {cpu}, ", machine.cpus)
    });
    let Report { date, runs, .. } = report;
    let commit = report.commit.get(..7).unwrap_or(&report.commit);
    format!("{machine}{date}, commit {commit}, {runs} interleaved runs each")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{PAGES, RUNS, record};
    use serde_json::{Value, json};

    #[test]
    fn the_picture_on_record_is_that_of_the_reports_on_record() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let newest = record::newest_of_each(&root.join(RUNS), "programs.json", None).unwrap();
        let on_record = std::fs::read_to_string(root.join(PAGES).join("programs.svg")).unwrap();
        assert!(picture(&newest[0]).unwrap() == on_record, "draw it again: cargo xtask programs --picture");
    }

    fn report(programs: &[Value]) -> Report {
        serde_json::from_value(json!({
            "format": "turnwise-programs/1", "date": "2026-11-22", "commit": "fc7c03365d3b", "names": [], "runs": 6,
            "programs": programs,
        }))
        .unwrap()
    }

    fn program(name: &str, bound: bool, speed: [f64; 3]) -> Value {
        let machine =
            json!({ "cpus": 2, "cpu_model": "Intel(R) Xeon(R) Processor", "kernel": "6.18", "libc": "glibc 2.36" });
        let measured = json!({ "medians": [1.0, 1.0], "spread": [0.0, 0.0], "speed": speed, "machine": machine });
        json!({ "name": name, "bound": bound, "lower": true, "is_test": false, "outcome": { "measured": measured } })
    }

    #[test]
    fn a_report_is_drawn_with_its_machine_and_losers() {
        let gone = json!({ "name": "gone", "bound": true, "lower": true, "is_test": false,
            "outcome": { "skipped": "not here" } });
        let programs = [program("b", false, [0.58, 0.39, 1.1]), gone, program("a", true, [1.5, 1.25, 2.0])];
        let drawn = drawing(&[report(&programs)]).unwrap();
        assert!(drawn.contains("2 x Intel Xeon, 2026-11-22, commit fc7c033, 6 interleaved runs each"), "{drawn}");
        let names: Vec<&str> = drawn.lines().filter(|line| line.contains("x=\"200\"")).collect();
        assert!(names.len() == 2 && names[0].ends_with(">a</text>") && names[0].contains("bound"), "{names:?}");
        assert!(names[1].ends_with(">b</text>"), "{names:?}");
    }

    #[test]
    fn the_axis_reaches_as_far_as_the_intervals() {
        let drawn = drawing(&[report(&[program("a", false, [9.0, 0.1, 95.0])])]).unwrap();
        let dot = drawn.lines().find(|line| line.starts_with("<g class=\"m0\">")).unwrap();
        let end = |name: &str| -> f64 {
            let value = dot.split(&format!(" {name}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        };
        assert!(end("x1") >= 210.0 && end("x1") < end("x2") && end("x2") <= 815.0, "{dot}");
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |programs: &[Value]| format!("{:#}", drawing(&[report(programs)]).unwrap_err());
        assert!(refused(&[]).ends_with("no program with a speed"));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("programs.json"), "{}").unwrap();
        let refused = picture(folder.path()).unwrap_err();
        assert!(format!("{refused:#}").contains("not a report of `cargo xtask programs`"), "{refused:#}");
    }
}
