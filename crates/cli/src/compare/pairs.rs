//! The comparison of two arms measured in pairs, by means other than running a program repeatedly.

use super::report::MetricInfo;
use super::runs::Row;
use super::settings::Settings;
use super::stats::{Summary, ratio_of_medians};
use super::table::{capitalised, fitted};
use super::verdict::{Finding, Verdict, judge};
use crate::metric::Metric;
use fastrand::Rng;
use serde::Serialize;
use turnwise_present::ending::columns;
use turnwise_present::figures::plain;
use turnwise_present::table::{self, CellAlignment};

/// The confidence of the interval, which is evaluated once.
const CONFIDENCE: f64 = 0.95;

/// Figures of two arms, in rounds that have one of each.
pub(crate) struct Pairs {
    pub(crate) metric: Metric,
    /// The baseline, then the other.
    pub(crate) arms: [String; 2],
    /// The rounds: the other's figure, then the baseline's.
    pub(crate) rounds: Vec<(f64, f64)>,
    /// A negligible difference, as a share.
    pub(crate) margin: f64,
    pub(crate) seed: u64,
}

/// The result of pairs: a part of a JSON document, whose fields are those of `compare --json`.
#[derive(Serialize)]
pub(crate) struct PairsReport {
    settings: PairsSettings,
    metrics: [MetricInfo; 1],
    rounds: Vec<Round>,
    summaries: Vec<Row>,
    verdicts: Vec<Verdict>,
}

#[derive(Serialize)]
struct PairsSettings {
    /// The baseline, then the other.
    policies: [String; 2],
    confidence: f64,
    margin: f64,
    seed: u64,
}

/// The figures of one round.
#[derive(Serialize)]
struct Round {
    baseline: f64,
    other: f64,
}

impl Pairs {
    /// Returns the content of the text, for programs.
    pub(crate) fn report(&self) -> PairsReport {
        let summaries = self.rows();
        let verdicts = judge(&self.metric, &self.settings(), &summaries);
        let settings =
            PairsSettings { policies: self.arms.clone(), confidence: CONFIDENCE, margin: self.margin, seed: self.seed };
        let rounds = self.rounds.iter().map(|&(other, baseline)| Round { baseline, other }).collect();
        PairsReport { settings, metrics: [MetricInfo::new(&self.metric, true)], rounds, summaries, verdicts }
    }

    /// Returns whether the other arm is better than the baseline.
    pub(crate) fn is_better(&self) -> bool {
        judge(&self.metric, &self.settings(), &self.rows()).iter().any(|verdict| verdict.finding == Finding::Better)
    }

    /// Returns a table and the verdict.
    pub(crate) fn text(&self) -> String {
        let rows = self.rows();
        let mut table = table::ruled();
        table.set_header(["", "median", "quartiles", "lowest", "highest"]);
        for row in &rows {
            let Summary { median, q1, q3, min, max, .. } = row.summary;
            let quartiles = format!("{} to {}", plain(q1), plain(q3));
            table.add_row([row.policy.clone(), plain(median), quartiles, plain(min), plain(max)]);
        }
        for column in 1..5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut text = format!("{}, in {} rounds:\n{table}\n\n", self.metric.name, self.rounds.len());
        for verdict in judge(&self.metric, &self.settings(), &rows) {
            text += &fitted(&capitalised(&verdict.sentence), columns());
        }
        text
    }

    fn rows(&self) -> Vec<Row> {
        let (ours, base): (Vec<f64>, Vec<f64>) = self.rounds.iter().copied().unzip();
        let ratio = ratio_of_medians(&self.rounds, CONFIDENCE, &mut Rng::with_seed(self.seed));
        let [baseline, other] = &self.arms;
        let arms = [(baseline, base, None), (other, ours, ratio)];
        let rows = arms.into_iter().filter_map(|(policy, values, to_baseline)| {
            let summary = Summary::of(&values)?;
            Some(Row { metric: self.metric.name.clone(), policy: policy.clone(), summary, to_baseline })
        });
        rows.collect()
    }

    fn settings(&self) -> Settings {
        let runs = self.rounds.len() as u32;
        Settings {
            policies: self.arms.to_vec(),
            arms: Vec::new(),
            runs,
            looks: vec![runs],
            confidence: CONFIDENCE,
            max_time_s: None,
            margin: self.margin,
            warmup: 0,
            seed: self.seed,
            timeout_s: 0.0,
            any_status: false,
            unit: "rounds",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Better;

    fn reported(better: Better, rounds: Vec<(f64, f64)>) -> String {
        let (metric, arms) = (Metric::measured("requests", better), ["as it was".to_owned(), "spin=off".to_owned()]);
        Pairs { metric, arms, rounds, margin: 0.05, seed: 1 }.text()
    }

    #[test]
    fn the_verdict_is_that_of_compare() {
        let twice = |n: u32| (0..n).map(|i| (200.0 + f64::from(i), 100.0 + f64::from(i % 3))).collect();
        let text = reported(Better::Higher, twice(8));
        assert!(text.starts_with("requests, in 8 rounds:\n") && text.contains("as it was"), "{text}");
        assert!(text.contains("spin=off is 2.0") && text.contains("95% CI") && text.contains(": better"), "{text}");
        assert!(reported(Better::Lower, twice(8)).contains(": worse"));
        assert!(
            reported(Better::Higher, twice(4)).contains("6 are needed (--rounds)"),
            "{}",
            reported(Better::Higher, twice(4))
        );
        let arms = ["as it was".to_owned(), "spin=off".to_owned()];
        let metric = Metric::measured("requests", Better::Higher);
        let report = Pairs { metric, arms, rounds: twice(8), margin: 0.05, seed: 1 }.report();
        assert!(text.contains(&report.verdicts[0].sentence) && report.summaries[1].to_baseline.is_some());
        assert_eq!((report.rounds[1].baseline, report.rounds[1].other), (101.0, 201.0));
        let same = (0..8).map(|i| (100.0 + f64::from(i % 2), 100.0 + f64::from((i + 1) % 2))).collect();
        assert!(reported(Better::Higher, same).contains("No difference beyond 5%"));
        assert!(reported(Better::Lower, vec![(0.0, 1.0); 8]).contains("not above zero"));
    }
}
