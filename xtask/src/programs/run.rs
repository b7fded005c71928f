//! Runs a program under the policies by `turnwise run` and `turnwise compare`.

use super::prepare::Ready;
use super::table::Program;
use super::{POLICIES, table};
use crate::command::{both, last_lines, text_of};
use crate::results::{built, each};
use anyhow::{Context, Result, bail, ensure};
use regex::Regex;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use turnwise_present::machine::Machine;
use turnwise_present::others::Others;

/// No run of any program takes longer.
const LIMIT_S: u64 = 120;

/// The program `turnwise`, built for speed.
pub(super) struct Turnwise {
    path: PathBuf,
}

/// Estimate and ends of the 95% interval.
pub(super) type Speed = [f64; 3];

/// The result of a comparison.
#[derive(Serialize)]
pub(crate) struct Measured {
    /// The figures of all runs, by policy or arm, in order.
    pub(super) runs: BTreeMap<String, Vec<f64>>,
    /// Median of each policy.
    pub(super) medians: Vec<f64>,
    /// Middle half of each policy, as a share of its median.
    pub(super) spread: Vec<f64>,
    /// Speed against the C library's locks. Above 1: faster.
    pub(super) speed: Speed,
    /// Speed of the C library's locks on one CPU against the same on all; of lock-bound programs only.
    pub(super) one_cpu: Option<Speed>,
    /// Speed of the C library's locks under `turnwise profile` against the same without.
    pub(super) recorded: Option<Speed>,
    /// Speed against the C library's locks where both run alongside two busy processes.
    pub(super) beside_busy: Option<Speed>,
    /// The same where either may use one CPU.
    pub(super) quota: Option<Speed>,
    /// Where.
    pub(super) machine: Machine,
    /// The other load on the machine, if known.
    pub(super) others: Option<Others>,
}

impl Turnwise {
    /// Builds the `turnwise` program.
    pub(super) fn build() -> Result<Turnwise> {
        let path = built("turnwise-cli", "turnwise")?;
        Ok(Turnwise { path })
    }

    /// Returns the part of the program's output that must not depend on its locks. A program that occasionally fails on
    /// the C library's is retried: that does not count against ours.
    pub(super) fn results(&self, policy: &str, program: &table::Program, ready: &Ready) -> Result<String> {
        const TRIES: u32 = 3;
        let mut tries = if policy == POLICIES[0] { TRIES } else { 1 };
        let printed = loop {
            let mut run = Command::new(&self.path);
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

    /// Runs both policies, interleaved; for lock-bound programs also the C library's on one CPU, and recorded.
    pub(super) fn compare(&self, program: &Program, metric: &str, ready: &Ready, runs: u32) -> Result<Measured> {
        let mut arms = Vec::new();
        if program.bound {
            let turnwise = self.path.to_str().context("the path of turnwise is not UTF-8")?;
            let quoted = shlex::try_quote(turnwise).context("the path of turnwise cannot be quoted")?;
            arms.extend(["--arm".to_owned(), format!("{ONE_CPU}: taskset -c {}", last_cpu()?)]);
            arms.extend(["--arm".to_owned(), format!("{RECORDED}: {quoted} profile --")]);
        }
        let text = self.compared(program, metric, ready, runs, &arms)?;
        read(&text, program.lower, program.bound)
    }

    /// Runs both policies, interleaved, in this process's circumstances; returns the speed of ours.
    pub(super) fn speed(&self, program: &Program, metric: &str, ready: &Ready, runs: u32) -> Result<Speed> {
        let text = self.compared(program, metric, ready, runs, &[])?;
        read(&text, program.lower, false).map(|measured| measured.speed)
    }

    /// Returns the JSON of a comparison.
    fn compared(&self, program: &Program, metric: &str, ready: &Ready, runs: u32, arms: &[String]) -> Result<String> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let json = folder.path().join("comparison.json");
        let direction = if program.lower { "--lower-is-better" } else { "--higher-is-better" };
        let mut compare = Command::new(&self.path);
        compare.args(["compare", "--lock", &POLICIES.join(","), "--runs", &runs.to_string(), direction]);
        compare.args(["--timeout", &LIMIT_S.to_string(), "--metric", &format!("(?m){metric}")]);
        compare.arg(format!("--json={}", json.display()));
        compare.args(arms).arg("--").args(&ready.command);
        let output = compare.stdin(Stdio::null()).output().context("cannot run turnwise compare")?;
        ensure!(output.status.success(), "{}", text_of(&output.stderr).trim());
        std::fs::read_to_string(&json).context("cannot read the comparison")
    }
}

/// The arm of lock-bound programs on one CPU: no thread runs alongside a lock's owner, so its gain is the cost of
/// contention.
const ONE_CPU: &str = "one CPU";
/// The arm of lock-bound programs under `turnwise profile`.
const RECORDED: &str = "recorded";

/// Returns the last CPU that this process may use: the first ones serve more interrupts.
fn last_cpu() -> Result<usize> {
    let allowed = sched_getaffinity(None).context("cannot ask for the CPUs that may be used")?;
    (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)).context("no CPU may be used")
}

/// Reads a comparison's JSON; `bound`: whether it has the arms of lock-bound programs.
fn read(text: &str, lower: bool, bound: bool) -> Result<Measured> {
    let mut comparison: Value = serde_json::from_str(text).context("the comparison is not JSON")?;
    let (machine, others) = (comparison["machine"].take(), comparison["others"].take());
    let metric = comparison["summaries"][0]["metric"].as_str().context("the comparison has no figures")?;
    let of = |policy: &str| {
        let found = each(&comparison["summaries"]).iter().find(|s| s["metric"] == metric && s["policy"] == policy);
        found.with_context(|| format!("the comparison has no figures of {policy}"))
    };
    let all = POLICIES.iter().map(|policy| of(policy)).collect::<Result<Vec<_>>>()?;
    let mut runs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in each(&comparison["runs"]).iter().filter(|run| run["warmup"] != true) {
        let policy = run["policy"].as_str().context("a run without a policy")?;
        runs.entry(policy.to_owned()).or_default().extend(run["printed"][metric].as_f64());
    }
    let arm = |name: &str| bound.then(|| of(name).and_then(|summary| speed(summary, lower))).transpose();
    let figures = |of: &dyn Fn(&Value) -> Option<f64>| all.iter().map(|summary| of(summary)).collect::<Option<_>>();
    let median = |summary: &Value| summary["median"].as_f64();
    let spread = |summary: &Value| Some((summary["q3"].as_f64()? - summary["q1"].as_f64()?) / median(summary)?);
    Ok(Measured {
        runs,
        medians: figures(&median).context("a summary without a median")?,
        spread: figures(&spread).context("a summary without quartiles")?,
        speed: speed(all[1], lower)?,
        one_cpu: arm(ONE_CPU)?,
        recorded: arm(RECORDED)?,
        beside_busy: None,
        quota: None,
        machine: serde_json::from_value(machine).context("the comparison names no machine")?,
        others: serde_json::from_value(others).context("the comparison's other programs")?,
    })
}

fn speed(summary: &Value, lower: bool) -> Result<Speed> {
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
    fn comparison() -> String {
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
        serde_json::json!({ "summaries": summaries, "runs": runs, "machine": machine }).to_string()
    }

    #[test]
    fn arms_are_identified_by_their_names() {
        let measured = read(&comparison(), false, true).unwrap();
        assert_eq!((measured.speed, measured.one_cpu), ([2.0, 1.6, 2.5], Some([1.5, 1.25, 2.0])));
        assert_eq!(measured.recorded, Some([0.9, 0.8, 1.0]));
        assert_eq!(measured.medians, [100.0, 200.0]);
        assert_eq!(measured.runs["libc"], [90.0, 110.0], "without the warm-up");
        assert_eq!(read(&comparison(), false, false).unwrap().one_cpu, None);
        assert!(read(&comparison().replace(RECORDED, "another"), false, true).is_err());
    }

    #[test]
    fn where_less_is_better_the_ends_change_places() {
        let measured = read(&comparison(), true, true).unwrap();
        assert_eq!((measured.speed, measured.one_cpu), ([0.5, 0.4, 0.625], Some([1.0 / 1.5, 0.5, 0.8])));
    }
}
