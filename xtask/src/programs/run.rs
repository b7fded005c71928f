//! Runs a program under the policies by `turnwise run` and `turnwise compare`.

use super::POLICIES;
use super::table::{Program, Ready};
use crate::command::{Run, both, last_lines, text_of};
use crate::results::each;
use anyhow::{Context, Result, bail, ensure};
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use turnwise_present::cpus;

/// No run of any program takes longer.
const LIMIT_S: u64 = 120;

/// Returns the part of the program's output that must not depend on its locks. A program that occasionally fails on
/// the C library's is retried: that does not count against ours.
pub(super) fn results(turnwise: &Path, policy: &str, program: &Program, ready: &Ready) -> Result<String> {
    const TRIES: u32 = 3;
    let mut tries = if policy == POLICIES[0] { TRIES } else { 1 };
    let printed = loop {
        let mut run = Command::new(turnwise);
        run.args(["run", "--lock", policy, "--"]).args(&ready.command);
        let (status, printed) = bounded(&mut run).with_context(|| format!("under {policy}"))?;
        tries -= 1;
        match status.success() {
            true => break printed,
            false if tries == 0 => bail!("it fails under {policy}: {}", last_lines(&printed)),
            false => {}
        }
    };
    let Some(equal) = &program.equal else { return Ok("its exit status".to_owned()) };
    let equal = Regex::new(&format!("(?m){equal}"))?;
    let found: Vec<_> = equal.find_iter(&printed).map(|found| found.as_str()).collect();
    ensure!(!found.is_empty(), "under {policy} it prints nothing like `{equal}`: {}", last_lines(&printed));
    Ok(found.join(", "))
}

/// Runs both policies, interleaved, in this process's circumstances; with `arms` also the C library's on one CPU,
/// and recorded.
pub(super) fn compare(turnwise: &Path, program: &Program, ready: &Ready, runs: u32, arms: bool) -> Result<Value> {
    let metric = program.metric.as_deref().context("its results are not measured")?;
    let direction = if program.lower { "--lower-is-better" } else { "--higher-is-better" };
    let mut compare = Command::new(turnwise);
    compare.args(["compare", "--lock", &POLICIES.join(","), "--runs", &runs.to_string(), direction]);
    compare.args(["--timeout", &LIMIT_S.to_string(), "--metric", &format!("(?m){metric}"), "--json", "-"]);
    if arms {
        let turnwise = turnwise.to_str().context("the path of turnwise is not UTF-8")?;
        let quoted = shlex::try_quote(turnwise).context("the path of turnwise cannot be quoted")?;
        // The last one that this process may use: the first ones serve more interrupts.
        let last = *cpus::allowed()?.last().context("no CPU may be used")?;
        compare.args(["--arm", &format!("{ONE_CPU}: taskset -c {last}")]);
        compare.args(["--arm", &format!("{RECORDED}: {quoted} profile --")]);
    }
    let output = compare.arg("--").args(&ready.command).stdin(Stdio::null()).printed()?;
    ensure!(output.status.success(), "{}", text_of(&output.stderr).trim());
    let comparison = serde_json::from_slice(&output.stdout).context("this is not what `turnwise compare` writes")?;
    read(&comparison, program.lower, arms)
}

/// The arm of lock-bound programs on one CPU: no thread runs alongside a lock's owner, so its gain is the cost of
/// contention.
const ONE_CPU: &str = "one CPU";
/// The arm of lock-bound programs under `turnwise profile`.
const RECORDED: &str = "recorded";

/// Reads a comparison; `bound`: whether it has the arms of lock-bound programs.
fn read(comparison: &Value, lower: bool, bound: bool) -> Result<Value> {
    let metric = comparison["summaries"][0]["metric"].as_str().context("the comparison has no figures")?;
    let of = |policy: &str| {
        let found = each(&comparison["summaries"]).iter().find(|s| s["metric"] == metric && s["policy"] == policy);
        found.with_context(|| format!("the comparison has no figures of {policy}"))
    };
    let all = POLICIES.iter().map(|policy| of(policy)).collect::<Result<Vec<_>>>()?;
    let mut runs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for run in each(&comparison["runs"]).iter().filter(|run| run["warmup"] != true) {
        let policy = run["policy"].as_str().context("a run without a policy")?;
        runs.entry(policy).or_default().extend(run["printed"][metric].as_f64());
    }
    let arm = |name: &str| bound.then(|| of(name).and_then(|summary| speed(summary, lower))).transpose();
    let figures = |of: &dyn Fn(&Value) -> Option<f64>| -> Option<Vec<f64>> { all.iter().map(|one| of(one)).collect() };
    let median = |summary: &Value| summary["median"].as_f64();
    let spread = |summary: &Value| Some((summary["q3"].as_f64()? - summary["q1"].as_f64()?) / median(summary)?);
    Ok(json!({
        // The figures of all runs, by policy or arm, in order.
        "runs": runs,
        "medians": figures(&median).context("a summary without a median")?,
        // The middle half of each policy, as a share of its median.
        "spread": figures(&spread).context("a summary without quartiles")?,
        // Against the C library's locks. Above 1: faster.
        "speed": speed(all[1], lower)?,
        // Of the C library's locks on one CPU against the same on all; of lock-bound programs only.
        "one_cpu": arm(ONE_CPU)?,
        // Of the C library's locks under `turnwise profile` against the same without.
        "recorded": arm(RECORDED)?,
        "machine": comparison["machine"],
        // The other load on the machine, if known.
        "others": comparison["others"],
    }))
}

/// Returns estimate and ends of the 95% interval.
fn speed(summary: &Value, lower: bool) -> Result<[f64; 3]> {
    let [ratio, low, high] = ["ratio", "low", "high"].map(|field| summary["to_baseline"][field].as_f64());
    let ((ratio, low), high) = ratio.zip(low).zip(high).context("the comparison has no ratio")?;
    Ok(if lower { [1.0 / ratio, 1.0 / high, 1.0 / low] } else { [ratio, low, high] })
}

/// Runs a program, for a bounded time; returns how it ended, and its whole output.
pub(crate) fn bounded(command: &mut Command) -> Result<(ExitStatus, String)> {
    both(command, Some(Duration::from_secs(LIMIT_S)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a comparison: twice as many under ours, half as many again on one CPU, a tenth less recorded.
    fn comparison() -> Value {
        let summary = |policy: &str, median: f64, to_baseline: serde_json::Value| {
            serde_json::json!({ "metric": "ops", "policy": policy, "median": median, "q1": 0.9 * median,
                "q3": 1.1 * median, "to_baseline": to_baseline })
        };
        let ratio = |ratio, low, high| serde_json::json!({ "ratio": ratio, "low": low, "high": high });
        let machine = serde_json::json!({ "cpus": 2, "cpu": "x", "kernel": "6", "libc": "g" });
        let summaries = [
            summary("libc", 100.0, serde_json::Value::Null),
            summary("adaptive", 200.0, ratio(2.0, 1.6, 2.5)),
            summary(ONE_CPU, 150.0, ratio(1.5, 1.25, 2.0)),
            summary(RECORDED, 90.0, ratio(0.9, 0.8, 1.0)),
        ];
        let run = |warmup: bool, ops: f64| {
            let printed = serde_json::json!({ "ops": ops, "other": 1.0 });
            serde_json::json!({ "policy": "libc", "warmup": warmup, "printed": printed })
        };
        let runs = [run(true, 1.0), run(false, 90.0), run(false, 110.0)];
        serde_json::json!({ "summaries": summaries, "runs": runs, "machine": machine })
    }

    #[test]
    fn arms_are_identified_by_their_names() {
        let measured = read(&comparison(), false, true).unwrap();
        assert_eq!(measured["speed"], json!([2.0, 1.6, 2.5]));
        assert_eq!(measured["one_cpu"], json!([1.5, 1.25, 2.0]));
        assert_eq!(measured["recorded"], json!([0.9, 0.8, 1.0]));
        assert_eq!(measured["medians"], json!([100.0, 200.0]));
        assert_eq!(measured["runs"]["libc"], json!([90.0, 110.0]), "without the warm-up");
        assert_eq!(read(&comparison(), false, false).unwrap()["one_cpu"], Value::Null);
        let mut other = comparison();
        other["summaries"][3]["policy"] = "another".into();
        assert!(read(&other, false, true).is_err());
    }

    #[test]
    fn where_less_is_better_the_ends_change_places() {
        let measured = read(&comparison(), true, true).unwrap();
        assert_eq!(measured["speed"], json!([0.5, 0.4, 0.625]));
        assert_eq!(measured["one_cpu"], json!([1.0 / 1.5, 0.5, 0.8]));
    }
}
