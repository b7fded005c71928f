//! The verdicts on the policies, in a sentence each.

use super::runs::Row;
use super::settings::Settings;
use super::stats::{Ratio, Summary, rounds_for_a_verdict};
use crate::metric::{Better, Metric, title};
use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finding {
    Better,
    Worse,
    /// No difference beyond the margin.
    Same,
    Undecided,
}

/// The verdict on one policy against the baseline.
#[derive(Serialize)]
pub(crate) struct Verdict {
    pub(crate) policy: String,
    pub(crate) metric: String,
    pub(crate) finding: Finding,
    pub(crate) sentence: String,
}

/// Returns one verdict per policy but the baseline, on the metric that decides.
pub(crate) fn judge(metric: &Metric, settings: &Settings, rows: &[Row]) -> Vec<Verdict> {
    let baseline = &settings.policies[0];
    let of_metric = rows.iter().filter(|row| row.metric == metric.name && row.policy != *baseline);
    of_metric.map(|row| verdict(metric, settings, row)).collect()
}

fn verdict(metric: &Metric, settings: &Settings, row: &Row) -> Verdict {
    let Row { policy, summary: Summary { n, .. }, .. } = row;
    let (name, baseline) = (title(&metric.name), &settings.policies[0]);
    let unit = settings.unit;
    let (needed, runs) =
        (rounds_for_a_verdict(settings.confidence), if settings.max_time_s.is_some() { "max-runs" } else { unit });
    let (finding, sentence) = match row.to_baseline {
        None => {
            (Finding::Undecided, format!("{policy} and {baseline} have no ratio in {name}: a value is not above zero"))
        }
        Some(ratio) if *n < needed => {
            let so_far = compared(metric.better, policy, baseline, name, ratio);
            let advice = format!("{n} {unit} cannot tell whether that is chance; {needed} are needed (--{runs})");
            (Finding::Undecided, format!("{so_far}, but {advice}"))
        }
        Some(ratio) if ratio.low == ratio.high && !ratio.differs() => {
            (Finding::Same, format!("{policy} and {baseline} have the same {name} in each of {n} {unit}"))
        }
        Some(ratio) if !ratio.differs() && ratio.is_within(settings.margin) => {
            let (percent, ratio, looks) = ((1e6 * settings.margin).round() / 1e4, interval(ratio), looks(settings));
            let sentence = format!(
                "no difference beyond {percent}% in {name} between {policy} and {baseline} \
                 after {n} {unit} (ratio {ratio}{looks})"
            );
            (Finding::Same, sentence)
        }
        Some(ratio) if !ratio.differs() => {
            let sentence = format!(
                "no difference in {name} is detectable between {policy} and {baseline}, in {n} {unit} (ratio {}{}); \
                 four times as many {unit} would halve the interval: --{runs} {}{}",
                interval(ratio),
                looks(settings),
                4 * n,
                if settings.max_time_s.is_some() { ", with a --max-time for them" } else { "" }
            );
            (Finding::Undecided, sentence)
        }
        Some(ratio) => {
            let better = (ratio.low > 1.0) == (metric.better == Better::Higher);
            let finding = if better { Finding::Better } else { Finding::Worse };
            let word = if better { "better" } else { "worse" };
            let after = if settings.looks.len() > 1 { format!(", after {n} {unit}") } else { String::new() };
            let looks = looks(settings);
            (finding, format!("{}: {word}{after}{looks}", compared(metric.better, policy, baseline, name, ratio)))
        }
    };
    Verdict { policy: policy.clone(), metric: metric.name.clone(), finding, sentence }
}

/// Describes what the interval takes into account, if it was evaluated more than once.
fn looks(settings: &Settings) -> String {
    match settings.looks.len() {
        0 | 1 => String::new(),
        looks => format!("; the interval allows for {looks} looks"),
    }
}

fn compared(better: Better, policy: &str, baseline: &str, name: &str, ratio: Ratio) -> String {
    let verb = if better == Better::Higher { "is" } else { "takes" };
    let (value, range) = (figure(ratio.ratio), range(ratio));
    format!("{policy} {verb} {value}x {baseline}'s {name} ({range})")
}

fn range(ratio: Ratio) -> String {
    format!("95% CI {} to {}", figure(ratio.low), figure(ratio.high))
}

/// Formats `0.99, 95% CI 0.97 to 1.02`.
fn interval(ratio: Ratio) -> String {
    format!("{}, {}", figure(ratio.ratio), range(ratio))
}

/// Formats a ratio with as many digits as distinguish it from 1.
pub(crate) fn figure(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 100.0 => format!("{ratio:.0}"),
        ratio if ratio < 0.095 => format!("{ratio:.4}"),
        ratio if !(0.95..1.05).contains(&ratio) => format!("{ratio:.2}"),
        ratio => format!("{ratio:.3}"),
    }
}
