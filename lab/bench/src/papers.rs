//! What the five papers published, next to what their locks do here.

use crate::published::{self, Pair};
use crate::report::{LockReport, ScenarioReport};
use serde::{Deserialize, Serialize};
use turnwise_present::stats::Spread;

/// A pair of locks, before and after, in a scenario.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The scenario.
    pub scenario: &'static str,
    /// The lock as it was.
    pub before: &'static str,
    /// The lock as the paper made it.
    pub after: &'static str,
    /// What is compared.
    pub measure: Measure,
    /// The published pair: a `key` in `published.toml`.
    #[serde(borrow)]
    pub published: Option<&'static str>,
}

/// A figure of a lock, of which there is one for each round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Operations of all threads per second.
    Throughput,
    /// Reads of all threads per second.
    Reads,
    /// Nanoseconds per operation of all threads: elapsed time / iterations of a thread / threads.
    Time,
    /// Voluntary context switches of the process per second.
    Switches,
}

impl Measure {
    /// Returns the name of the unit.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Measure::Throughput => "ops/s",
            Measure::Reads => "reads/s",
            Measure::Time => "ns per op",
            Measure::Switches => "voluntary switches/s",
        }
    }

    fn rounds(self, lock: &LockReport) -> Vec<Option<f64>> {
        let per_s = |rounds: &[Option<f64>]| rounds.iter().map(|ns| Some(1e9 / (*ns)?)).collect();
        match self {
            Measure::Throughput => per_s(&lock.rounds_ns),
            Measure::Reads => lock.reads.as_ref().map_or_else(Vec::new, |reads| per_s(&reads.rounds_ns)),
            Measure::Time => lock.rounds_ns.clone(),
            Measure::Switches => lock.rounds_voluntary_per_s.clone(),
        }
    }
}

/// What was measured of a [`Comparison`], and what was published.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PaperRow {
    /// The paper: the group of the scenario.
    pub document: String,
    /// The scenario.
    pub scenario: String,
    /// Its description.
    pub what: String,
    /// The unit of the measured figures.
    pub unit: String,
    /// The lock as it was.
    pub before: Side,
    /// The lock as the paper made it.
    pub after: Side,
    /// After / before, paired by round.
    pub ratio: Option<Spread>,
    /// What was published.
    pub published: Option<Pair>,
}

/// One lock of a pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// Its name.
    pub lock: String,
    /// Its figure.
    pub value: Option<Spread>,
}

/// Returns a row, if both locks ran in the scenario.
#[must_use]
pub fn row(comparison: &Comparison, document: &str, scenario: &ScenarioReport) -> Option<PaperRow> {
    let (before, after) = (scenario.lock(comparison.before)?, scenario.lock(comparison.after)?);
    let (rounds_before, rounds_after) = (comparison.measure.rounds(before), comparison.measure.rounds(after));
    let side = |lock: &LockReport, rounds: &[Option<f64>]| Side {
        lock: lock.name.clone(),
        value: Spread::of(&rounds.iter().copied().flatten().collect::<Vec<_>>()),
    };
    Some(PaperRow {
        document: document.to_owned(),
        scenario: scenario.name.clone(),
        what: scenario.help.clone(),
        unit: comparison.measure.unit().to_owned(),
        before: side(before, &rounds_before),
        after: side(after, &rounds_after),
        ratio: Spread::of_ratios(&rounds_after, &rounds_before),
        published: comparison.published.and_then(published::pair).cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::scenario;
    use crate::subject::SUBJECTS;
    use std::collections::HashSet;

    #[test]
    fn exhibits_name_what_exists() {
        for subject in SUBJECTS.iter() {
            for comparison in &subject.comparisons {
                let name = comparison.scenario;
                let scenario = subject.scenarios().find(|s| s.name == name).expect(name);
                let runs = |lock: &str| subject.group(scenario).default.iter().any(|l| *l == lock || *l == "all");
                assert!(
                    runs(comparison.before) && runs(comparison.after),
                    "{name}: {} {}",
                    comparison.before,
                    comparison.after
                );
                assert!(comparison.published.is_none_or(|key| published::pair(key).is_some()), "{name}");
            }
        }
    }

    #[test]
    fn every_published_pair_is_used_and_has_its_source() {
        let comparisons = SUBJECTS.iter().flat_map(|subject| &subject.comparisons);
        let used: HashSet<_> = comparisons.filter_map(|e| e.published).collect();
        for pair in published::pairs() {
            assert!(used.contains(pair.key.as_str()), "{}", pair.key);
            assert!(!pair.source.is_empty() && pair.ratio().is_finite(), "{}", pair.key);
        }
    }

    #[test]
    fn a_row_compares_round_by_round() {
        let comparison =
            |measure| Comparison { scenario: "s", before: "slow", after: "fast", measure, published: None };
        let median = |measure| {
            let row = row(&comparison(measure), "d", &scenario()).expect("both ran");
            (row.ratio.map(|r| r.median), row.before.value.map(|v| v.median))
        };
        // 50 ns in each round, against 20, 20 and 60.
        assert_eq!(median(Measure::Throughput), (Some(2.5), Some(2e7)));
        assert_eq!(median(Measure::Time), (Some(0.4), Some(50.0)));
        assert_eq!(median(Measure::Reads), (None, None));
        let absent = Comparison { after: "nobody", ..comparison(Measure::Time) };
        assert!(row(&absent, "d", &scenario()).is_none());
    }
}
