//! Runs a program under the policies by `turnwise run` and `turnwise compare`.

use super::prepare::Ready;
use super::table::Program;
use super::{POLICIES, table};
use anyhow::{Context, Result, bail};
use regex::Regex;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No run of any program takes longer.
const LIMIT_S: u64 = 120;

/// The program `turnwise`, built for speed.
pub(super) struct Turnwise {
    path: PathBuf,
}

/// What a comparison found.
pub(super) struct Measured {
    /// Median of each policy.
    pub(super) medians: Vec<f64>,
    /// Middle half of each policy, as a share of its median.
    pub(super) spread: Vec<f64>,
    /// Speed against the C library's locks: estimate and ends of the 95% interval. Above 1: faster.
    pub(super) speed: [f64; 3],
    /// Where.
    pub(super) machine: Machine,
}

#[derive(Deserialize)]
struct Comparison {
    summaries: Vec<Summary>,
    machine: Machine,
}

/// Where it was measured.
#[derive(Deserialize, Clone)]
pub(super) struct Machine {
    pub(super) cpus: u32,
    pub(super) cpu_model: String,
    pub(super) kernel: String,
    pub(super) libc: String,
    /// When the comparison began.
    pub(super) load_1min: f64,
}

#[derive(Deserialize)]
struct Summary {
    metric: String,
    policy: String,
    median: f64,
    q1: f64,
    q3: f64,
    to_baseline: Option<Ratio>,
}

#[derive(Deserialize)]
struct Ratio {
    ratio: f64,
    low: f64,
    high: f64,
}

impl Turnwise {
    /// Builds it.
    pub(super) fn build() -> Result<Turnwise> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--release", "--package", "turnwise-cli"])
            .status()
            .context("cannot run cargo")?;
        if !status.success() {
            bail!("turnwise cannot be built");
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let path = target.join("release/turnwise").canonicalize().context("cannot find what was built")?;
        Ok(Turnwise { path })
    }

    /// What the program prints that must not depend on its locks.
    pub(super) fn results(&self, policy: &str, program: &table::Program, ready: &Ready) -> Result<String> {
        let mut run = Command::new(&self.path);
        run.args(["run", "--lock", policy, "--"]).args(&ready.command);
        let (status, printed) = bounded(run).with_context(|| format!("under {policy}"))?;
        if !status {
            bail!("it fails under {policy}: {}", last_lines(&printed));
        }
        let Some(equal) = &program.equal else { return Ok("its exit status".to_owned()) };
        let equal = Regex::new(&format!("(?m){equal}"))?;
        let found: Vec<_> = equal.find_iter(&printed).map(|found| found.as_str()).collect();
        if found.is_empty() {
            bail!("under {policy} it prints nothing like `{equal}`: {}", last_lines(&printed));
        }
        Ok(found.join(", "))
    }

    /// Both policies, interleaved.
    pub(super) fn compare(&self, program: &Program, metric: &str, ready: &Ready, runs: u32) -> Result<Measured> {
        let json = tempfile::NamedTempFile::new().context("cannot make a file")?;
        let direction = if program.lower { "--lower-is-better" } else { "--higher-is-better" };
        let mut compare = Command::new(&self.path);
        compare.args(["compare", "--lock", &POLICIES.join(","), "--runs", &runs.to_string(), direction]);
        compare.args(["--timeout", &LIMIT_S.to_string(), "--metric", &format!("(?m){metric}")]);
        compare.arg(format!("--json={}", json.path().display())).arg("--").args(&ready.command);
        let output = compare.stdin(Stdio::null()).output().context("cannot run turnwise compare")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        read(json.path(), program.lower)
    }
}

fn read(json: &Path, lower: bool) -> Result<Measured> {
    let text = std::fs::read_to_string(json).context("cannot read the comparison")?;
    let comparison: Comparison = serde_json::from_str(&text).context("the comparison's JSON has changed its shape")?;
    let metric = comparison.summaries.first().context("the comparison has no figures")?.metric.clone();
    let of = |policy: &str| {
        let found = comparison.summaries.iter().find(|s| s.metric == metric && s.policy == policy);
        found.with_context(|| format!("the comparison has no figures of {policy}"))
    };
    let all = POLICIES.iter().map(|policy| of(policy)).collect::<Result<Vec<_>>>()?;
    let ratio = all[1].to_baseline.as_ref().context("the comparison has no ratio")?;
    let speed = match lower {
        true => [1.0 / ratio.ratio, 1.0 / ratio.high, 1.0 / ratio.low],
        false => [ratio.ratio, ratio.low, ratio.high],
    };
    Ok(Measured {
        medians: all.iter().map(|summary| summary.median).collect(),
        spread: all.iter().map(|summary| (summary.q3 - summary.q1) / summary.median).collect(),
        speed,
        machine: comparison.machine,
    })
}

/// Runs a command for a bounded time; whether it succeeded, and all that it printed.
fn bounded(mut command: Command) -> Result<(bool, String)> {
    let out = tempfile::NamedTempFile::new().context("cannot make a file")?;
    command.stdin(Stdio::null()).stdout(out.reopen()?).stderr(out.reopen()?);
    let mut child = command.spawn().context("cannot run turnwise")?;
    let limit = Instant::now() + Duration::from_secs(LIMIT_S);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > limit {
            child.kill()?;
            child.wait()?;
            bail!("it did not end within {LIMIT_S} s");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let printed = std::fs::read(out.path())?;
    Ok((status.success(), String::from_utf8_lossy(&printed).into_owned()))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}
