//! The result of a comparison: every run, the summaries, the verdicts. `compare --json` prints it as it is; its
//! fields are described in `crates/cli/README.md`.

use crate::machine::Machine;
use crate::measure::Usage;
use crate::metric::{Better, Combine, Metric, Unit};
use crate::stats::{ROUNDS_FOR_A_VERDICT, Ratio, Summary, ratio_of_medians};
use fastrand::Rng;
use serde::Serialize;
use std::collections::BTreeMap;

/// Raised when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

/// Everything about one comparison.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) turnwise_version: &'static str,
    /// Seconds since 1970.
    pub(crate) started_unix_s: u64,
    pub(crate) command: CommandInfo,
    pub(crate) machine: Machine,
    pub(crate) settings: Settings,
    pub(crate) metrics: Vec<MetricInfo>,
    pub(crate) runs: Vec<Run>,
    pub(crate) summaries: Vec<Row>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) notes: Vec<String>,
    /// Whether the user stopped it early.
    pub(crate) interrupted: bool,
}

#[derive(Serialize)]
pub(crate) struct CommandInfo {
    pub(crate) arguments: Vec<String>,
    pub(crate) path: String,
    pub(crate) is_sample: bool,
}

#[derive(Clone, Serialize)]
pub(crate) struct Settings {
    /// The first is the baseline.
    pub(crate) policies: Vec<&'static str>,
    pub(crate) runs: u32,
    pub(crate) warmup: u32,
    pub(crate) seed: u64,
    pub(crate) timeout_s: f64,
}

#[derive(Serialize)]
pub(crate) struct MetricInfo {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// Whether the verdict is on it.
    pub(crate) decides: bool,
    pub(crate) pattern: Option<String>,
    pub(crate) combine: Option<Combine>,
}

impl MetricInfo {
    pub(crate) fn new(metric: &Metric, decides: bool) -> MetricInfo {
        let (pattern, combine) = metric.pattern().map(|(pattern, combine)| (pattern.to_owned(), combine)).unzip();
        MetricInfo { name: metric.name.clone(), unit: metric.unit, better: metric.better, decides, pattern, combine }
    }
}

/// One run.
#[derive(Serialize)]
pub(crate) struct Run {
    pub(crate) policy: &'static str,
    /// Counted from 0, warm-ups apart.
    pub(crate) round: u32,
    /// Place within the round, from 0.
    pub(crate) position: u32,
    pub(crate) warmup: bool,
    pub(crate) exit_status: i32,
    /// Whether the loader opened our library; `null`: not asked for, or it cannot be told.
    pub(crate) library_loaded: Option<bool>,
    #[serde(flatten)]
    pub(crate) usage: Usage,
    /// The metrics that the program printed.
    pub(crate) printed: BTreeMap<String, f64>,
    /// Of how many matches each is made.
    pub(crate) matches: BTreeMap<String, usize>,
}

/// One metric under one policy, over the complete rounds.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) policy: &'static str,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    /// To the baseline's median; `null` for the baseline, and where a value is zero.
    pub(crate) to_baseline: Option<Ratio>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finding {
    Better,
    Worse,
    Undecided,
}

/// What can be said of one policy against the baseline.
#[derive(Serialize)]
pub(crate) struct Verdict {
    pub(crate) policy: &'static str,
    pub(crate) metric: String,
    pub(crate) finding: Finding,
    pub(crate) sentence: String,
}

/// The rounds in which every policy ran.
pub(crate) fn complete_rounds(runs: &[Run], policies: usize) -> Vec<u32> {
    let mut counts = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.warmup) {
        *counts.entry(run.round).or_insert(0) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count == policies).map(|(round, _)| round).collect()
}

/// Summarises `metrics` over the complete rounds of `runs`.
pub(crate) fn summarise(metrics: &[Metric], settings: &Settings, runs: &[Run]) -> Vec<Row> {
    let rounds = complete_rounds(runs, settings.policies.len());
    let mut rng = Rng::with_seed(settings.seed);
    let mut rows = Vec::new();
    for metric in metrics {
        let values = |policy: &str| -> Vec<f64> {
            let of = |round: &u32| runs.iter().find(|run| !run.warmup && run.round == *round && run.policy == policy);
            rounds.iter().filter_map(of).filter_map(|run| value(metric, run)).collect()
        };
        let baseline = values(settings.policies[0]);
        for (index, policy) in settings.policies.iter().enumerate() {
            let ours = values(policy);
            let Some(summary) = Summary::of(&ours) else { continue };
            let pairs: Vec<_> = ours.into_iter().zip(baseline.iter().copied()).collect();
            let to_baseline = if index == 0 { None } else { ratio_of_medians(&pairs, &mut rng) };
            rows.push(Row { metric: metric.name.clone(), policy, summary, to_baseline });
        }
    }
    rows
}

fn value(metric: &Metric, run: &Run) -> Option<f64> {
    match metric.pattern() {
        Some(_) => run.printed.get(&metric.name).copied(),
        None => metric.value(&run.usage, "").ok().map(|(value, _)| value),
    }
}

/// One verdict per policy but the baseline, on the metric that decides.
pub(crate) fn judge(metric: &Metric, baseline: &str, rows: &[Row]) -> Vec<Verdict> {
    let of_metric = rows.iter().filter(|row| row.metric == metric.name && row.policy != baseline);
    of_metric.map(|row| verdict(metric, baseline, row)).collect()
}

fn verdict(metric: &Metric, baseline: &str, row: &Row) -> Verdict {
    let Row { policy, summary: Summary { n, .. }, .. } = row;
    let name = &metric.name;
    let (finding, sentence) = match row.to_baseline {
        None => {
            (Finding::Undecided, format!("{policy} and {baseline} have no ratio in {name}: a value is not above zero"))
        }
        Some(ratio) if *n < ROUNDS_FOR_A_VERDICT => {
            let so_far = compared(metric.better, policy, baseline, name, ratio);
            let advice =
                format!("{n} runs cannot tell whether that is chance; use --runs {ROUNDS_FOR_A_VERDICT} or more");
            (Finding::Undecided, format!("{so_far}, but {advice}"))
        }
        Some(ratio) if !ratio.differs() => {
            let sentence = format!(
                "no difference between {policy} and {baseline} in {name} can be told from {n} runs (ratio {}); \
                 four times the runs halve the interval: --runs {}",
                interval(ratio),
                4 * n
            );
            (Finding::Undecided, sentence)
        }
        Some(ratio) => {
            let better = (ratio.low > 1.0) == (metric.better == Better::Higher);
            let finding = if better { Finding::Better } else { Finding::Worse };
            let word = if better { "better" } else { "worse" };
            (finding, format!("{}: {word}", compared(metric.better, policy, baseline, name, ratio)))
        }
    };
    Verdict { policy, metric: name.clone(), finding, sentence }
}

fn compared(better: Better, policy: &str, baseline: &str, name: &str, ratio: Ratio) -> String {
    let verb = if better == Better::Higher { "is" } else { "takes" };
    let (value, range) = (figure(ratio.ratio), range(ratio));
    format!("{policy} {verb} {value}x {baseline}'s {name} ({range})")
}

fn range(ratio: Ratio) -> String {
    format!("95% CI {} to {}", figure(ratio.low), figure(ratio.high))
}

/// `0.99, 95% CI 0.97 to 1.02`
pub(crate) fn interval(ratio: Ratio) -> String {
    format!("{}, {}", figure(ratio.ratio), range(ratio))
}

/// A ratio with as many digits as tell it from 1.
pub(crate) fn figure(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 100.0 => format!("{ratio:.0}"),
        ratio if ratio < 0.095 => format!("{ratio:.4}"),
        ratio if !(0.95..1.05).contains(&ratio) => format!("{ratio:.2}"),
        ratio => format!("{ratio:.3}"),
    }
}
