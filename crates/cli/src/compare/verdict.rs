//! The verdicts on the policies, in a sentence each.

use super::runs::Row;
use super::settings::Settings;
use super::stats::{Ratio, rounds_for_a_verdict};
use crate::metric::{Better, Metric, title};
use serde::Serialize;
use turnwise_profile::template::{Serde, Words, context};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finding {
    Better,
    Worse,
    /// No difference beyond the margin.
    Same,
    Undecided,
}

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
    let (n, needed) = (row.summary.n, rounds_for_a_verdict(settings.confidence));
    let finding = match row.to_baseline.filter(|_| n >= needed) {
        Some(ratio) if ratio.differs() && (ratio.low > 1.0) == (metric.better == Better::Higher) => Finding::Better,
        Some(ratio) if ratio.differs() => Finding::Worse,
        Some(ratio) if ratio.low == ratio.high || ratio.is_within(settings.margin) => Finding::Same,
        _ => Finding::Undecided,
    };
    let Row { policy, to_baseline, .. } = row;
    let values = context! {
        policy, n, needed,
        finding => Serde(finding),
        baseline => &settings.policies[0],
        name => title(&metric.name),
        verb => if metric.better == Better::Higher { "is" } else { "takes" },
        unit => settings.unit,
        by_time => settings.max_time_s.is_some(),
        looks => settings.looks.len(),
        percent => ((1e6 * settings.margin).round() / 1e4).to_string(),
        ratio => to_baseline.map(|Ratio { ratio, low, high }| [ratio, low, high].map(figure)),
        is_fixed => to_baseline.is_some_and(|ratio| ratio.low == ratio.high),
    };
    let sentence = Words::of(include_str!("verdict.jinja")).render(values).trim_end().to_owned();
    Verdict { policy: policy.clone(), metric: metric.name.clone(), finding, sentence }
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
