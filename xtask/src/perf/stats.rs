//! Conclusions from pairs of runs: the median of their ratios, an interval that holds whatever their distribution is,
//! and a verdict.
//!
//! The ends of the interval are two of the ratios themselves, equally far from the two ends of the sorted ratios (order
//! statistics: W. J. Conover, Practical Nonparametric Statistics, 1999, section 3.2). The true median lies below the
//! k-th smallest of n ratios only if fewer than k of n tosses of a coin show heads. `turnwise compare` resamples
//! rounds, for one ratio at 95%; here are many at up to 99.9%, which this gives exactly and by no seed.

use serde::{Deserialize, Serialize};
use turnwise_present::stats::quantile;

/// How often any of the intervals of a report may miss, all of them together.
pub(super) const ERROR: f64 = 0.05;
/// Pairs that a cell may have: from here on a single toss's share of all outcomes is not a number above zero.
pub(super) const MOST_PAIRS: u32 = 1000;

/// The median of the ratios, and where the true one lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Interval {
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The conclusion for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Better,
    Worse,
    NoDifference,
}

impl Interval {
    /// Computes it from the ratios of pairs; misses with a probability of at most `error`. `None`: too few pairs.
    pub(crate) fn of(ratios: &[f64], error: f64) -> Option<Interval> {
        let mut sorted = ratios.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let outside = left_out(sorted.len(), error)?;
        let (low, high) = (sorted[outside], sorted[sorted.len() - 1 - outside]);
        Some(Interval { ratio: quantile(&sorted, 0.5), low, high })
    }

    /// Returns the verdict: a cell is better or worse if the whole interval is, by more than `bound`.
    pub(crate) fn verdict(&self, bound: f64) -> Verdict {
        match self {
            Interval { low, .. } if *low > 1.0 + bound => Verdict::Better,
            Interval { high, .. } if *high < 1.0 - bound => Verdict::Worse,
            _ => Verdict::NoDifference,
        }
    }
}

impl Verdict {
    /// Returns what all builds agree on. Builds of one commit differ in where its functions lie, which explains what
    /// only one of them shows.
    pub(super) fn of_all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let agree = |a, b| if a == b { a } else { Verdict::NoDifference };
        verdicts.into_iter().reduce(agree).unwrap_or(Verdict::NoDifference)
    }
}

/// Returns how often each interval may miss, so that all of `cells` hold together with `1 - ERROR` (Bonferroni).
pub(crate) fn error_of_each(cells: usize) -> f64 {
    ERROR / cells.max(1) as f64
}

/// Returns the smallest number of pairs from which anything can be concluded.
pub(super) fn fewest_pairs(error: f64) -> u32 {
    (1..MOST_PAIRS).find(|pairs| left_out(*pairs as usize, error).is_some()).unwrap_or(MOST_PAIRS)
}

/// Returns how many of the sorted ratios lie outside of the interval at each end.
fn left_out(pairs: usize, error: f64) -> Option<usize> {
    let mut outcome = 0.5_f64.powi(i32::try_from(pairs).ok()?);
    let (mut tail, mut outside) = (0.0, None);
    for heads in 0..pairs.div_ceil(2) {
        tail += outcome;
        if 2.0 * tail > error {
            break;
        }
        outside = Some(heads);
        outcome *= (pairs - heads) as f64 / (heads + 1) as f64;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_sign_test() {
        // One in 32 that all of six tosses are alike, so six are the fewest for 95%.
        assert_eq!((left_out(5, 0.05), left_out(6, 0.05)), (None, Some(0)));
        assert_eq!(fewest_pairs(0.05), 6);
        // From tables of the binomial distribution: 2 * P(at most 5 heads of 20) = 0.0414, of 6: 0.1153.
        assert_eq!(left_out(20, 0.05), Some(5));
        assert_eq!(left_out(20, 0.0413), Some(4));
        assert_eq!(left_out(0, 0.05), None);
        let most = left_out(MOST_PAIRS as usize, 0.05);
        assert!(most.is_some_and(|outside| (460..480).contains(&outside)), "{most:?}");
    }

    #[test]
    fn the_interval_is_of_the_sorted_ratios() {
        let ratios: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(Interval::of(&ratios, 0.05), Some(Interval { ratio: 10.5, low: 6.0, high: 15.0 }));
        assert_eq!(Interval::of(&ratios[..5], 0.05), None);
    }

    #[test]
    fn the_more_cells_the_wider() {
        assert_eq!(error_of_each(10), 0.005);
        assert_eq!((fewest_pairs(error_of_each(1)), fewest_pairs(error_of_each(25))), (6, 10));
        assert_eq!(error_of_each(0), ERROR);
    }

    #[test]
    fn a_difference_within_the_bound_is_none() {
        let verdict = |low, high| Interval { ratio: (low + high) / 2.0, low, high }.verdict(0.01);
        assert_eq!(verdict(1.005, 1.2), Verdict::NoDifference);
        assert_eq!(verdict(1.011, 1.2), Verdict::Better);
        assert_eq!(verdict(0.8, 0.989), Verdict::Worse);
        assert_eq!(verdict(0.8, 0.995), Verdict::NoDifference);
        assert_eq!(verdict(0.5, 2.0), Verdict::NoDifference);
    }

    #[test]
    fn a_verdict_is_what_all_builds_show() {
        use Verdict::{Better, NoDifference, Worse};
        assert_eq!(Verdict::of_all([Worse, Worse]), Worse);
        assert_eq!(Verdict::of_all([Better]), Better);
        for disagreeing in [[Worse, NoDifference], [NoDifference, Better], [Better, Worse]] {
            assert_eq!(Verdict::of_all(disagreeing), NoDifference);
        }
    }

    /// Reports on 20 cells without a difference, ratios heavy-tailed and skewed: in how many is anything claimed.
    #[test]
    fn reports_on_equal_versions_seldom_claim_a_difference() {
        let mut state = 7_u64;
        let mut chance = move || {
            // Knuth's generator, MMIX; the upper half.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as f64 / f64::from(u32::MAX)
        };
        let mut disturbed = move || {
            let chance = chance();
            1.0 + 0.05 * chance / (1.001 - chance)
        };
        let mut false_reports = 0;
        for _ in 0..400 {
            let cells: Vec<Vec<f64>> = (0..20).map(|_| (0..15).map(|_| disturbed() / disturbed()).collect()).collect();
            let verdict = |ratios: &Vec<f64>| Interval::of(ratios, error_of_each(20)).unwrap().verdict(0.0);
            false_reports += u32::from(cells.iter().any(|ratios| verdict(ratios) != Verdict::NoDifference));
        }
        assert!(false_reports <= 30, "{false_reports} of 400 reports, where 20 were expected at most");
    }
}
