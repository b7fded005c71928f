//! The picture of a benchmark: a panel for each scenario, and in it each lock's speed against the reference.

use super::json::{each, text};
use super::subject::Subject;
use super::svg::{self, Axis, escaped};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::fmt::Write;

/// Panels stand side by side, in columns this wide; within one, names of locks take this much.
const COLUMN: f64 = 412.0;
const NAMES: f64 = 140.0;
/// Where the first panel begins, and the rows above and below a panel's locks.
const TOP: f64 = 72.0;
const HEAD: f64 = 46.0;
const FOOT: f64 = 34.0;
/// How far locks are apart.
const ROW: f64 = 14.0;

/// Returns the locks of a scenario that were compared, each with its speed.
fn compared(scenario: &Value) -> impl Iterator<Item = (&Value, [f64; 3])> {
    let speed = |lock: &Value, end| lock["speed"][end].as_f64();
    let speeds = move |lock| Some([speed(lock, "median")?, speed(lock, "min")?, speed(lock, "max")?]);
    each(&scenario["locks"]).iter().filter_map(move |lock| Some((lock, speeds(lock)?)))
}

fn height(scenario: &&Value) -> f64 {
    HEAD + FOOT + ROW * compared(scenario).count() as f64
}

/// Draws the report of `subject`.
pub(super) fn picture(subject: &Subject, report: &Value) -> Result<String> {
    let scenarios = each(&report["scenarios"]).iter().filter(|scenario| compared(scenario).next().is_some());
    let scenarios: Vec<&Value> = scenarios.collect();
    ensure!(!scenarios.is_empty(), "the report of {} compares nothing", subject.name);
    let highest = |row: &[&Value]| row.iter().map(height).fold(0.0, f64::max);
    let all = TOP + scenarios.chunks(2).map(highest).sum::<f64>();
    let title = format!("{}: {}", subject.title, subject.shows());
    let mut drawn = svg::head(&title, &format!("{}: speed against the reference", subject.title), all);
    let (commit, machine) = (text(&report["commit"]), &report["machine"]);
    let cpu = machine["cpu"].as_str().or(machine["cpu_model"].as_str()).unwrap_or(text(&machine["arch"]));
    writeln!(
        drawn,
        "<text class=\"small\" x=\"16\" y=\"44\">{} x {}, commit {commit}. Dots: medians. Bars: from the least to the \
         most of the rounds, cut at the frame.</text>\n<circle class=\"m0\" cx=\"20\" cy=\"58\" r=\"4\"/><text \
         class=\"small\" x=\"30\" y=\"62\">ours</text><circle class=\"m1\" cx=\"70\" cy=\"58\" r=\"4\"/><text \
         class=\"small\" x=\"80\" y=\"62\">others</text>",
        machine["cpus"],
        escaped(cpu)
    )?;
    let speeds = || scenarios.iter().flat_map(|scenario| compared(scenario)).map(|(_, [speed, ..])| speed);
    let mut top = TOP;
    for row in scenarios.chunks(2) {
        for (column, scenario) in row.iter().enumerate() {
            let left = 16.0 + COLUMN * column as f64;
            let axis = Axis::of(speeds(), left + NAMES, left + COLUMN - 20.0);
            panel(&mut drawn, scenario, &axis, left, top)?;
        }
        top += highest(row);
    }
    Ok(drawn + "</svg>\n")
}

fn panel(drawn: &mut String, scenario: &Value, axis: &Axis, left: f64, top: f64) -> Result<()> {
    let reference = scenario["reference"].as_str().unwrap_or("nothing");
    writeln!(
        drawn,
        "<text class=\"bound\" x=\"{left}\" y=\"{}\">{} / {}</text>\n<text \
         class=\"small\" x=\"{left}\" y=\"{}\">{}</text>",
        top + 14.0,
        escaped(text(&scenario["name"])),
        escaped(reference),
        top + 30.0,
        escaped(text(&scenario["help"]))
    )?;
    let first = top + HEAD;
    *drawn += &axis.draw(first - 6.0, first - 6.0 + ROW * compared(scenario).count() as f64);
    for (number, (lock, speed)) in compared(scenario).enumerate() {
        let y = first + ROW * number as f64;
        let (right, ours) = (axis.left - 8.0, lock["ours"] == true);
        let class = if ours { "small bound" } else { "small" };
        writeln!(
            drawn,
            "<text class=\"{class}\" x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            escaped(text(&lock["name"]))
        )?;
        *drawn += &axis.dot(speed, if ours { "m0" } else { "m1" }, y);
    }
    Ok(())
}
