//! The picture of all programs, `docs/results/programs.svg`: drawn from the tables of the reports on record, so that
//! `cargo xtask programs --picture` repeats it at any time.

use anyhow::{Context, Result, bail};
use regex::Regex;
use std::fmt::Write;

/// Where the picture lies.
pub(super) const PICTURE: &str = "docs/results/programs.svg";
/// The reports that it shows, each on a machine of its own. The first orders the rows.
pub(super) const PAGES: [&str; 2] = [super::REPORT, "docs/results/programs-xeon.md"];

/// Columns of the picture, in pixels: where the plot begins and ends, and how wide all is.
const LEFT: f64 = 210.0;
const RIGHT: f64 = 815.0;
const WIDTH: u32 = 840;
/// Rows: where the first lies, and how far apart they are.
const TOP: f64 = 112.0;
const ROW: f64 = 20.0;
/// How far the machines of one program lie apart.
const APART: f64 = 7.0;
/// The ends of the axis, which is logarithmic, and its lines.
const SPEEDS: [f64; 2] = [0.36, 4.6];
const LINES: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 4.0];

/// Colours that can be told apart without red and green, on a background of the picture's own.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}.bound{font-weight:600}.small{font-size:11px}.title{font-size:16px;\
font-weight:600}.ground{fill:#fff}.slower{fill:#f3f0ea}.line{stroke:#d0d7de}.one{stroke:#57606a;stroke-width:1.5}\
.m0{stroke:#0969da;fill:#0969da}.m1{stroke:#bc4c00;fill:#bc4c00}@media(prefers-color-scheme:dark){text{fill:#e6edf3}\
.ground{fill:#0d1117}.slower{fill:#1c1a17}.line{stroke:#30363d}.one{stroke:#8b949e}.m0{stroke:#58a6ff;fill:#58a6ff}\
.m1{stroke:#f0883e;fill:#f0883e}}";

/// What a report says of one machine.
struct Reported {
    machine: String,
    programs: Vec<Row>,
}

/// One program there.
struct Row {
    name: String,
    is_bound: bool,
    /// Estimate and ends of the interval.
    speed: [f64; 3],
}

/// Draws reports, each given with its path.
pub(super) fn picture(pages: &[(&str, String)]) -> Result<String> {
    let read = |(path, text): &(&str, String)| read(text).with_context(|| format!("{path} is not a report"));
    let reports: Vec<Reported> = pages.iter().map(read).collect::<Result<_>>()?;
    let [first, others @ ..] = reports.as_slice() else { bail!("no report to draw") };
    let mut rows: Vec<&Row> = first.programs.iter().collect();
    rows.sort_by(|a, b| b.speed[0].total_cmp(&a.speed[0]));
    let mut drawn = String::new();
    head(&mut drawn, &reports, rows.len())?;
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let bound = if row.is_bound { " class=\"bound\"" } else { "" };
        writeln!(drawn, "<text x=\"200\" y=\"{y}\" text-anchor=\"end\"{bound}>{}</text>", escaped(&row.name))?;
        let elsewhere = others.iter().map(|report| report.programs.iter().find(|other| other.name == row.name));
        for (machine, row) in std::iter::once(Some(*row)).chain(elsewhere).enumerate() {
            let y = y - 4.0 + APART * (machine as f64 - others.len() as f64 / 2.0);
            row.map_or(Ok(()), |row| dot(&mut drawn, row, machine, y))?;
        }
    }
    drawn.push_str("</svg>\n");
    Ok(drawn)
}

/// Title, legend and axis.
fn head(drawn: &mut String, reports: &[Reported], rows: usize) -> Result<()> {
    let bottom = TOP - 15.0 + ROW * rows as f64;
    let height = bottom + 45.0;
    writeln!(
        drawn,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>Speed of \
         {rows} programs on Turnwise's locks against the C library's</title>\n<style>{STYLE}</style>\n<rect \
         class=\"ground\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n<text x=\"16\" y=\"26\" \
         class=\"title\">Speed on Turnwise's locks against the C library's, programs not rebuilt</text>"
    )?;
    for (number, report) in reports.iter().enumerate() {
        let y = 46 + 18 * number;
        writeln!(drawn, "<circle class=\"m{number}\" cx=\"22\" cy=\"{}\" r=\"4\"/>", y - 4)?;
        writeln!(drawn, "<text x=\"34\" y=\"{y}\">{}</text>", escaped(&report.machine))?;
    }
    let top = TOP - 15.0;
    let one = x(1.0);
    writeln!(
        drawn,
        "<rect class=\"slower\" x=\"{LEFT}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"/>",
        one - LEFT,
        bottom - top
    )?;
    for speed in LINES {
        let (x, class) = (x(speed), if speed == 1.0 { "one" } else { "line" });
        writeln!(drawn, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>")?;
        let (below, times) = (bottom + 14.0, if speed == 1.0 { "equal".to_owned() } else { format!("{speed}x") });
        writeln!(drawn, "<text class=\"small\" x=\"{x:.1}\" y=\"{below}\" text-anchor=\"middle\">{times}</text>")?;
    }
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

/// A program on a machine: its estimate, and its interval as a bar.
fn dot(drawn: &mut String, row: &Row, machine: usize, y: f64) -> Result<()> {
    let [speed, low, high] = row.speed;
    if low < SPEEDS[0] || high > SPEEDS[1] {
        bail!("{} has an interval from {low} to {high}, beyond the axis: change SPEEDS in picture.rs", row.name);
    }
    writeln!(
        drawn,
        "<g class=\"m{machine}\"><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke-width=\"2\"/><circle \
         cx=\"{:.1}\" cy=\"{y}\" r=\"3.5\"/></g>",
        x(low),
        x(high),
        x(speed)
    )?;
    Ok(())
}

/// Where a speed lies.
fn x(speed: f64) -> f64 {
    let [low, high] = SPEEDS;
    LEFT + (RIGHT - LEFT) * (speed / low).ln() / (high / low).ln()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Reads a page that `report::page` has written.
fn read(page: &str) -> Result<Reported> {
    let find = |pattern: &str, what: &str| -> Result<Vec<String>> {
        let found = Regex::new(pattern)?.captures(page).with_context(|| format!("it does not say {what}"))?;
        Ok(found.iter().skip(1).flatten().map(|group| group.as_str().to_owned()).collect())
    };
    let written = find(r"--runs (\d+)` on (\S+), commit ([0-9a-f]{7})", "when it was written")?;
    let machine = find(r"(?m)^Machine: (\d+ x [^,]+), ", "on which machine")?;
    let row = Regex::new(r"(?m)^\| ([^|]+) \| *(yes)? *\|.*\| \*\*([0-9.]+)\*\* \| ([0-9.]+) to ([0-9.]+) \|")?;
    let programs: Vec<Row> = row
        .captures_iter(page)
        .map(|cells| {
            let speed = [&cells[3], &cells[4], &cells[5]].map(str::parse::<f64>);
            let [speed, low, high] = speed;
            Ok(Row { name: cells[1].to_owned(), is_bound: cells.get(2).is_some(), speed: [speed?, low?, high?] })
        })
        .collect::<Result<_>>()?;
    if programs.is_empty() {
        bail!("it has no program with a speed");
    }
    let [runs, date, commit] = written.as_slice() else { bail!("it does not say when it was written") };
    let machine = machine.concat().replace("(R)", "").replace(" Processor", "");
    Ok(Reported { machine: format!("{machine}, {date}, commit {commit}, {runs} interleaved runs each"), programs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &str) -> String {
        format!(
            "Written by `cargo xtask programs --runs 6` on 2026-11-22, commit fc7c03365d3b; do not edit.\n\n\
                 Machine: 2 x Intel(R) Xeon(R) Processor, Linux 6.18, glibc 2.36.\n\n{rows}"
        )
    }

    #[test]
    fn the_picture_on_record_is_that_of_the_reports_on_record() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let pages = PAGES.map(|path| (path, text(path)));
        assert!(picture(&pages).unwrap() == text(PICTURE), "draw it again: cargo xtask programs --picture");
    }

    #[test]
    fn a_report_is_read_with_its_machine_and_losers() {
        let rows = "| a | yes | 1 s | 1% | 1 s | 1% | **1.50** | 1.25 to 2.00 | |\n\
                    | gone | yes | not run: not here | | | | | | |\n\
                    | b |  | 1 s | 1% | 1 s | 1% | **0.58** | 0.39 to 1.10 |  |\n";
        let read = read(&page(rows)).unwrap();
        assert_eq!(read.machine, "2 x Intel Xeon, 2026-11-22, commit fc7c033, 6 interleaved runs each");
        let programs: Vec<_> = read.programs.iter().map(|row| (&*row.name, row.is_bound, row.speed)).collect();
        assert_eq!(programs, [("a", true, [1.5, 1.25, 2.0]), ("b", false, [0.58, 0.39, 1.1])]);
    }

    #[test]
    fn what_is_not_a_report_is_refused() {
        let refused = |text: String| format!("{:#}", picture(&[("page.md", text)]).unwrap_err());
        assert_eq!(refused(String::new()), "page.md is not a report: it does not say when it was written");
        assert!(refused(page("")).ends_with("no program with a speed"));
        let far = page("| a |  | 1 s | 1% | 1 s | 1% | **9.00** | 8.00 to 9.50 |  |\n");
        assert!(refused(far).contains("beyond the axis"));
    }
}
