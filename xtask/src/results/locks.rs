//! The picture of a benchmark: a panel for each scenario, and in it each lock's speed against the reference.

use super::subject::Subject;
use super::svg::{self, Axis, escaped};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;
use turnwise_present::machine::Machine;
use turnwise_present::stats::Spread;

/// Panels stand side by side, in columns this wide; within one, names of locks take this much.
const COLUMN: f64 = 412.0;
const NAMES: f64 = 140.0;
/// Where the first panel begins, and the rows above and below a panel's locks.
const TOP: f64 = 72.0;
const HEAD: f64 = 46.0;
const FOOT: f64 = 34.0;
/// How far locks are apart.
const ROW: f64 = 14.0;

/// What the picture needs of a report of `turnwise-lab bench`.
#[derive(Deserialize)]
struct Report {
    machine: Machine,
    commit: Option<String>,
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    name: String,
    help: String,
    reference: Option<String>,
    locks: Vec<Lock>,
}

#[derive(Deserialize)]
struct Lock {
    name: String,
    ours: bool,
    speed: Option<Spread>,
}

impl Scenario {
    /// Returns the locks that were compared, each with its speed.
    fn compared(&self) -> impl Iterator<Item = (&Lock, [f64; 3])> {
        self.locks.iter().filter_map(|lock| lock.speed.map(|speed| (lock, [speed.median, speed.min, speed.max])))
    }

    fn height(&self) -> f64 {
        HEAD + FOOT + ROW * self.compared().count() as f64
    }
}

/// Draws the report of `subject` in a folder.
pub(super) fn picture(subject: &Subject, folder: &Path) -> Result<String> {
    let file = subject.report(folder);
    let report: Report = serde_json::from_value(super::json::read(&file)?)
        .with_context(|| format!("{} is not a report of turnwise-lab bench", file.display()))?;
    let scenarios: Vec<&Scenario> = report.scenarios.iter().filter(|s| s.compared().next().is_some()).collect();
    ensure!(!scenarios.is_empty(), "{} compares nothing", file.display());
    let heights = scenarios.chunks(2).map(|row| row.iter().map(|s| s.height()).fold(0.0, f64::max));
    let all = TOP + heights.sum::<f64>();
    let title = format!("{}: {}", subject.title, subject.shows());
    let mut drawn = svg::head(&title, &format!("{}: speed against the reference", subject.title), all);
    let commit = report.commit.as_deref().unwrap_or("unknown");
    writeln!(
        drawn,
        "<text class=\"small\" x=\"16\" y=\"44\">{} x {}, commit {commit}. Dots: medians. Bars: from the least to the \
         most of the rounds, cut at the frame.</text>\n<circle class=\"m0\" cx=\"20\" cy=\"58\" r=\"4\"/><text \
         class=\"small\" x=\"30\" y=\"62\">ours</text><circle class=\"m1\" cx=\"70\" cy=\"58\" r=\"4\"/><text \
         class=\"small\" x=\"80\" y=\"62\">others</text>",
        report.machine.cpus,
        escaped(report.machine.cpu_name())
    )?;
    let speeds = || scenarios.iter().flat_map(|scenario| scenario.compared()).map(|(_, [speed, ..])| speed);
    let mut top = TOP;
    for row in scenarios.chunks(2) {
        for (column, scenario) in row.iter().enumerate() {
            let left = 16.0 + COLUMN * column as f64;
            let axis = Axis::of(speeds(), left + NAMES, left + COLUMN - 20.0);
            panel(&mut drawn, scenario, &axis, left, top)?;
        }
        top += row.iter().map(|s| s.height()).fold(0.0, f64::max);
    }
    Ok(drawn + "</svg>\n")
}

fn panel(drawn: &mut String, scenario: &Scenario, axis: &Axis, left: f64, top: f64) -> Result<()> {
    let reference = scenario.reference.as_deref().unwrap_or("nothing");
    writeln!(
        drawn,
        "<text class=\"bound\" x=\"{left}\" y=\"{}\">{} / {}</text>\n<text \
         class=\"small\" x=\"{left}\" y=\"{}\">{}</text>",
        top + 14.0,
        escaped(&scenario.name),
        escaped(reference),
        top + 30.0,
        escaped(&scenario.help)
    )?;
    let first = top + HEAD;
    *drawn += &axis.draw(first - 6.0, first - 6.0 + ROW * scenario.compared().count() as f64);
    for (number, (lock, speed)) in scenario.compared().enumerate() {
        let y = first + ROW * number as f64;
        let (right, class) = (axis.left - 8.0, if lock.ours { "small bound" } else { "small" });
        writeln!(
            drawn,
            "<text class=\"{class}\" x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            escaped(&lock.name)
        )?;
        *drawn += &axis.dot(speed, if lock.ours { "m0" } else { "m1" }, y);
    }
    Ok(())
}
