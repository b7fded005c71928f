//! One screen of a report: the cells that matter. All others are in the JSON that the page names.

use super::json::{each, text};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;
use turnwise_present::figures::{three, time};

/// Renders what the page of a report of `turnwise-lab bench` shows below its picture.
pub(super) fn bench(report: &Value, lock: Option<&str>) -> Result<String> {
    if each(&report["documents"]).is_empty() { cells(report, lock) } else { published(report) }
}

/// Returns how often and how long was measured, and what a line of another CPU took meanwhile.
fn method(report: &Value) -> String {
    let lines = each(&report["scenarios"]).iter().flat_map(|scenario| each(&scenario["locks"]));
    let lines = lines.flat_map(|lock| each(&lock["rounds_line_ns"])).filter_map(Value::as_f64);
    let mut lines: Vec<f64> = lines.collect();
    lines.sort_by(f64::total_cmp);
    let line = lines.get(lines.len() / 2).map_or_else(String::new, |middle| {
        let (low, high) = (time(lines[lines.len() / 10]), time(lines[lines.len() * 9 / 10]));
        format!(" A cache line from another CPU took {}; below {low} and above {high} in a tenth each.", time(*middle))
    });
    let (machine, method) = (&report["machine"], &report["method"]);
    format!(
        "{} x {}, Linux {}, commit {}: `{}`, {} samples of {} ms, locks interleaved.{line}",
        machine["cpus"],
        text(&machine["cpu"]),
        text(&machine["kernel"]),
        text(&report["commit"]),
        text(&report["command"]),
        method["samples"],
        method["sample_ms"]
    )
}

/// Renders a row for each scenario: one lock in full and the speeds of its peers, or the speeds of all locks.
fn cells(report: &Value, lock: Option<&str>) -> Result<String> {
    let mut page = method(report)
        + &verdict(report, lock)
        + "\n\nSpeed: time of the reference over that of the lock, median of the rounds \
        (least to most); above 1 is faster than the reference.\n\n";
    page += match lock {
        Some(_) => {
            "| scenario | reference | per operation | speed | fairness | longest wait | others' speed |\n\
            |---|---|---|---|---|---|---|\n"
        }
        None => "| scenario | reference | speed of each lock |\n|---|---|---|\n",
    };
    for scenario in each(&report["scenarios"]) {
        let reference = text(&scenario["reference"]);
        let is_other = |other: &&Value| match lock {
            Some(_) => other["ours"] == false && other["name"] != reference,
            None => other["name"] != reference,
        };
        let others: Vec<String> = each(&scenario["locks"])
            .iter()
            .filter(is_other)
            .filter_map(|other| Some(format!("{} {}", text(&other["name"]), ratio(other["speed"]["median"].as_f64()?))))
            .collect();
        write!(page, "| {} | {reference} |", text(&scenario["name"]))?;
        if let Some(name) = lock {
            let locks = each(&scenario["locks"]);
            // Reports of before name it otherwise: then it is the first.
            let ours = locks.iter().find(|lock| lock["name"] == name).or(locks.first()).context("no lock")?;
            let wait = ours["wait"]["max_ns"].as_f64().map_or_else(String::new, time);
            let (op, fairness) = (&ours["op_ns"]["median"], &ours["fairness"]["median"]);
            write!(
                page,
                " {} | {} | {} | {wait} |",
                figure(op, time),
                spread(&ours["speed"]),
                figure(fairness, ratio)
            )?;
        }
        writeln!(page, " {} |", others.join(", "))?;
    }
    Ok(page)
}

/// Renders the lock against the best peer of each cell, as the laboratory sums it up.
fn verdict(report: &Value, lock: Option<&str>) -> String {
    let verdict = each(&report["verdicts"]).iter().find(|verdict| Some(text(&verdict["lock"])) == lock);
    verdict.map_or_else(String::new, |verdict| {
        let (peer, worst) = (&verdict["best_peer"], &verdict["best_peer"]["worst"]);
        format!(
            "\n\n**{}** of the best peer's speed in the geometric mean of {} cells; worst in {}: {} of {}. Longest \
             wait: {}, in {}.",
            figure(&peer["mean"], ratio),
            peer["cells"],
            text(&worst["scenario"]),
            spread(&worst["speed"]),
            text(&worst["against"]),
            figure(&verdict["longest_wait"]["ns"], time),
            text(&verdict["longest_wait"]["scenario"])
        )
    })
}

/// Renders what papers published, next to the same locks here.
fn published(report: &Value) -> Result<String> {
    let mut page = method(report)
        + "\n\nAfter over before, median of the rounds (least to most). Published figures are \
        of other workloads on other machines: compare the direction.\n\n\
        | paper | scenario | before and after | unit | here | published |\n|---|---|---|---|---|---|\n";
    for row in each(&report["documents"]) {
        let there = &row["published"];
        let after_to_before =
            there["after"].as_f64().zip(there["before"].as_f64()).map(|(after, before)| ratio(after / before));
        let before = format!("{}, {}", text(&row["before"]["lock"]), text(&row["after"]["lock"]));
        let (paper, scenario, unit) = (text(&row["document"]), text(&row["scenario"]), text(&row["unit"]));
        let there = after_to_before.map_or_else(String::new, |ratio| format!("{ratio}, {}", text(&there["unit"])));
        let here = spread(&row["ratio"]);
        writeln!(page, "| {paper} | {scenario} | {before} | {unit} | {here} | {there} |")?;
    }
    Ok(page)
}

/// Renders what the papers claim, and what of it holds.
pub(super) fn reproduction(report: &Value) -> Result<String> {
    let score = super::score::line(&report["score"]).unwrap_or_default();
    let mut page = format!(
        "Simulated, seed {}, commit {}. [How it works](../reproduce.md), and [why rows are missed]\
         (../reproduction/README.md). All rows: `turnwise-lab reproduce --from reproduction.json --markdown FILE`.\n\n\
         {score}\n| paper | claim | published | simulated | verdict |\n|---|---|---|---|---|\n",
        report["seed"],
        text(&report["commit"])
    );
    for study in each(&report["documents"]) {
        for row in each(&study["claims"]) {
            let [what, there, ours, verdict] = ["what", "published", "ours", "verdict"].map(|field| text(&row[field]));
            writeln!(page, "| {} | {what} | {there} | {ours} | {verdict} |", text(&study["name"]))?;
        }
    }
    Ok(page)
}

fn figure(value: &Value, shown: impl Fn(f64) -> String) -> String {
    value.as_f64().map_or_else(String::new, shown)
}

/// Formats three digits, also of values far below 1.
fn ratio(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { three(value) } else { format!("{value:.1e}") }
}

fn spread(value: &Value) -> String {
    let [median, least, most] = ["median", "min", "max"].map(|field| figure(&value[field], ratio));
    if median.is_empty() { median } else { format!("{median} ({least} to {most})") }
}
