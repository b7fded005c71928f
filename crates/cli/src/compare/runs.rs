//! The runs of a comparison, and their summary: a row for each metric and policy.

use super::settings::Settings;
use super::stats::{Ratio, Summary, ratio_of_medians};
use crate::measure::Usage;
use crate::metric::Metric;
use fastrand::Rng;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct Run {
    pub(crate) policy: String,
    /// The round, counted from 0, separately for warm-ups.
    pub(crate) round: u32,
    /// The position within the round, from 0.
    pub(crate) position: u32,
    pub(crate) warmup: bool,
    pub(crate) exit_status: i32,
    /// Whether the loader opened our library; `null`: not requested, or unknown.
    pub(crate) library_loaded: Option<bool>,
    /// Whether a program made or took a pthread lock while the library was loaded; `null` as for `library_loaded`.
    pub(crate) locks_used: Option<bool>,
    /// Whether a thread did not acquire one of our locks immediately; `null` as for `library_loaded`.
    pub(crate) locks_contended: Option<bool>,
    #[serde(flatten)]
    pub(crate) usage: Usage,
    /// The metrics that the program printed.
    pub(crate) printed: BTreeMap<String, f64>,
    /// The number of matches that each is combined from.
    pub(crate) matches: BTreeMap<String, usize>,
}

/// One metric under one policy, over the complete rounds.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) policy: String,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    /// The ratio to the baseline's median; `null` for the baseline, and where a value is zero.
    pub(crate) to_baseline: Option<Ratio>,
}

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
    let of_metric = |metric: &Metric| {
        let values = |policy: &String| -> Vec<f64> {
            let of = |round: &u32| runs.iter().find(|run| !run.warmup && run.round == *round && run.policy == *policy);
            rounds.iter().filter_map(of).filter_map(|run| value(metric, run)).collect()
        };
        let values: Vec<_> = settings.policies.iter().map(values).collect();
        rows(metric, &settings.policies, &values, settings.confidence, &mut rng)
    };
    metrics.iter().flat_map(of_metric).collect()
}

/// Summarises the figures of each policy, round by round; the first is the baseline.
pub(crate) fn rows(
    metric: &Metric,
    policies: &[String],
    values: &[Vec<f64>],
    confidence: f64,
    rng: &mut Rng,
) -> Vec<Row> {
    let row = |(index, (policy, ours)): (usize, (&String, &Vec<f64>))| {
        let summary = Summary::of(ours)?;
        let pairs: Vec<_> = ours.iter().copied().zip(values[0].iter().copied()).collect();
        let to_baseline = (index > 0).then(|| ratio_of_medians(&pairs, confidence, rng)).flatten();
        Some(Row { metric: metric.name.clone(), policy: policy.clone(), summary, to_baseline })
    };
    policies.iter().zip(values).enumerate().filter_map(row).collect()
}

fn value(metric: &Metric, run: &Run) -> Option<f64> {
    match metric.pattern {
        Some(_) => run.printed.get(&metric.name).copied(),
        None => metric.value(&run.usage, "").ok().map(|(value, _)| value),
    }
}
