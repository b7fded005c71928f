//! The comparison of two arms measured in pairs, by means other than running a program repeatedly.

use super::runs::{Row, rows};
use super::settings::Settings;
use super::table::{sentence, table};
use super::verdict::{Finding, Verdict, judge};
use crate::metric::Metric;
use fastrand::Rng;
use serde::Serialize;
use serde_json::{Value, json};

/// The confidence of the interval, which is evaluated once.
const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Round {
    pub(crate) baseline: f64,
    pub(crate) other: f64,
}

pub(crate) struct PairsReport {
    settings: Settings,
    metrics: [Metric; 1],
    rounds: Vec<Round>,
    summaries: Vec<Row>,
    verdicts: Vec<Verdict>,
}

impl PairsReport {
    /// Judges rounds that have one figure of each of two arms, of which the first is the baseline. `margin`: a
    /// negligible difference, as a share.
    pub(crate) fn of(metric: Metric, arms: [String; 2], rounds: Vec<Round>, margin: f64, seed: u64) -> PairsReport {
        let of: [fn(&Round) -> f64; 2] = [|round| round.baseline, |round| round.other];
        let values: [Vec<f64>; 2] = of.map(|of| rounds.iter().map(of).collect());
        let summaries = rows(&metric, &arms, &values, CONFIDENCE, &mut Rng::with_seed(seed));
        let (policies, runs) = (arms.to_vec(), rounds.len() as u32);
        let (looks, confidence, unit) = (vec![runs], CONFIDENCE, "rounds");
        let settings = Settings { policies, runs, looks, confidence, margin, seed, unit, ..Settings::default() };
        let verdicts = judge(&metric, &settings, &summaries);
        PairsReport { settings, metrics: [metric], rounds, summaries, verdicts }
    }

    /// Returns whether the other arm is better than the baseline.
    pub(crate) fn is_better(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.finding == Finding::Better)
    }

    /// Adds the result to a JSON document; the fields are those of `compare --json`.
    pub(crate) fn add_to(&self, document: &mut Value) {
        let Settings { policies, confidence, margin, seed, .. } = &self.settings;
        document["settings"] =
            json!({ "policies": policies, "confidence": confidence, "margin": margin, "seed": seed });
        document["metrics"] = json!(self.metrics);
        document["rounds"] = json!(self.rounds);
        document["summaries"] = json!(self.summaries);
        document["verdicts"] = json!(self.verdicts);
    }

    /// Returns a table and the verdict.
    pub(crate) fn text(&self) -> String {
        let table = table(&self.metrics, &self.summaries, &self.settings.policies[0]);
        let verdicts = self.verdicts.iter().map(|verdict| sentence(&verdict.sentence)).collect::<String>();
        format!("{}, in {} rounds:\n{table}\n\n{verdicts}", self.metrics[0].name, self.rounds.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Better;

    fn report(better: Better, rounds: Vec<(f64, f64)>) -> PairsReport {
        let (metric, arms) = (Metric::measured("requests", better), ["as it was".to_owned(), "spin=off".to_owned()]);
        let rounds = rounds.into_iter().map(|(other, baseline)| Round { baseline, other }).collect();
        PairsReport::of(metric, arms, rounds, 0.05, 1)
    }

    fn reported(better: Better, rounds: Vec<(f64, f64)>) -> String {
        report(better, rounds).text()
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
        let report = report(Better::Higher, twice(8));
        assert!(text.contains(&report.verdicts[0].sentence) && report.summaries[1].to_baseline.is_some());
        assert_eq!((report.rounds[1].baseline, report.rounds[1].other), (101.0, 201.0));
        let same = (0..8).map(|i| (100.0 + f64::from(i % 2), 100.0 + f64::from((i + 1) % 2))).collect();
        assert!(reported(Better::Higher, same).contains("No difference beyond 5%"));
        assert!(reported(Better::Lower, vec![(0.0, 1.0); 8]).contains("not above zero"));
    }
}
