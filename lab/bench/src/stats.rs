//! Medians, and ratios paired by round.

use serde::{Deserialize, Serialize};
use turnwise_present::stats::quantile;

/// A figure over several samples.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The middle one; the mean of the middle two of an even number.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of `values`; `None` if there are none or any is not a number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() || values.iter().any(|v| v.is_nan()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Spread { median: quantile(&sorted, 0.5), min: sorted[0], max: sorted[sorted.len() - 1] })
    }

    /// Of `a / b`, round by round: what happened to both in a round (another process, a slower clock) cancels out.
    /// A round in which either is missing does not count.
    #[must_use]
    pub fn of_ratios(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Spread> {
        let ratios: Vec<f64> =
            a.iter().zip(b).filter_map(|(a, b)| Some((*a)? / (*b)?)).filter(|r| r.is_finite()).collect();
        Spread::of(&ratios)
    }
}

/// Least over most: 1 is fair, 0 says that somebody got nothing (or nobody anything).
#[must_use]
pub fn fairness(ops: &[u64]) -> f64 {
    match (ops.iter().min(), ops.iter().max()) {
        (Some(&least), Some(&most)) if most > 0 => least as f64 / most as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // Each round is twice as slow as the one before; the ratio does not notice.
        let a = [Some(2.0), Some(4.0), Some(8.0)];
        let b = [Some(1.0), Some(2.0), Some(4.0)];
        assert_eq!(Spread::of_ratios(&a, &b), Some(Spread { median: 2.0, min: 2.0, max: 2.0 }));
    }

    #[test]
    fn rounds_with_a_gap_do_not_count() {
        let a = [Some(2.0), None, Some(9.0), Some(1.0)];
        let b = [Some(1.0), Some(2.0), Some(3.0), Some(0.0)];
        assert_eq!(Spread::of_ratios(&a, &b), Some(Spread { median: 2.5, min: 2.0, max: 3.0 }));
        assert_eq!(Spread::of_ratios(&a, &[]), None);
    }

    #[test]
    fn fairness_is_least_over_most() {
        assert_eq!(fairness(&[50, 100]), 0.5);
        assert_eq!(fairness(&[0, 100]), 0.0);
        assert_eq!(fairness(&[7]), 1.0);
        assert_eq!(fairness(&[0, 0]), 0.0);
    }
}
